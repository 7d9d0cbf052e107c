"""Our entries among the hooks that a TOML configuration lists by event."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from synapse_git.errors import CheckoutError
from synapse_hooks.tools import insertion, launcher
from synapse_hooks.tools.dialect import Dialect

HOOKS = "hooks"
# Beside its events: which hooks the user has trusted.
_STATE = "state"


class Inline:
    """What ``harness`` wants in its configuration. Same methods as `entries.Entries`, on TOML."""

    def __init__(self, harness: str, speaks: Dialect) -> None:
        self._harness = harness
        self._wanted = {event: speaks.entry(event, launcher.command(harness, event)) for event in speaks.moments}

    def text(self) -> str:
        """A configuration that says nothing else."""
        return "\n".join(line for event, entry in self._wanted.items() for line in _lines(event, entry))

    def state(self, text: str) -> str:
        """``installed``, ``outdated`` or ``missing``. Raises: CheckoutError."""
        found = {event: mine for event, entries in _hooks(text).items() if (mine := self._ours(entries))}
        if not found:
            return "missing"
        return "installed" if found == {event: [one] for event, one in self._wanted.items()} else "outdated"

    def put(self, text: str, segments: list[str]) -> str:
        """``text`` with all that is wanted at its end. Raises: CheckoutError."""
        _hooks(text)
        newline = "\r\n" if "\r\n" in text else "\n"
        gap = "" if not text else newline if text.endswith("\n") else 2 * newline
        segment = gap + self.text().replace("\n", newline)
        try:
            tomllib.loads(text + segment)
        except tomllib.TOMLDecodeError:
            raise CheckoutError(f"{HOOKS} is written there in a way that nothing can be added to") from None
        segments.append(segment)
        return text + segment

    def take(self, text: str, segments: list[str]) -> str:
        """``text`` without what is ours. Raises: CheckoutError."""
        if self.state(text) == "missing":
            return text
        clean = insertion.cut(text, segments) if segments else None
        if clean is None or self.state(clean) != "missing":
            clean = "".join(part for part in _groups(text) if not self._is_ours(part))
        before, after = _hooks(text), _hooks(clean)
        kept = {event: left for event, entries in before.items() if (left := self._theirs(entries))}
        if {event: entries for event, entries in after.items() if entries} != kept:
            raise CheckoutError(f"the entries of {HOOKS} that are ours cannot be told from the rest. Take them out")
        return clean

    def _is_ours(self, group: str) -> bool:
        try:
            found = _hooks(group)
        except CheckoutError:
            return False
        return bool(found) and not any(self._theirs(entries) for entries in found.values())

    def _ours(self, entries: list[Any]) -> list[Any]:
        return [one for one in entries if self._owns(one)]

    def _theirs(self, entries: list[Any]) -> list[Any]:
        return [one for one in entries if not self._owns(one)]

    def _owns(self, entry: Any) -> bool:
        hooks = entry.get(HOOKS) if isinstance(entry, dict) else None
        return isinstance(hooks, list) and len(hooks) == 1 and launcher.ours(hooks[0].get("command"), self._harness)


def used(text: str) -> bool:
    """Does a TOML configuration list hooks? One that is broken lists none."""
    try:
        return bool(_hooks(text))
    except CheckoutError:
        return False


def _hooks(text: str) -> dict[str, list[Any]]:
    """The hooks of a configuration, by event. Raises: CheckoutError."""
    try:
        found = tomllib.loads(text).get(HOOKS, {})
    except tomllib.TOMLDecodeError as error:
        raise CheckoutError(f"not TOML, {error}") from None
    if not isinstance(found, dict):
        raise CheckoutError(f"{HOOKS} is no table")
    return {event: entries for event, entries in found.items() if event != _STATE and isinstance(entries, list)}


def _lines(event: str, entry: Mapping[str, Any]) -> Iterator[str]:
    """``entry`` as an element of an array of tables, with an empty line after each table."""
    inner = entry[HOOKS]
    for header, table in [(event, entry), *((f"{event}.{HOOKS}", hook) for hook in inner)]:
        yield f"[[{HOOKS}.{header}]]"
        yield from (f"{key} = {json.dumps(value)}" for key, value in table.items() if key != HOOKS)
        yield ""


def _groups(text: str) -> Iterator[str]:
    """``text`` in parts, each from the header of one of our kind of tables, or of another, to the next."""
    part: list[str] = []
    for line in text.splitlines(keepends=True):
        header = line.strip()
        inner = header.startswith(f"[[{HOOKS}.") and header.endswith(f".{HOOKS}]]")
        if header.startswith("[") and not inner:
            yield "".join(part)
            part = []
        part.append(line)
    yield "".join(part)
