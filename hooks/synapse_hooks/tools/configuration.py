"""A harness's configuration file: our entries in it, put there and taken out without touching what else it holds."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from synapse_git.errors import CheckoutError
from synapse_hooks import whole
from synapse_hooks.tools import insertion, jsonc, launcher
from synapse_hooks.tools.wiring import Wiring

_MODE = 0o644
HOOKS = "hooks"


class Configuration:
    """The file at ``path``, which may be missing, as ``wiring`` wants it."""

    def __init__(self, wiring: Wiring, path: str, env: Mapping[str, str]) -> None:
        self.wiring = wiring
        self.path = path
        self._target = os.path.realpath(path)  # a link stays a link
        self._env = env
        mark = hashlib.sha256(os.fsencode(self._target)).hexdigest()[:16]
        kept = launcher.directory(env) + "/agents"
        self._record = f"{kept}/{mark}.record"
        self._copy = f"{kept}/{mark}-{os.path.basename(path)}"

    def state(self) -> tuple[str, str]:
        """How it stands: ``installed``, ``outdated``, ``missing`` or ``broken``, and what is amiss, in words."""
        try:
            text = self._read()
            found = self._found(text) if text.strip() else {}
        except (CheckoutError, OSError) as error:
            return "broken", str(error)
        if not found:
            return "missing", ""
        wanted = self.wiring.entries()
        if found != {event: [entry] for event, entry in wanted.items()}:
            return "outdated", "it is of another version"
        if not launcher.works(self._env):
            return "outdated", f"{launcher.path(self._env)} is missing or of another installation"
        return "installed", ""

    def install(self) -> dict[str, Any]:
        """Have our entries in it; what was done: ``changed``, ``copy`` (of what was there before, '' if nothing was).

        Raises:
            CheckoutError: the file is no JSON, or cannot be written; it is untouched.
        """
        with self._alone():
            launched = launcher.install(self._env)
            before = self._read()
            if self.state()[0] == "installed":
                self._remember(self._recall())
                return {"changed": launched, "copy": ""}
            made = self._recall()
            text = self._without(before, made)
            made["segments"] = []
            made["dirs"] = made.get("dirs") or self._make_directory()
            after = self._with(text, made["segments"])
            jsonc.parse(after)
            self._remember(made)
            return {"changed": True, "copy": self._write(before, after)}

    def uninstall(self) -> dict[str, Any]:
        """Have it as if we had never been there, and gone if we made it; what was done, as `install`."""
        with self._alone():
            before, made = self._read(), self._recall()
            after = self._without(before, made)
            copy = self._write(before, after) if after != before else ""
            if os.path.exists(self._record):
                os.unlink(self._record)
            for directory in reversed(made.get("dirs", [])):
                if os.path.isdir(directory) and not os.listdir(directory):
                    os.rmdir(directory)
            if not any(name.endswith(".record") for name in os.listdir(os.path.dirname(self._record))):
                launcher.uninstall(self._env)
            return {"changed": after != before, "copy": copy}

    def _root(self, text: str) -> jsonc.Node:
        try:
            root = jsonc.parse(text)
        except jsonc.Broken as error:
            raise CheckoutError(f"{self.path} is not JSON, {error}. Mend it; nothing was changed") from None
        hooks = root.child(HOOKS)
        for node, name in ((root, "what it holds"), (hooks, HOOKS)):
            if node is not None and not isinstance(node.value, dict):
                raise CheckoutError(f"{self.path}: {name} is no object. Mend it; nothing was changed")
        for event in hooks.children if hooks else ():
            if event.key in self.wiring.entries() and not isinstance(event.value, list):
                raise CheckoutError(f"{self.path}: {HOOKS}.{event.key} is no list. Mend it; nothing was changed")
        return root

    def _found(self, text: str) -> dict[str, list[Any]]:
        """Our entries, by event."""
        hooks = self._root(text).child(HOOKS)
        found = {}
        for event in hooks.children if hooks else ():
            if isinstance(event.value, list) and (mine := [item for item in event.value if self.wiring.owns(item)]):
                found[event.key] = mine
        return found

    def _with(self, text: str, segments: list[str]) -> str:
        """``text`` with all that is wanted; what was inserted is added to ``segments``."""
        entries = self.wiring.entries()
        if not text.strip():
            blank = insertion.whole({**self.wiring.root, HOOKS: {event: [entry] for event, entry in entries.items()}})
            segments.append(blank)
            return blank + text
        for key, value in reversed(self.wiring.root.items()):
            root = self._root(text)
            if root.child(key) is None:
                text = _insert(text, root, key, value, segments)
        for event, entry in reversed(entries.items()):
            root = self._root(text)
            hooks = root.child(HOOKS)
            if hooks is None:
                text = _insert(text, root, HOOKS, {name: [one] for name, one in entries.items()}, segments)
                break
            listed = hooks.child(event)
            if listed is None:
                text = _insert(text, hooks, event, [entry], segments)
            else:
                text = _insert(text, listed, "", entry, segments)
        return text

    def _without(self, text: str, made: Mapping[str, Any]) -> str:
        """``text`` without what is ours: to the byte as it was before, if nobody wrote into that since."""
        if not text.strip():
            return text
        self._root(text)
        segments = made.get("segments", [])
        clean = insertion.cut(text, segments) if segments else None
        if clean is not None and (not clean.strip() or not self._remains(clean)):
            return clean
        while found := self._first(text):
            text = insertion.remove(text, found)
        return text

    def _remains(self, text: str) -> bool:
        try:
            return bool(self._found(text))
        except CheckoutError:
            return True

    def _first(self, text: str) -> jsonc.Node | None:
        """What to take out next: an entry of ours, or what holds nothing else."""
        hooks = self._root(text).child(HOOKS)
        for event in hooks.children if hooks else ():
            mine = [item for item in event.children if self.wiring.owns(item.value)]
            if mine and len(mine) == len(event.children):
                others = [one for one in hooks.children if one is not event] if hooks else []
                return event if others else hooks
            if mine:
                return mine[0]
        return None

    def _read(self) -> str:
        try:
            with open(self._target, "rb") as file:
                return file.read().decode()
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise CheckoutError(f"cannot read {self.path}: {error.strerror}. Make it readable") from error
        except UnicodeDecodeError:
            raise CheckoutError(f"{self.path} is not UTF-8. Mend it; nothing was changed") from None

    def _write(self, before: str, after: str) -> str:
        """Replace the content, or remove the file where nothing is left; where a copy of it is, '' if it was new."""
        existed = os.path.lexists(self._target)
        if self._read() != before:
            raise CheckoutError(f"{self.path} was changed by somebody else just now. Try again")
        if existed:
            whole.write(self._copy, before.encode(), 0o600)
        if after:
            mode = os.stat(self._target).st_mode & 0o7777 if existed else _MODE
            whole.write(self._target, after.encode(), mode)
        elif existed:
            os.unlink(self._target)
        return self._copy if existed else ""

    def _make_directory(self) -> list[str]:
        """Have the directory of the file; those that were made for it, outermost first."""
        missing, directory = list[str](), os.path.dirname(self._target)
        while not os.path.isdir(directory):
            missing.insert(0, directory)
            directory = os.path.dirname(directory)
        for one in missing:
            os.mkdir(one)
        return missing

    def _recall(self) -> dict[str, Any]:
        """What was inserted, as the last installation wrote it down."""
        try:
            with open(self._record, "rb") as file:
                found = json.load(file)
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _remember(self, made: Mapping[str, Any]) -> None:
        text = json.dumps({**made, "file": os.fsencode(self._target).decode("utf-8", "replace")})
        whole.write(self._record, text.encode(), 0o600)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """None of us edits a configuration meanwhile.

        Raises:
            CheckoutError: for whatever cannot be written in between.
        """
        folder = os.path.dirname(self._record)
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                yield
            finally:
                os.close(descriptor)
        except OSError as error:
            raise CheckoutError(
                f"cannot write {error.filename or folder}: {error.strerror}. Make it writable"
            ) from error


def _insert(text: str, container: jsonc.Node, key: str, value: Any, segments: list[str]) -> str:
    done = insertion.insert(text, container, key, value)
    segments.append(done.segment)
    return done.text
