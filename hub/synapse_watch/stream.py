"""What the file system says of a directory, through watchfiles, and when that cannot have been all.

Events are lost in a directory that was made a moment ago, when the kernel's queue overflows, and when the limit of
watches is reached after the start; none of it is an error. So whoever takes batches here looks again where a batch says
so, and now and then anyway.
"""

from __future__ import annotations

import os
import threading
import time

from watchfiles import Change
from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

_DEBOUNCE_MS = 50
# watchfiles looks this often whether something has come: quick while things happen, at leisure when nothing does.
_STEP_MS = 10
_IDLE_STEP_MS = 50
_IDLE_AFTER_S = 5.0
# A batch of this share of the kernel's queue may be what was left after an overflow.
_SUSPICIOUS_SHARE = 8
_QUEUE = "/proc/sys/fs/inotify/max_queued_events"
_QUEUE_DEFAULT = 16384


class Unwatchable(Exception):
    """The file system will not tell; the text says why."""


class Batch:
    """``paths``: absolute, of whatever was touched; ``made``: those of them that came new.

    ``lost``: why that cannot be all, '' where nothing says so.
    """

    __slots__ = ("lost", "made", "paths")

    def __init__(self, paths: set[str], made: set[str], lost: str = "") -> None:
        self.paths = paths
        self.made = made
        self.lost = lost


class Stream:
    """One directory with all beneath it."""

    def __init__(self, root: str) -> None:
        """Raises: Unwatchable."""
        self._root = root
        self._suspicious = _queue_length() // _SUSPICIOUS_SHARE
        self._active_until = 0.0
        self._notify = _notify([root], recursive=True)

    def close(self) -> None:
        self._notify.close()

    def take(self, timeout_s: float, stop: threading.Event) -> Batch:
        """What happened, waiting for it up to ``timeout_s`` or until ``stop``.

        Raises:
            Unwatchable: the root is gone, or the watch could not be renewed after an error.
        """
        step = _STEP_MS if time.monotonic() < self._active_until else _IDLE_STEP_MS
        try:
            found = self._notify.watch(_DEBOUNCE_MS, step, max(1, int(timeout_s * 1000)), stop)
        except WatchfilesRustInternalError as error:
            return self._renewed(str(error))
        if not isinstance(found, set):
            return Batch(set(), set())
        self._active_until = time.monotonic() + _IDLE_AFTER_S
        lost = f"{len(found)} changes came at once, and the kernel's queue may have overflowed"
        made = {path for change, path in found if change == Change.added}
        return Batch({path for _, path in found}, made, lost if len(found) >= self._suspicious else "")

    def _renewed(self, error: str) -> Batch:
        """watchfiles gives up at the first name that is not UTF-8, with all that it had gathered."""
        fresh = _notify([self._root], recursive=True)
        self._notify.close()
        self._notify = fresh
        self._active_until = time.monotonic() + _IDLE_AFTER_S
        return Batch(set(), set(), f"the events were cut off: {error}")


def at_limit(directory: str) -> str:
    """Can no further directory be watched? Why not, or ''."""
    try:
        _notify([directory], recursive=False).close()
    except Unwatchable as error:
        return str(error)
    return ""


def _notify(paths: list[str], *, recursive: bool) -> RustNotify:
    try:
        for path in paths:
            path.encode()
        try:
            return RustNotify(paths, False, False, 0, recursive, False)
        except PermissionError:
            # Asked to pass over what is closed to us, watchfiles passes over the limit as well.
            return RustNotify(paths, False, False, 0, recursive, True)
    except UnicodeEncodeError:
        raise Unwatchable("its path is not UTF-8, which watchfiles cannot watch") from None
    except (OSError, WatchfilesRustInternalError) as error:
        if "limit" in str(error) or "Too many open files" in str(error):
            raise Unwatchable(
                f"the system's limit of watches or of watchers is reached ({error}). "
                "Raise it: sysctl fs.inotify.max_user_watches=1048576 fs.inotify.max_user_instances=1024"
            ) from error
        raise Unwatchable(str(error)) from error


def _queue_length() -> int:
    try:
        with open(_QUEUE, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return _QUEUE_DEFAULT


def beneath(directory: str) -> list[str]:
    """All files beneath a directory; links are not followed, Git's own is passed over."""
    found, pending = [], [directory]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name != ".git":
                            pending.append(entry.path)
                    else:
                        found.append(entry.path)
        except OSError:
            continue  # gone again, or closed to us
    return found
