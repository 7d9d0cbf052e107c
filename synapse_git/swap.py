"""Two files change places in one step, which the standard library has no word for."""

from __future__ import annotations

import ctypes
import os
import sys

_AT_FDCWD = -100
_EXCHANGE = 2  # RENAME_EXCHANGE of <linux/fs.h>, RENAME_SWAP of <sys/stdio.h>


def exchange(one: bytes, other: bytes) -> None:
    """What stood at ``one`` stands at ``other`` afterwards, and the reverse.

    Raises:
        OSError: nothing has changed.
    """
    library = ctypes.CDLL(None, use_errno=True)
    try:
        if sys.platform == "darwin":
            status = library.renamex_np(one, other, _EXCHANGE)
        else:
            status = library.renameat2(_AT_FDCWD, one, _AT_FDCWD, other, _EXCHANGE)
    except AttributeError:
        raise OSError(0, "this system cannot exchange two files") from None
    if status:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
