"""How often each file of a checkout was written, by the kernel's count: two writes at once are one to watchfiles.

Linux only. Where it cannot be told, for want of watches or after an overflow, nothing is guessed.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterator

_MODIFY, _CLOSE_WRITE, _MOVED_FROM, _MOVED_TO = 0x2, 0x8, 0x40, 0x80
_CREATE, _DELETE, _OVERFLOW, _IGNORED, _DIRECTORY = 0x100, 0x200, 0x4000, 0x8000, 0x40000000
_COUNTED = _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _DELETE
# Of two events that are alike and follow each other the kernel makes one; what comes in between keeps writes apart.
_WATCHED = _COUNTED | _MODIFY | _CREATE
_DIRECTORIES_ONLY = 0x01000000 | 0x02000000
_HEAD = struct.Struct("iIII")
_AT_ONCE = 1 << 16

Count = tuple[int, int]
"""So far, and since which watch: counts of two watches say nothing of each other."""
UNKNOWN: Count = (-1, -1)


class Writes:
    """All of ``root`` but what is Git's, from `begin` on."""

    def __init__(self, root: bytes) -> None:
        self._root = root
        self._descriptor = -1
        self._names: dict[int, bytes] = {}
        # By directory, the number of its watch: a directory that comes again has another.
        self._numbers: dict[bytes, int] = {}
        self._last = 0
        self._counts: dict[bytes, int] = {}
        self._rested: tuple[int, dict[bytes, int]] = (0, {})

    def begin(self) -> None:
        """Count anew. What cannot be watched is not counted."""
        self.close()
        if sys.platform == "linux":
            self._descriptor = _libc().inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor >= 0:
            self._add(self._root)

    def close(self) -> None:
        """Count no more."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1
        self._names, self._numbers, self._counts = {}, {}, {}
        self._rested = (self._last, {})

    def rest(self) -> None:
        """How all stands is about to be looked at: from here on is counted what was not counted by itself."""
        self._drain()
        self._rested = (self._last, dict(self._counts))

    def count(self, path: bytes) -> Count:
        """Of the file ``path``, relative to the root, until now; `UNKNOWN` where nobody counts."""
        self._drain()
        number = self._numbers.get(self._directory(path))
        return UNKNOWN if number is None else (self._counts.get(path, 0), number)

    def once(self, path: bytes, since: Count | None) -> bool:
        """Was it written exactly once since then (None: since `rest`), and is that certain?"""
        now = self.count(path)
        if since is None:
            last, counts = self._rested
            since = (counts.get(path, 0), now[1]) if now[1] <= last else UNKNOWN
        return now != UNKNOWN and now == (since[0] + 1, since[1])

    def _directory(self, path: bytes) -> bytes:
        return os.path.dirname(self._root + b"/" + path)

    def _add(self, directory: bytes) -> None:
        """With all beneath it, each under a new number, or none where it cannot be watched."""
        pending = [directory]
        while pending:
            name = pending.pop()
            watch = _libc().inotify_add_watch(self._descriptor, name, _WATCHED | _DIRECTORIES_ONLY)
            self._numbers.pop(name, None)
            if watch >= 0:
                self._last += 1
                self._names[watch], self._numbers[name] = name, self._last
            try:
                with os.scandir(name) as listed:
                    pending += [one.path for one in listed if one.name != b".git" and one.is_dir(follow_symlinks=False)]
            except OSError:
                continue  # gone again, or closed to us

    def _drain(self) -> None:
        for watch, mask, name in self._events():
            if mask & _OVERFLOW:
                self.begin()
                return
            directory = self._names.get(watch, b"")
            if mask & _IGNORED:
                self._names.pop(watch, None)
            elif directory and name:
                self._note(mask, directory + b"/" + name)

    def _note(self, mask: int, full: bytes) -> None:
        path = full.removeprefix(self._root + b"/")
        if mask & _DIRECTORY:
            # What is in a directory that came, or came back, was not counted all along.
            if mask & (_CREATE | _MOVED_TO) and os.path.basename(full) != b".git":
                self._add(full)
        elif mask & _COUNTED:
            self._counts[path] = self._counts.get(path, 0) + 1

    def _events(self) -> Iterator[tuple[int, int, bytes]]:
        while self._descriptor >= 0:
            try:
                data = os.read(self._descriptor, _AT_ONCE)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                watch, mask, _, length = _HEAD.unpack_from(data, at)
                at += _HEAD.size + length
                yield watch, mask, data[at - length : at].rstrip(b"\0")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
