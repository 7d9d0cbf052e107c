"""Two files change places in one step, which the standard library has no word for."""

from __future__ import annotations

import ctypes
import os
import sys

_AT_FDCWD = -2 if sys.platform == "darwin" else -100
_EXCHANGE = 2  # RENAME_EXCHANGE of <linux/fs.h>, RENAME_SWAP of <sys/stdio.h>


def exchange(one: bytes, other: bytes, directory: int = _AT_FDCWD) -> None:
    """What stood at ``one`` stands at ``other`` afterwards, and the reverse. ``directory``: what ``other`` is below.

    Raises:
        OSError: nothing has changed.
    """
    library = ctypes.CDLL(None, use_errno=True)
    try:
        rename = library.renameatx_np if sys.platform == "darwin" else library.renameat2
    except AttributeError:
        raise OSError(0, "this system cannot exchange two files") from None
    if rename(_AT_FDCWD, one, directory, other, _EXCHANGE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
