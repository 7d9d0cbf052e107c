"""Rows in one SQLite file, in WAL mode, written by one thread.

The hub's OS lock keeps a second hub out, so the locking mode stays NORMAL and readers may open their own connection.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from typing import Any

from synapse_hub.core.events import AUDIT_KINDS
from synapse_hub.journal.record import Record
from synapse_hub.journal.snapshot import Snapshot
from synapse_hub.journal.store import Damaged, StoreError

FORMAT = 1
# The message of an error may quote a damaged name, which Python then cannot decode.
SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
# How many snapshots stand at a time: the newest, and one to fall back on.
KEPT_SNAPSHOTS = 2
# How much evidence outlives the rows it stood among.
MAX_HISTORY_ROWS = 200_000
_PAGE_ROWS = 2000
_COLUMNS = "seq, incarnation, batch, kind, body, hash"
_ROW = """(seq INTEGER PRIMARY KEY, incarnation INTEGER NOT NULL, batch TEXT NOT NULL, kind TEXT NOT NULL,
    body TEXT NOT NULL, hash BLOB NOT NULL)"""
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS events {_ROW};
CREATE TABLE IF NOT EXISTS history {_ROW};
CREATE TABLE IF NOT EXISTS snapshots (seq INTEGER PRIMARY KEY, head BLOB NOT NULL, digest BLOB NOT NULL,
    body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS probe (id INTEGER PRIMARY KEY CHECK (id = 1), count INTEGER NOT NULL);
"""
_ROW_TYPES = (int, int, str, str, str, bytes)
_SNAPSHOT_TYPES = (int, bytes, bytes, str)
_INSERT = f"INSERT INTO events ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"  # noqa: S608 - no input in it
_PAGE = f"SELECT {_COLUMNS} FROM events WHERE seq > ? ORDER BY seq LIMIT ?"  # noqa: S608 - as above
_PAGE_WITH_HISTORY = f"""SELECT {_COLUMNS} FROM (
    SELECT * FROM (SELECT {_COLUMNS} FROM history WHERE seq > ?1 ORDER BY seq LIMIT ?2)
    UNION ALL SELECT * FROM (SELECT {_COLUMNS} FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2)
) ORDER BY seq LIMIT ?2"""  # noqa: S608 - as above


class SqliteStore:
    """Implements `store.Store`. Use it from one thread at a time."""

    def __init__(self, path: str) -> None:
        """Open or make the file, 0600. Raises: StoreError."""
        self.path = path
        self._durable: bool | None = None
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=1)
            self._prepare()
        except (OSError, *SQLITE_ERRORS) as error:
            raise _failure(f"cannot open {path}", error) from error

    def _prepare(self) -> None:
        run = self._connection.execute
        mode = run("PRAGMA journal_mode=WAL").fetchone()[0]
        if mode != "wal":
            raise StoreError(f"{self.path}: this file system does not allow WAL mode (got {mode})")
        # On macOS fsync does not reach the platter; SQLite then uses F_FULLFSYNC.
        run("PRAGMA fullfsync=ON")
        run("PRAGMA checkpoint_fullfsync=ON")
        found = run("PRAGMA user_version").fetchone()[0]
        if found not in (0, FORMAT):
            raise StoreError(f"{self.path} has format {found}, this version reads {FORMAT}. Update synapse-git")
        if found == 0:
            self._sync(durable=True)
            self._connection.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version={FORMAT}; COMMIT")

    def _sync(self, *, durable: bool) -> None:
        if durable is not self._durable:
            self._connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            self._durable = durable

    def append(self, records: Sequence[Record], *, durable: bool) -> None:
        rows = [(r.seq, r.incarnation, r.batch, r.kind, r.body.decode(), r.hash) for r in records]
        try:
            self._sync(durable=durable)
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(_INSERT, rows)
            self._connection.execute("COMMIT")
        except SQLITE_ERRORS as error:
            raise StoreError(f"writing {self.path}: {error}") from error

    def replay(self, after: int) -> Iterator[Record]:
        yield from read(self._connection, after)

    def save_snapshot(self, snapshot: Snapshot) -> None:
        row = (snapshot.seq, snapshot.head, snapshot.digest, snapshot.body.decode())
        try:
            self._sync(durable=True)
            with _transaction(self._connection):
                self._connection.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?)", row)
                self._connection.execute(
                    "DELETE FROM snapshots WHERE seq NOT IN (SELECT seq FROM snapshots ORDER BY seq DESC LIMIT ?)",
                    (KEPT_SNAPSHOTS,),
                )
        except SQLITE_ERRORS as error:
            raise StoreError(f"writing {self.path}: {error}") from error

    def snapshots(self) -> list[Snapshot]:
        return read_snapshots(self._connection)

    def forget(self, upto: int, most: int) -> int:
        marks = ", ".join("?" * len(AUDIT_KINDS))
        try:
            first = self._connection.execute("SELECT min(seq) FROM events").fetchone()[0]
            if first is None or first > upto:
                return 0
            last = min(upto, first + most - 1)
            self._sync(durable=True)
            with _transaction(self._connection):
                run = self._connection.execute
                run(
                    f"INSERT OR IGNORE INTO history SELECT {_COLUMNS} FROM events "  # noqa: S608 - as above
                    f"WHERE seq <= ? AND kind IN ({marks})",
                    (last, *AUDIT_KINDS),
                )
                gone = run("DELETE FROM events WHERE seq <= ?", (last,)).rowcount
                run(
                    "DELETE FROM history WHERE seq <= (SELECT seq FROM history ORDER BY seq DESC LIMIT 1 OFFSET ?)",
                    (MAX_HISTORY_ROWS,),
                )
        except SQLITE_ERRORS as error:
            raise StoreError(f"writing {self.path}: {error}") from error
        return int(gone)

    def probe(self) -> None:
        try:
            self._sync(durable=True)
            self._connection.execute("INSERT INTO probe VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET count = count + 1")
        except SQLITE_ERRORS as error:
            raise StoreError(f"writing {self.path}: {error}") from error

    def close(self) -> None:
        try:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except SQLITE_ERRORS:
            pass  # the WAL stays, and the next start reads it
        finally:
            self._connection.close()

    def abandon(self) -> None:
        self._connection.close()


