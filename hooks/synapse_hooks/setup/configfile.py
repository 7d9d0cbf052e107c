"""Change a Git configuration file the way Git does: locked, whole or not at all, its mode kept."""

from __future__ import annotations

import os
import time

from synapse_git.errors import CheckoutError
from synapse_hooks.setup import whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_PATIENCE_S = 2.0
_POLL_S = 0.02
_LOCK = ".lock"


def edit(path: str, change: Callable[[bytes], bytes]) -> bool:
    """Replace the content of ``path`` by ``change`` of it; was that a change? A missing file counts as empty.

    Raises:
        CheckoutError: it cannot be written, or somebody else keeps it locked.
    """
    target = os.path.realpath(path)  # a link stays a link, as under Git
    draft = target + whole.DRAFT
    try:
        recover(path)
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            try:
                _lock(draft, target + _LOCK)
                before, mode = _read(target)
                after = change(before)
                if after != before:
                    file.write(after)
                    file.flush()
                    os.fchmod(file.fileno(), mode)
                    os.fsync(file.fileno())
                    os.rename(draft, target)
                os.unlink(target + _LOCK)
                return after != before
            finally:
                recover(path)
    except OSError as error:
        raise CheckoutError(f"cannot change {target}: {error.strerror}. Make it writable") from error


def recover(path: str) -> None:
    """Take away what an `edit` of ``path`` left that was killed, its lock among it. Nobody may be editing it.

    Raises:
        OSError: it cannot be taken away.
    """
    target = os.path.realpath(path)
    draft, lock = target + whole.DRAFT, target + _LOCK
    if os.path.exists(lock) and any(os.path.exists(one) and os.path.samefile(one, lock) for one in (draft, target)):
        os.unlink(lock)
    if os.path.lexists(draft):
        os.unlink(draft)


def value(text: bytes) -> bytes:
    """``text`` as the value of a key."""
    return b'"' + text.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


def _lock(draft: str, path: str) -> None:
    """Take Git's own lock on the file: another name of ``draft``, by which a later run knows whose it was."""
    patience = time.monotonic() + _PATIENCE_S
    while True:
        try:
            try:
                os.link(draft, path)
            except OSError as error:  # a file system without hard links
                if isinstance(error, FileExistsError):
                    raise
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            return
        except FileExistsError:
            if time.monotonic() > patience:
                raise CheckoutError(f"{path} exists: another git command is at work. If none is, remove it") from None
            time.sleep(_POLL_S)


def _read(path: str) -> tuple[bytes, int]:
    """Content and mode."""
    try:
        with open(path, "rb") as file:
            return file.read(), os.fstat(file.fileno()).st_mode & 0o7777
    except FileNotFoundError:
        return b"", 0o644
