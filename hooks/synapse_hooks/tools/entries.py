"""Our entries among the hooks that a JSON configuration lists by event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from synapse_git import jsonc
from synapse_git.errors import CheckoutError
from synapse_hooks.tools import insertion, launcher
from synapse_hooks.tools.dialect import Dialect

HOOKS = "hooks"


class Entries:
    """What ``harness`` wants in its configuration. Every method takes the text of one and raises CheckoutError for
    one that cannot be understood.
    """

    def __init__(self, harness: str, speaks: Dialect) -> None:
        self._harness = harness
        self._root_members = speaks.root
        self._wanted = {event: speaks.entry(event, launcher.command(harness, event)) for event in speaks.moments}

    def text(self) -> str:
        """A configuration that says nothing else."""
        return insertion.whole({**self._root_members, HOOKS: {event: [one] for event, one in self._wanted.items()}})

    def state(self, text: str) -> str:
        """``installed``, ``outdated`` or ``missing``."""
        found = self._found(text) if text.strip() else {}
        if not found:
            return "missing"
        return "installed" if found == {event: [one] for event, one in self._wanted.items()} else "outdated"

    def put(self, text: str, segments: list[str]) -> str:
        """``text`` with all that is wanted; what was inserted is added to ``segments``."""
        if not text.strip():
            segments.append(self.text())
            return self.text() + text
        for key, value in reversed(self._root_members.items()):
            root = self._root(text)
            if root.child(key) is None:
                text = _insert(text, root, key, value, segments)
        for event, one in reversed(self._wanted.items()):
            root = self._root(text)
            hooks = root.child(HOOKS)
            if hooks is None:
                every = {name: [entry] for name, entry in self._wanted.items()}
                text = _insert(text, root, HOOKS, every, segments)
                break
            listed = hooks.child(event)
            if listed is None:
                text = _insert(text, hooks, event, [one], segments)
            else:
                text = _insert(text, listed, "", one, segments)
        jsonc.parse(text)
        return text

    def take(self, text: str, segments: list[str]) -> str:
        """``text`` without what is ours: to the byte as it was before, if nobody wrote into that since."""
        if not text.strip():
            return text
        self._root(text)
        clean = insertion.cut(text, segments) if segments else None
        if clean is not None and self._is_clean(clean):
            return clean
        while found := self._first(text):
            text = insertion.remove(text, found)
        return text

    def owns(self, entry: Any) -> bool:
        """Is this an entry of ours, of whatever version?"""
        if isinstance(entry, dict):
            return any(self.owns(value) for value in entry.values())
        if isinstance(entry, list):
            return len(entry) == 1 and self.owns(entry[0])
        return launcher.ours(entry, self._harness)

    def _root(self, text: str) -> jsonc.Node:
        try:
            root = jsonc.parse(text)
        except jsonc.Broken as error:
            raise CheckoutError(f"not JSON, {error}") from None
        hooks = root.child(HOOKS)
        for node, name in ((root, "what it holds"), (hooks, HOOKS)):
            if node is not None and not isinstance(node.value, dict):
                raise CheckoutError(f"{name} is no object")
        for event in hooks.children if hooks else ():
            if event.key in self._wanted and not isinstance(event.value, list):
                raise CheckoutError(f"{HOOKS}.{event.key} is no list")
        return root

    def _found(self, text: str) -> Mapping[str, list[Any]]:
        """Our entries, by event."""
        hooks = self._root(text).child(HOOKS)
        found = {}
        for event in hooks.children if hooks else ():
            if isinstance(event.value, list) and (mine := [item for item in event.value if self.owns(item)]):
                found[event.key] = mine
        return found

    def _is_clean(self, text: str) -> bool:
        try:
            return not text.strip() or not self._found(text)
        except CheckoutError:
            return False

    def _first(self, text: str) -> jsonc.Node | None:
        """What to take out next: an entry of ours, or what holds nothing else."""
        hooks = self._root(text).child(HOOKS)
        for event in hooks.children if hooks else ():
            mine = [item for item in event.children if self.owns(item.value)]
            if mine and len(mine) == len(event.children):
                return event if hooks and len(hooks.children) > 1 else hooks
            if mine:
                return mine[0]
        return None


def _insert(text: str, container: jsonc.Node, key: str, value: Any, segments: list[str]) -> str:
    done = insertion.insert(text, container, key, value)
    segments.append(done.segment)
    return done.text
