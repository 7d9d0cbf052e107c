"""Change a Git configuration file the way Git does: locked, whole or not at all, its mode kept."""

from __future__ import annotations

import os
import time

from synapse_git.errors import CheckoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_PATIENCE_S = 2.0
_POLL_S = 0.02


def edit(path: str, change: Callable[[bytes], bytes]) -> bool:
    """Replace the content of ``path`` by ``change`` of it; was that a change? A missing file counts as empty.

    Raises:
        CheckoutError: it cannot be written, or somebody else keeps it locked.
    """
    target = os.path.realpath(path)  # a link stays a link, as under Git
    lock = target + ".lock"
    try:
        with open(_lock(lock), "wb") as draft:
            try:
                before, mode = _read(target)
                after = change(before)
                if after != before:
                    draft.write(after)
                    draft.flush()
                    os.fchmod(draft.fileno(), mode)
                    os.fsync(draft.fileno())
                    os.rename(lock, target)
                return after != before
            finally:
                if os.path.exists(lock) and os.path.samestat(os.stat(lock), os.fstat(draft.fileno())):
                    os.unlink(lock)
    except OSError as error:
        raise CheckoutError(f"cannot change {target}: {error.strerror}. Make it writable") from error


def value(text: bytes) -> bytes:
    """``text`` as the value of a key."""
    return b'"' + text.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


def _lock(path: str) -> int:
    """Take Git's own lock on the file."""
    patience = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
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
