"""What the author of a refused change reads: who holds what until when, and what to type next."""

from __future__ import annotations

import os

from synapse_git import explain, scope
from synapse_git.errors import AnotherHub
from synapse_hooks.verdict import OVERRIDE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from synapse_git.errors import HubUnreachable
    from synapse_hooks.operation import Operation

_PATTERNS = frozenset("*?[\\")


class Circumstances:
    """What a refusal has to know about the change beyond the verdict.

    ``operation``: what is interrupted; ``index``: the index file that was judged, '' if none was; ``unborn``: this
    would be the first commit; ``listed``, ``spelled``: the paths as Git and as claims call them, in the same order.
    """

    __slots__ = ("index", "listed", "operation", "spelled", "unborn")

    def __init__(self, operation: Operation, listed: bytes, spelled: bytes, index: str = "") -> None:
        self.operation = operation
        self.listed = listed
        self.spelled = spelled
        self.index = index
        self.unborn = False


def denied(document: Mapping[str, Any], around: Circumstances) -> str:
    """The text for a change that the hub refused."""
    lines = [explain.problem(document)]
    conflicts = document.get("conflicts") or []
    if around.operation.way_out:
        lines.append(f"Give up the {around.operation.name}:  {around.operation.way_out}")
    elif conflicts and around.index:
        lines.append(_leave_out(conflicts, around))
    if holders := list(dict.fromkeys(explain.said(item["owner"]) for item in conflicts)):
        lines.append(f"Or ask {', '.join(holders)} to hand over or release, or wait until the lease has run out.")
    lines.append(_on_record(around.operation))
    if pending := document.get("pending"):
        lines.append(f"Messages wait for you ({pending}): synapse-git inbox")
    return "\n".join(lines)


def unknown(error: HubUnreachable, around: Circumstances) -> str:
    """The text for a change that nobody could judge."""
    lines = [
        f"{error.reason}: {error}",
        "Nobody can tell whether others hold what this changes, so it is refused.",
    ]
    if not isinstance(error, AnotherHub):
        lines.append(
            "If it hangs: synapse-git hub stop    Start it: synapse-git hub start    What is wrong: synapse-git doctor"
        )
    if around.operation.way_out:
        lines.append(f"Give up the {around.operation.name}:  {around.operation.way_out}")
    return "\n".join([*lines, _on_record(around.operation)])


def _on_record(operation: Operation) -> str:
    return f'Or go ahead, on record:  {OVERRIDE}="why" {operation.again}'


def _leave_out(conflicts: list[Any], around: Circumstances) -> str:
    """How to go on without the paths that are held. It depends on how Git was told what to commit."""
    kind = os.path.basename(around.index)
    if kind.startswith("next-index-"):
        return "Leave what is held out of the paths that you name."
    if kind == "index.lock":
        return "Leave it out: name the paths to commit:  git commit -- PATH…"
    names = dict(zip(_split(around.spelled), _split(around.listed), strict=True))
    held = [names.get(explain.wire_path(path), "") for item in conflicts for path in item.get("changed") or []]
    left = [path for path in dict.fromkeys(held) if path]
    git = "git --literal-pathspecs" if any(map(_is_pattern, left)) else "git"
    undo = f"{git} rm --cached" if around.unborn else f"{git} restore --staged"
    return f"Leave it out:  {undo} -- {' '.join(map(explain.shell, left)) or 'PATH…'}"


def _is_pattern(path: str) -> bool:
    """Would Git take the name for more than that one file?"""
    return path.startswith(":") or not _PATTERNS.isdisjoint(path)


def _split(paths: bytes) -> list[str]:
    return scope.from_bytes(paths[:-1]).split("\0")
