"""All worktrees of a repository, as Git knows them."""

from __future__ import annotations

import os

from synapse_git import git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def born(root: str, env: Mapping[str, str]) -> bool:
    """Does HEAD of the checkout at ``root`` name a commit?"""
    status, _, _ = git.ask(["-C", root, "rev-parse", "-q", "--verify", "HEAD^{commit}"], git.scrubbed(env))
    return status == 0


def roots(root: str, env: Mapping[str, str]) -> list[str]:
    """The roots of the worktrees of the repository that ``root`` is a checkout of: those that are there, with files."""
    _, listed, _ = git.ask(["-C", root, "worktree", "list", "--porcelain"], git.scrubbed(env))
    found = []
    for block in listed.split(b"\n\n"):
        lines = block.split(b"\n")
        path = os.fsdecode(lines[0].removeprefix(b"worktree "))
        if b"bare" not in lines and os.path.isdir(path):
            found.append(path)
    return found