class _transaction:  # noqa: N801 - reads as a statement
    """``BEGIN IMMEDIATE`` … ``COMMIT``, or ``ROLLBACK``."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, *_: object) -> None:
        self._connection.execute("COMMIT" if kind is None else "ROLLBACK")


def read(
    connection: sqlite3.Connection, after: int, upto: int | None = None, *, history: bool = False
) -> Iterator[Record]:
    """Rows beyond ``after``, a page at a time, so that no long read keeps the WAL from being folded in.

    What stands before a damage comes before the error.

    ``history``: with the evidence that outlived compaction.

    Raises:
        StoreError: the file is damaged.
    """
    page = _PAGE_WITH_HISTORY if history else _PAGE
    while True:
        rows, broken = _fetched(connection, page, after)
        for row in rows:
            if not _typed(row, _ROW_TYPES):
                raise Damaged(f"row {row[0]} of the journal is damaged")
            seq, incarnation, batch, kind, body, digest = row
            if upto is not None and seq > upto:
                return
            yield Record(seq, incarnation, batch, kind, body.encode(), digest)
        if broken:
            raise _failure("reading the journal", broken) from broken
        if len(rows) < _PAGE_ROWS:
            return
        after = rows[-1][0]


def _fetched(connection: sqlite3.Connection, query: str, after: int) -> tuple[list[tuple[Any, ...]], Exception | None]:
    """The rows of one page, and what went wrong behind them."""
    rows: list[tuple[Any, ...]] = []
    try:
        rows.extend(connection.execute(query, (after, _PAGE_ROWS)))
    except SQLITE_ERRORS as error:
        return rows, error
    return rows, None


def first_seq(connection: sqlite3.Connection) -> int | None:
    """Of the oldest row that was not compacted, None where there is none. Raises: StoreError."""
    try:
        found: int | None = connection.execute("SELECT min(seq) FROM events").fetchone()[0]
    except SQLITE_ERRORS as error:
        raise _failure("reading the journal", error) from error
    return found


def read_snapshots(connection: sqlite3.Connection) -> list[Snapshot]:
    """Those that can be read, the newest first. Raises: StoreError, where not even their numbers can."""
    try:
        seqs = [row[0] for row in connection.execute("SELECT seq FROM snapshots ORDER BY seq DESC")]
    except SQLITE_ERRORS as error:
        raise _failure("reading the journal", error) from error
    rows: list[tuple[Any, ...]] = []
    for seq in seqs:
        with suppress(*SQLITE_ERRORS):
            rows += connection.execute("SELECT seq, head, digest, body FROM snapshots WHERE seq = ?", (seq,))
    return [
        Snapshot(seq, head, digest, body.encode())
        for seq, head, digest, body in (row for row in rows if _typed(row, _SNAPSHOT_TYPES))
    ]


def _typed(row: tuple[Any, ...], types: tuple[type, ...]) -> bool:
    """SQLite keeps a type beside each value, and a flipped bit may change it."""
    return tuple(map(type, row)) == types


def _failure(what: str, error: Exception) -> StoreError:
    """What is locked, full or out of reach may come back; what SQLite does not take for its own will not."""
    passing = isinstance(error, OSError | sqlite3.OperationalError)
    return (StoreError if passing else Damaged)(f"{what}: {error}")


def open_reader(path: str) -> sqlite3.Connection:
    """A read-only connection of one's own. Raises: StoreError."""
    try:
        return sqlite3.connect(f"file:{_quoted(path)}?mode=ro", uri=True, isolation_level=None, check_same_thread=False)
    except SQLITE_ERRORS as error:
        raise StoreError(f"cannot read {path}: {error}") from error


def hash_of(connection: sqlite3.Connection, seq: int) -> bytes:
    """Of the row ``seq``; empty where it is not there any more. Raises: sqlite3.Error."""
    found = connection.execute("SELECT hash FROM events WHERE seq = ?", (seq,)).fetchone()
    return bytes(found[0]) if found else b""


def _quoted(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def copy_synced(source: str, target: str) -> None:
    """All committed rows of ``source`` in a fresh file that is on the disk when this returns.

    After a failed sync the page cache may hold what the disk does not, and a second sync reports success: only
    writing everything anew makes sure. Raises: StoreError, OSError.
    """
    for leftover in (target, target + "-wal", target + "-shm"):
        if os.path.lexists(leftover):
            os.unlink(leftover)
    try:
        with closing(sqlite3.connect(source, isolation_level=None)) as old:
            with closing(sqlite3.connect(target, isolation_level=None)) as new:
                old.backup(new)
    except SQLITE_ERRORS as error:
        raise StoreError(f"copying {source}: {error}") from error
    os.chmod(target, 0o600)
    sync_file(target)
    sync_file(os.path.dirname(target))


def sync_file(path: str) -> None:
    """fsync a file or directory by name."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
