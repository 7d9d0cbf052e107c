"""Where a file of a work tree is, reached directory by directory: no link on the way leads out of the tree."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@contextmanager
def of(root: bytes, path: bytes, *, make: bool = False) -> Iterator[tuple[int, bytes]]:
    """A descriptor of the directory in which ``path``, relative to ``root``, lies, and its name in there.

    ``make``: with the directories that are missing.

    Raises:
        OSError: there is no such directory, or a link stands for one.
    """
    *directories, name = path.split(b"/")
    here = os.open(root, _DIRECTORY)
    try:
        for one in directories:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(one, dir_fd=here)
            inner = os.open(one, _DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = inner
        yield here, name
    finally:
        os.close(here)
