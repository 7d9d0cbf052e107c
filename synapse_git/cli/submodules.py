"""The submodules of a checkout that are there, whose commits need a guard of their own: hooks are per repository."""

from __future__ import annotations

import os

from synapse_git import git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_GITLINK = b"160000 "


def roots(checkouts: Iterable[str], env: Mapping[str, str]) -> list[str]:
    """The roots of all initialised submodules below the roots ``checkouts``, those of submodules included."""
    found: list[str] = []
    waiting = list(checkouts)
    while waiting:
        root = waiting.pop()
        _, listed, _ = git.ask(["-C", root, "ls-files", "--stage", "-z"], git.scrubbed(env))
        links = [os.fsdecode(entry.partition(b"\t")[2]) for entry in listed.split(b"\0") if entry.startswith(_GITLINK)]
        inner = [f"{root}/{path}" for path in links if os.path.lexists(f"{root}/{path}/.git")]
        waiting += inner
        found += inner
    return sorted(found)


def likely(root: str) -> bool:
    """Has the checkout any? A look at one file, for what must be quick."""
    return os.path.lexists(root + "/.gitmodules")
