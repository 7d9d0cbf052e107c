"""Look at a journal, and carry it elsewhere: ``hub verify`` and ``hub export``, and what an export holds."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import msgspec

from synapse_hub.journal.intact import Intact, follow, intact, mark_of
from synapse_hub.journal.mark import Mark
from synapse_hub.journal.record import Record
from synapse_hub.journal.snapshot import Snapshot
from synapse_hub.journal.sqlite import SQLITE_ERRORS, open_reader, read_snapshots
from synapse_hub.journal.store import StoreError

FORMAT = 1


class ArchiveError(Exception):
    """What was asked for cannot be done; the text says why."""


class _Header(msgspec.Struct, frozen=True):
    synapse_git_journal: int
    hub_id: str
    incarnation: int
    seq: int
    epoch: int
    head: str


class _Row(msgspec.Struct, frozen=True):
    seq: int
    incarnation: int
    batch: str
    kind: str
    body: str
    hash: str


class _Base(msgspec.Struct, frozen=True):
    """A snapshot, where the rows before it were compacted."""

    seq: int
    head: str
    digest: str
    body: str


class _Trailer(msgspec.Struct, frozen=True):
    rows: int
    sha256: str


def verify(directory: str) -> dict[str, Any]:
    """Check every row, both snapshots and the mark. Never raises for damage: it is the answer."""
    path = os.path.join(directory, "journal.db")
    mark = mark_of(directory)
    try:
        with closing(open_reader(path)) as connection:
            found = intact(connection)
            snapshots = read_snapshots(connection)
    except (StoreError, *SQLITE_ERRORS) as error:
        return {"ok": False, "events": 0, "epoch": 0, "hub_id": mark and mark.hub_id, "detail": str(error)}
    detail = found.damage or _against(found, mark)
    if not detail and not all(snapshot.whole() for snapshot in snapshots):
        detail = "a snapshot is damaged; the hub replays without it"
    return {
        "ok": not detail,
        "events": found.state.seq,
        "epoch": found.state.epoch,
        "hub_id": mark and mark.hub_id,
        "incarnation": mark and mark.incarnation,
        "detail": detail or "every event is in its place and unaltered",
    }


def _against(found: Intact, mark: Mark | None) -> str:
    """What the mark says against a journal, or ''."""
    if mark is None:
        return "journal.mark is gone, so nobody knows whether events are missing at the end"
    if found.state.seq < mark.seq or found.state.epoch < mark.epoch:
        return f"it ends at event {found.state.seq}, but {mark.seq} was acknowledged"
    return ""


def export(directory: str, target: str) -> dict[str, Any]:
    """Write the journal to ``target`` as lines of JSON, also while a hub runs.

    Raises:
        ArchiveError: ``target`` exists, or the journal is damaged.
    """
    if os.path.lexists(target):
        raise ArchiveError(f"{target} exists already; name a new file")
    mark = mark_of(directory)
    try:
        with closing(open_reader(os.path.join(directory, "journal.db"))) as connection:
            found = intact(connection)
    except StoreError as error:
        raise ArchiveError(str(error)) from error
    if found.damage or mark is None:
        raise ArchiveError(
            f"the journal is damaged ({found.damage or 'no mark'}), so it is not exported. See: hub verify"
        )
    header = _Header(FORMAT, mark.hub_id, mark.incarnation, found.state.seq, found.state.epoch, found.head.hex())
    digest = _write(target, header, found)
    return {"file": target, "events": found.state.seq, "sha256": digest}


def _write(target: str, header: _Header, found: Intact) -> str:
    draft = f"{target}.{os.getpid()}.draft"
    digest = hashlib.sha256()
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            for item in _lines(header, found):
                line = msgspec.json.encode(item) + b"\n"
                digest.update(line)
                file.write(line)
            file.write(msgspec.json.encode(_Trailer(len(found.rows), digest.hexdigest())) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    except OSError as error:
        with suppress(OSError):
            os.unlink(draft)
        raise ArchiveError(f"cannot write {target}: {error.strerror}") from error
    return digest.hexdigest()


def _lines(header: _Header, found: Intact) -> Iterator[msgspec.Struct]:
    yield header
    if found.base:
        base = found.base
        yield _Base(base.seq, base.head.hex(), base.digest.hex(), base.body.decode())
    for r in found.rows:
        yield _Row(r.seq, r.incarnation, r.batch, r.kind, r.body.decode(), r.hash.hex())


def read_export(source: str) -> tuple[Intact, Mark | None]:
    """What an export holds, and the mark it was made under. Raises: ArchiveError, unless it is whole."""
    digest = hashlib.sha256()
    try:
        with open(source, "rb") as file:
            *lines, last = file.read().splitlines(keepends=True)
        for line in lines:
            digest.update(line)
        header = msgspec.json.decode(lines[0], type=_Header)
        trailer = msgspec.json.decode(last, type=_Trailer)
        if trailer.sha256 != digest.hexdigest() or header.synapse_git_journal != FORMAT:
            raise ArchiveError(f"{source} was altered, cut short, or made by another version; not importing it")
        base, rows = _parse_lines(lines[1:])
        found = follow(base, iter(rows))
    except (ValueError, IndexError, msgspec.MsgspecError) as error:
        raise ArchiveError(f"{source} is not an export of a hub: {error}") from error
    if found.damage or found.head.hex() != header.head:
        raise ArchiveError(f"{source} does not hold together: {found.damage or 'another end than it says'}")
    return found, Mark(header.hub_id, header.incarnation, header.seq, header.epoch, header.head)


def _parse_lines(lines: list[bytes]) -> tuple[Snapshot | None, list[Record]]:
    base = None
    if lines and b'"digest"' in lines[0][:400]:
        one = msgspec.json.decode(lines[0], type=_Base)
        base = Snapshot(one.seq, bytes.fromhex(one.head), bytes.fromhex(one.digest), one.body.encode())
        lines = lines[1:]
    rows = [msgspec.json.decode(line, type=_Row) for line in lines]
    return base, [Record(r.seq, r.incarnation, r.batch, r.kind, r.body.encode(), bytes.fromhex(r.hash)) for r in rows]
