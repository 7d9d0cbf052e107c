"""Put a file in place whole or not at all, under a name that a killed predecessor may have left behind."""

from __future__ import annotations

import os
import stat

DRAFT = ".synapse-draft"


def write(path: str, content: bytes, mode: int) -> bool:
    """Make ``path`` hold ``content`` with ``mode``; was that a change? A link in its place is replaced.

    Raises:
        OSError: it cannot be written.
    """
    if holds(path, content, mode):
        return False
    draft = path + DRAFT
    if os.path.lexists(draft):
        os.unlink(draft)
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())
    os.rename(draft, path)
    return True


def remove(path: str) -> None:
    """Have nothing there, nor what a killed predecessor left of it. Raises: OSError."""
    for one in (path, path + DRAFT):
        if os.path.lexists(one):
            os.unlink(one)


def holds(path: str, content: bytes, mode: int) -> bool:
    """Is ``path`` a file with exactly this content and mode?"""
    try:
        found = os.lstat(path)
        if not stat.S_ISREG(found.st_mode) or found.st_mode & 0o7777 != mode:
            return False
        with open(path, "rb") as file:
            return file.read() == content
    except FileNotFoundError:
        return False
