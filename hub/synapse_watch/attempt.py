"""Whether a hook before a commit is at work in a checkout: such a one may take unstaged changes away for a while.

Told from ``/proc``; where there is none, nothing is known of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

_HOOKS = (b"pre-commit", b"pre-merge-commit")


def under_way(root: str) -> bool:
    """Does a Git that works in ``root``, or beneath it, wait for such a hook?"""
    real = os.fsencode(os.path.realpath(root))
    return any(_is_git(parent) and _is_within(_cwd(parent), real) for parent in _waiting())


def _waiting() -> Iterator[bytes]:
    """Whoever waits for a process that was called as such a hook."""
    try:
        names = os.listdir(b"/proc")
    except OSError:
        return
    for name in names:
        if name.isdigit() and any(hook in _read(name, b"cmdline") for hook in _HOOKS):
            # The name of the program stands in parentheses and may hold anything, even parentheses.
            fields = _read(name, b"stat").rpartition(b") ")[2].split()
            yield from fields[1:2]


def _is_git(pid: bytes) -> bool:
    return _read(pid, b"comm").startswith(b"git")


def _is_within(path: bytes, root: bytes) -> bool:
    return path == root or path.startswith(root + b"/")


def _cwd(pid: bytes) -> bytes:
    try:
        return os.readlink(b"/proc/" + pid + b"/cwd")
    except OSError:
        return b""


def _read(pid: bytes, name: bytes) -> bytes:
    try:
        with open(b"/proc/" + pid + b"/" + name, "rb") as file:
            return file.read()
    except OSError:
        return b""  # gone meanwhile, or somebody else's
