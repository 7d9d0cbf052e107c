"""Look at a journal, carry it elsewhere, start again from one: for ``hub verify``, ``export`` and ``import``."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import msgspec

from synapse_hub.core.events import IncarnationStarted
from synapse_hub.core.state import State, apply
from synapse_hub.journal.journal import JournalBroken, checked
from synapse_hub.journal.mark import Mark, MarkFile
from synapse_hub.journal.record import GENESIS, Record, UnknownEvent, seal
from synapse_hub.journal.snapshot import Snapshot, restore
from synapse_hub.journal.sqlite import SqliteStore, copy_synced, open_reader, read, read_snapshots, sync_file
from synapse_hub.journal.store import StoreError

FORMAT = 1
# Without a mark nobody knows which epochs were issued; this many are passed over.
_UNKNOWN_EPOCHS = 1_000_000


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


class Intact(msgspec.Struct, frozen=True):
    """What holds together of a journal: a base, the rows after it, and where they lead."""

    base: Snapshot | None
    rows: list[Record]
    state: State
    head: bytes
    damage: str = ""


def verify(directory: str) -> dict[str, Any]:
    """Check every row, both snapshots and the mark. Never raises for damage: it is the answer."""
    path = os.path.join(directory, "journal.db")
    mark = _mark(directory)
    try:
        with closing(open_reader(path)) as connection:
            found = _intact(connection)
            snapshots = read_snapshots(connection)
    except (StoreError, sqlite3.Error) as error:
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
    mark = _mark(directory)
    try:
        with closing(open_reader(os.path.join(directory, "journal.db"))) as connection:
            found = _intact(connection)
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


def restart(directory: str, source: str) -> dict[str, Any]:
    """Start a new incarnation from ``source``: an export, a journal file, or '' for what is intact of our own.

    Call it with the hub's lock held. What was there is kept and named in the answer. Epochs go on above every one
    ever issued.

    Raises:
        ArchiveError: ``source`` cannot be read.
    """
    path = os.path.join(directory, "journal.db")
    mark = _mark(directory)
    found, theirs = _read_source(directory, source or path)
    leap = 0 if mark else _UNKNOWN_EPOCHS
    known = [one for one in (mark, theirs) if one]
    incarnation = max([one.incarnation for one in known], default=1) + 1
    started = IncarnationStarted(
        at=max(time.time(), found.state.last_at),
        incarnation=incarnation,
        epoch=max([found.state.epoch, *(one.epoch for one in known)]) + leap,
        first_seq=max([found.state.seq, *(one.seq for one in known)]) + 1,
        source=os.path.basename(source) or "what was intact",
    )
    row = seal(started, started.first_seq, incarnation, "import", found.head)
    fresh = path + ".fresh"
    _build(fresh, found, row)
    kept = _keep(directory)
    hub_id = known[0].hub_id if known else os.urandom(16).hex()
    # The mark first: should this be cut short now, the old journal is below it and nothing is granted from it.
    _set_mark(
        directory, Mark(hub_id, incarnation, row.seq, started.epoch, row.hash.hex(), mark.turn + 1 if mark else 0)
    )
    for suffix in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(path + suffix)
    os.replace(fresh, path)
    sync_file(directory)
    return {"events": row.seq, "incarnation": incarnation, "kept": kept, "detail": found.damage}


def _read_source(directory: str, source: str) -> tuple[Intact, Mark | None]:
    try:
        with open(source, "rb") as file:
            start = file.read(16)
    except OSError as error:
        raise ArchiveError(f"cannot read {source}: {error.strerror}") from error
    if not start.startswith(b"SQLite format 3"):
        return _read_export(source)
    copy = os.path.join(directory, "journal.db.import")
    try:
        copy_synced(source, copy)
        with closing(open_reader(copy)) as connection:
            return _intact(connection), None
    except (StoreError, OSError) as error:
        raise ArchiveError(f"{source} cannot be read as a journal: {error}") from error
    finally:
        for suffix in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.unlink(copy + suffix)


def _read_export(source: str) -> tuple[Intact, Mark | None]:
    """Raises: ArchiveError, unless it is whole."""
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
        found = _follow(base, iter(rows))
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


def _intact(connection: sqlite3.Connection) -> Intact:
    """What holds together from the oldest base on, up to the first damage."""
    first = connection.execute("SELECT min(seq) FROM events").fetchone()[0]
    base = None
    if first != 1:
        whole = [snapshot for snapshot in reversed(read_snapshots(connection)) if snapshot.whole()]
        base = whole[0] if whole else None
    return _follow(base, read(connection, base.seq if base else 0))


def _follow(base: Snapshot | None, records: Iterator[Record]) -> Intact:
    """Replay ``records`` on ``base`` as far as they hold together."""
    state, head = (restore(base), base.head) if base else (State(), GENESIS)
    rows: list[Record] = []
    try:
        for record in checked(records, state.seq, head):
            state, head = apply(state, record.event()), record.hash
            rows.append(record)
    except (JournalBroken, UnknownEvent, StoreError) as error:
        return Intact(base, rows, state, head, str(error).partition(". Put")[0])
    return Intact(base, rows, state, head)


def _build(path: str, found: Intact, last: Record) -> None:
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(path + suffix)
    store = SqliteStore(path)
    if found.base:
        store.save_snapshot(found.base)
    store.append([*found.rows, last], durable=True)
    store.close()
    sync_file(path)


def _keep(directory: str) -> str:
    """Link everything that is there into a directory of its own; its name."""
    kept = os.path.join(directory, "kept", time.strftime("%Y%m%dT%H%M%S") + f"-{os.getpid()}")
    os.makedirs(kept, mode=0o700)
    for name in ("journal.db", "journal.db-wal", "journal.mark"):
        with suppress(FileNotFoundError):
            os.link(os.path.join(directory, name), os.path.join(kept, name))
    return kept


def _mark(directory: str) -> Mark | None:
    path = os.path.join(directory, "journal.mark")
    if not os.path.exists(path):
        return None
    file = MarkFile(path)
    try:
        return file.read()
    finally:
        file.close()


def _set_mark(directory: str, mark: Mark) -> None:
    """In a new file, since the old one is linked from what was kept."""
    draft = os.path.join(directory, "journal.mark.fresh")
    with suppress(FileNotFoundError):
        os.unlink(draft)
    file = MarkFile(draft)
    file.write(mark)
    file.close()
    os.replace(draft, os.path.join(directory, "journal.mark"))
