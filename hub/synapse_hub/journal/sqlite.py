"""Rows in one SQLite file, in WAL mode, written by one thread.

The hub's OS lock keeps a second hub out, so the locking mode stays NORMAL and readers may open their own connection.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing

from synapse_hub.journal.record import Record
from synapse_hub.journal.store import StoreError

FORMAT = 1
_PAGE_ROWS = 2000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS events (
    seq INTEGER PRIMARY KEY,
    incarnation INTEGER NOT NULL,
    batch TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    hash BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS probe (id INTEGER PRIMARY KEY CHECK (id = 1), count INTEGER NOT NULL);
"""
_INSERT = "INSERT INTO events (seq, incarnation, batch, kind, body, hash) VALUES (?, ?, ?, ?, ?, ?)"
_SELECT = "SELECT seq, incarnation, batch, kind, body, hash FROM events WHERE seq > ? ORDER BY seq LIMIT ?"


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
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"cannot open {path}: {error}") from error

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
        except sqlite3.Error as error:
            raise StoreError(f"writing {self.path}: {error}") from error

    def replay(self, after: int) -> Iterator[Record]:
        yield from read(self._connection, after)

    def probe(self) -> None:
        try:
            self._sync(durable=True)
            self._connection.execute("INSERT INTO probe VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET count = count + 1")
        except sqlite3.Error as error:
            raise StoreError(f"writing {self.path}: {error}") from error

    def close(self) -> None:
        try:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error:
            pass  # the WAL stays, and the next start reads it
        finally:
            self._connection.close()

    def abandon(self) -> None:
        """Let go after an error, without touching the file."""
        self._connection.close()


def read(connection: sqlite3.Connection, after: int, upto: int | None = None) -> Iterator[Record]:
    """Rows beyond ``after``, a page at a time, so that no long read keeps the WAL from being folded in.

    Raises:
        StoreError: the file is damaged.
    """
    while True:
        try:
            rows = connection.execute(_SELECT, (after, _PAGE_ROWS)).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"reading the journal: {error}") from error
        for seq, incarnation, batch, kind, body, digest in rows:
            if upto is not None and seq > upto:
                return
            yield Record(seq, incarnation, batch, kind, _as_bytes(body), bytes(digest))
        if len(rows) < _PAGE_ROWS:
            return
        after = rows[-1][0]


def _as_bytes(body: str | bytes) -> bytes:
    return body.encode() if isinstance(body, str) else body


def open_reader(path: str) -> sqlite3.Connection:
    """A read-only connection of one's own. Raises: StoreError."""
    try:
        return sqlite3.connect(f"file:{_quoted(path)}?mode=ro", uri=True, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise StoreError(f"cannot read {path}: {error}") from error


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
    except sqlite3.Error as error:
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
