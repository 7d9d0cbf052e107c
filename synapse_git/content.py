"""What a file holds, for those whom nothing may keep waiting: hooks, and commands that people wait for.

A pipe or a device under a name that a repository can carry would keep its reader for ever. Stdlib only: hooks use it.
"""

from __future__ import annotations

import errno
import os
import stat


def read(path: str, most: int) -> bytes:
    """The first ``most`` bytes of the file at ``path``.

    Raises:
        OSError: it cannot be read, or is no regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", path)
        found = b""
        while len(found) < most and (part := os.read(descriptor, most - len(found))):
            found += part
        return found
    finally:
        os.close(descriptor)
