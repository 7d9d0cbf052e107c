"""Where Git keeps what belongs to a checkout, told by a look at files. Stdlib only: hooks use it."""

from __future__ import annotations

import os

from synapse_git import content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST = 8192


def of_hook(cwd: str, env: Mapping[str, str]) -> str:
    """The git dir of the checkout whose hook Git started in ``cwd``, as Git hands it to hooks; absolute."""
    return os.path.normpath(os.path.join(cwd, env.get("GIT_DIR") or _dot_git(cwd)))


def shared_of_hook(git_dir: str, env: Mapping[str, str]) -> str:
    """What the worktrees of that checkout's repository share."""
    return os.path.normpath(os.path.join(git_dir, env.get("GIT_COMMON_DIR") or _common(git_dir)))


def at(root: str) -> str:
    """The git dir of the checkout at ``root``."""
    return os.path.join(root, _dot_git(root))


def shared(root: str) -> str:
    """What the worktrees of the repository share that has a checkout at ``root``."""
    git_dir = at(root)
    return os.path.normpath(os.path.join(git_dir, _common(git_dir)))


def every(common_dir: str) -> list[str]:
    """The git dirs of a repository: of its main checkout, and of all linked ones."""
    linked = common_dir + "/worktrees"
    names = sorted(os.listdir(linked)) if os.path.isdir(linked) else []
    return [common_dir, *(f"{linked}/{name}" for name in names)]


def linked(git_dir: str) -> str:
    """The top directory of the linked worktree that ``git_dir`` is of.

    Raises:
        OSError: it is of none.
    """
    return os.path.dirname(os.fsdecode(content.read(git_dir + "/gitdir", _LONGEST).rstrip(b"\n")))


def branch(git_dir: str) -> str:
    """The branch checked out, '' for a detached HEAD or where refs are not files."""
    try:
        head = content.read(git_dir + "/HEAD", _LONGEST).decode("utf-8", "replace").strip()
    except OSError:
        return ""
    name = head.removeprefix("ref: refs/heads/")
    return "" if name in (head, ".invalid") else name


def _dot_git(cwd: str) -> str:
    """``.git``, or where the file of that name points."""
    try:
        line = content.read(cwd + "/.git", _LONGEST).split(b"\n", 1)[0]
    except OSError:
        return ".git"
    return os.fsdecode(line.removeprefix(b"gitdir: "))


def _common(git_dir: str) -> str:
    try:
        return os.fsdecode(content.read(git_dir + "/commondir", _LONGEST).rstrip(b"\n"))
    except OSError:
        return "."
