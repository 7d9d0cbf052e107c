"""What stands at a path, read once and whole, without ever blocking or following a link."""

from __future__ import annotations

import hashlib
import os
import stat
import time

# What is larger is somebody's data, not somebody's edit: it is reported, and never compared.
MAX_BYTES = 64 * 1024 * 1024


class Content:
    """``kind``: ``file``, ``link``, ``gone`` or ``other``. ``sha256``: '' where there is none to be had.

    ``changed_at``: Unix seconds, by the kernel; of what is gone, now. ``mark`` tells two states of a file apart.
    ``git``: it was found to be what Git has.
    """

    __slots__ = ("changed_at", "git", "kind", "mark", "mode", "sha256")

    def __init__(self, kind: str, found: os.stat_result | None = None, sha256: str = "") -> None:
        self.kind = kind
        self.sha256 = sha256
        self.mark = mark(found)
        self.mode = found.st_mode if found else 0
        self.changed_at = found.st_ctime if found else time.time()
        self.git = False


def mark(found: os.stat_result | None) -> tuple[int, ...]:
    """What changes whenever the file does; () for none."""
    if found is None:
        return ()
    return (found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def look(path: bytes) -> os.stat_result | None:
    """The file itself, not what a link leads to; None where nothing is."""
    try:
        return os.lstat(path)
    except OSError:
        return None


def read(path: bytes) -> Content:
    """What stands at ``path`` now. A file that changes while it is read has no hash."""
    found = look(path)
    if found is None:
        return Content("gone")
    try:
        if stat.S_ISLNK(found.st_mode):
            return Content("link", found, hashlib.sha256(os.readlink(path)).hexdigest())
        if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_BYTES:
            return Content("other", found)
        digest = _hash(path)
    except OSError:
        return Content("other", found)
    return Content("file", found, digest if mark(look(path)) == mark(found) else "")


def _hash(path: bytes) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
