"""How to go on without the paths of a refused commit that others hold: all of them, in one command that works."""

from __future__ import annotations

import os

from synapse_git import explain, scope
from synapse_git.record import FOLDER
from synapse_hooks.judged import HELD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from synapse_hooks.refusal import Circumstances

_PATTERNS = frozenset("*?[\\")
_MOST = 10
"""How many names a command has that people can still read."""


def advice(conflicts: Sequence[Mapping[str, Any]], total: int, around: Circumstances) -> str:
    """What to type, as Git was told what to commit. ``total``: how many paths are held, also by claims not listed."""
    listed = _split(around.listed)
    held = _held(conflicts, listed, _split(around.spelled))
    kind = os.path.basename(around.index)
    nothing_free = len(held) == len(listed)
    if kind.startswith("next-index-") or kind == "index.lock":
        if nothing_free:
            return "All that this would commit is held, so there is nothing to commit without it."
        free = [name for name in listed if name not in held] if len(held) >= total else []
        named = " ".join(map(explain.shell, free)) if 0 < len(free) <= _MOST else "PATH…"
        return f"Leave it out: name the paths to commit:  {_git(around, free[:_MOST])} commit -- {named}"
    alone = "Nothing else is staged.\n" if nothing_free else ""
    more = f"\n{total - len(held)} more are held: commit again to see them." if len(held) < total else ""
    return f"{alone}Leave it out:  {_undo(held, around)}{more}"


def _undo(held: Mapping[str, str], around: Circumstances) -> str:
    """The command that takes what is ``held`` out of the index: by names, by directories, or by a list in a file."""
    verb, with_directories = ("rm --cached", " -r") if around.unborn else ("restore --staged", "")
    for names, more in ((list(held), ""), (list(dict.fromkeys(held.values())), with_directories)):
        if len(names) <= _MOST:
            return f"{_git(around, names)} {verb}{more} -- {' '.join(map(explain.shell, names)) or 'PATH…'}"
    path = f"{os.path.dirname(around.index)}/{FOLDER}/{HELD}"
    try:
        with open(path, "wb") as file:
            file.write(b"".join(scope.to_bytes(name) + b"\0" for name in held))
    except OSError:
        return f"{_git(around)} {verb} -- PATH…"
    return f"{_git(around, ('*',))} {verb} --pathspec-from-file={explain.shell(path)} --pathspec-file-nul"


def _held(conflicts: Sequence[Mapping[str, Any]], listed: Sequence[str], spelled: Sequence[str]) -> dict[str, str]:
    """Git's name of each path in the way, and of the directory that is claimed with all that is in it, or the same."""
    own, shared = (_Claimed(conflicts, in_shared) for in_shared in (False, True))
    found = {}
    for name, path in zip(listed, spelled, strict=True):
        depth = max(own.depth(path), shared.depth(path))
        if depth >= 0:
            # In a submodule Git's names are shorter than those in the tree.
            parts = name.split("/")
            found[name] = "/".join(parts[: max(0, depth - path.count("/") - 1 + len(parts))]) or "."
    return found


class _Claimed:
    """What the claims in the way cover, of those in a shared tree (``in_shared``) or of those in the checkout's."""

    def __init__(self, conflicts: Sequence[Mapping[str, Any]], in_shared: bool) -> None:
        self._folds = in_shared
        of_tree = [item for item in conflicts if (not item["worktree"]) == in_shared]
        self._paths = {explain.wire_path(path) for item in of_tree for path in item["paths"] or [scope.ROOT]}
        self._above = {above for path in self._paths for above in scope.upwards(path)}

    def depth(self, path: str) -> int:
        """How many parts of ``path`` name what is claimed; -1 where it is free."""
        if self._folds:
            path = scope.fold(path, case=True, compose=True)
        for above in scope.upwards(path):
            if above in self._paths:
                return above.count("/") + 1 if above else 0
        return path.count("/") + 1 if path in self._above else -1


def _git(around: Circumstances, names: Sequence[str] = ()) -> str:
    """Git, told to take each of ``names`` for that one file, should it look like more; from wherever it is typed."""
    there = f" -C {explain.shell(around.root)}" if around.root else ""
    return f"git{there}{' --literal-pathspecs' if any(map(_is_pattern, names)) else ''}"


def _is_pattern(path: str) -> bool:
    return path.startswith(":") or not _PATTERNS.isdisjoint(path)


def _split(paths: bytes) -> list[str]:
    return scope.from_bytes(paths[:-1]).split("\0")
