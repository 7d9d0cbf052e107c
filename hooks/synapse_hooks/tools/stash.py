"""What `git stash` brings into a checkout, and whose put-aside work it takes away.

All worktrees of a repository share their stashes: what one of them put aside, any other can pop or drop.
"""

from __future__ import annotations

import os

from synapse_git import git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_DIFFERENCE = ("diff-tree", "-r", "-z", "--no-renames", "--name-only")
_TREE = ("ls-tree", "-r", "-z", "--name-only", "--full-tree")
# By their messages, newest first: how one is called depends on the user's settings, its number does not.
_ALL = ("log", "-g", "-z", "--format=%gs", "refs/stash", "--")
_MOST = 100


class Stash:
    """``number``: which one, None for all. ``comes``: into the checkout around ``cwd``; ``goes``: from the stashes."""

    __slots__ = ("comes", "cwd", "goes", "number")

    def __init__(self, cwd: str, number: int | None, *, comes: bool, goes: bool) -> None:
        self.cwd = cwd
        self.number = number
        self.comes = comes
        self.goes = goes

    def found(self, env: Mapping[str, str]) -> list[bytes]:
        """The absolute paths, where it comes to and where it was put aside; none where Git does not tell."""
        said = self._ask(_ALL, env)[:_MOST]
        numbers = range(len(said)) if self.number is None else range(self.number, min(self.number + 1, len(said)))
        here = self._ask(("rev-parse", "--show-toplevel"), env, b"\n") if self.comes else []
        roots = _roots(self._ask(("worktree", "list", "--porcelain"), env, b"\n")) if self.goes else {}
        found = []
        for number in numbers:
            tops = {*here, *filter(None, [roots.get(_branch(said[number]))])}
            paths = self._held(f"stash@{{{number}}}", env) if tops else []
            found += [top + b"/" + path for top in sorted(tops) for path in paths]
        return found

    def _held(self, name: str, env: Mapping[str, str]) -> list[bytes]:
        """Its changes, and the files in it that Git did not know."""
        return self._ask((*_DIFFERENCE, f"{name}^1", name), env) + self._ask((*_TREE, f"{name}^3"), env)

    def _ask(self, arguments: Sequence[str], env: Mapping[str, str], end: bytes = b"\0") -> list[bytes]:
        status, answer, _ = git.ask(["-C", self.cwd, *arguments], env)
        return [] if status else answer.removesuffix(end).split(end) if answer else []


def read(words: Sequence[str], cwd: str) -> Stash | None:
    """Of ``git stash WORDS``, options left out and '' for a word that does not stand for itself."""
    verb, named = words[0] if words else "", list(words[1:])
    if verb == "clear" and not named:
        return Stash(cwd, None, comes=False, goes=True)
    number = (named[0] if named else "0").removeprefix("stash@{").removesuffix("}")
    if verb not in ("pop", "apply", "drop") or not (number.isascii() and number.isdigit()) or len(named) > 1:
        return None
    return Stash(cwd, int(number), comes=verb != "drop", goes=verb != "apply")


def _branch(said: bytes) -> bytes:
    """The branch on which it was put aside, as Git words it; none of that name for what was stored otherwise."""
    return said.partition(b": ")[0].removeprefix(b"WIP on ").removeprefix(b"On ")


def _roots(listed: Sequence[bytes]) -> dict[bytes, bytes]:
    """The worktree that has each branch checked out."""
    found, root = {}, b""
    for line in listed:
        if line.startswith(b"worktree "):
            root = line.removeprefix(b"worktree ")
        elif line.startswith(b"branch refs/heads/") and os.path.isdir(root):
            found[line.removeprefix(b"branch refs/heads/")] = root
    return found
