"""The high-water mark: who this hub is and how far its journal must reach, in a small file of its own.

A journal that ends below its mark lost rows that were acknowledged (a WAL that vanished, an older copy put back),
which SQLite itself does not notice. Two slots of 512 bytes are written in turn, so that a torn write leaves the
other. Each is written right after the commit that it speaks of, never before: a mark ahead of its journal would
refuse a healthy one. It is synced in the background within `SYNC_S`, which is enough: the journal itself is synced by
then, and what survives a power cut is at worst a mark that lags behind.
"""

from __future__ import annotations

import os
import zlib

import msgspec

SYNC_S = 0.2
_SLOT_BYTES = 512
_ID_FILE = "hub.id"


class Mark(msgspec.Struct, frozen=True):
    """``seq``, ``epoch``: the highest acknowledged; ``head``: hash of that row, hex; ``turn`` orders the slots."""

    hub_id: str
    incarnation: int
    seq: int
    epoch: int
    head: str
    turn: int = 0


class MarkFile:
    """The file. One thread writes; `sync` may come from another."""

    def __init__(self, path: str) -> None:
        """Open or make it, 0600. Raises: OSError."""
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        if os.fstat(self._descriptor).st_size < 2 * _SLOT_BYTES:
            os.pwrite(self._descriptor, b"\n" * 2 * _SLOT_BYTES, 0)  # later writes need no space on the disk
        self._dirty = False

    def read(self) -> Mark | None:
        """The newer of the slots that are whole; None where none is."""
        raw = os.pread(self._descriptor, 2 * _SLOT_BYTES, 0)
        marks = [mark for at in (0, _SLOT_BYTES) if (mark := _parse(raw[at : at + _SLOT_BYTES]))]
        return max(marks, key=lambda mark: mark.turn, default=None)

    def write(self, mark: Mark) -> None:
        """Put ``mark`` into the slot of its turn. Survives the process at once, the machine after `sync`."""
        body = msgspec.json.encode(mark)
        slot = b"%08x " % zlib.crc32(body) + body + b"\n"
        os.pwrite(self._descriptor, slot.ljust(_SLOT_BYTES), (mark.turn % 2) * _SLOT_BYTES)
        self._dirty = True

    def sync(self) -> None:
        """To the disk, if anything changed since."""
        if self._dirty:
            self._dirty = False
            os.fsync(self._descriptor)

    def close(self) -> None:
        self.sync()
        os.close(self._descriptor)


def kept_id(directory: str) -> str:
    """The id of the hub whose journal stands in ``directory``, by the copy beside its mark; '' if nobody can tell."""
    try:
        with open(os.path.join(directory, _ID_FILE), encoding="ascii") as file:
            found = file.read(_SLOT_BYTES).strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return found if found.isalnum() else ""


def keep_id(directory: str, hub_id: str) -> None:
    """Have a copy of the id beside the mark: repositories are bound to it. Raises: OSError."""
    if kept_id(directory) == hub_id:
        return
    path = os.path.join(directory, _ID_FILE)
    descriptor = os.open(path + ".draft", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="ascii") as file:
        file.write(hub_id + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".draft", path)


def _parse(slot: bytes) -> Mark | None:
    checksum, _, body = slot.rstrip(b" \n\0").partition(b" ")
    try:
        if int(checksum, 16) != zlib.crc32(body):
            return None
        return msgspec.json.decode(body, type=Mark)
    except (ValueError, msgspec.MsgspecError):
        return None
