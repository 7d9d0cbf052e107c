"""The write-ahead log of the hub: append, replay, and the judgement whether what is there may be granted from."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Sequence

import msgspec

from synapse_hub.core.events import AnyEvent
from synapse_hub.core.state import State, apply
from synapse_hub.journal.mark import Mark, MarkFile, keep_id
from synapse_hub.journal.record import GENESIS, Record, UnknownEvent, chain, seal
from synapse_hub.journal.snapshot import Snapshot, restore
from synapse_hub.journal.sqlite import SqliteStore, copy_synced, sync_file
from synapse_hub.journal.store import Damaged, Store, StoreError

REPAIR = (
    "Put the newest copy back (journal.db with its journal.db-wal), or start again from what is intact: "
    "synapse-git hub import"
)
# A snapshot is taken after so many events; so many of the newest rows are kept in any case.
SNAPSHOT_EVERY = 10_000
KEPT_EVENTS = 100_000
_FORGET_CHUNK = 1000


class JournalBroken(Exception):
    """What is on the disk must not be granted from. The text says what is wrong and how to go on."""


class Journal:
    """One directory's journal. All methods belong to the writer's thread, but for `sync_mark`."""

    def __init__(self, directory: str, open_store: Callable[[str], Store] = SqliteStore) -> None:
        """Open what is in ``directory``, or start it. Call `replay` before `append`.

        Raises:
            JournalBroken: it is older or other than the mark beside it says.
            StoreError: the file cannot be opened.
        """
        self.path = os.path.join(directory, "journal.db")
        self._open_store = open_store
        existed = os.path.exists(self.path) and os.path.getsize(self.path) > 0
        self._mark_file = MarkFile(os.path.join(directory, "journal.mark"))
        found = self._mark_file.read()
        if found and not existed:
            raise JournalBroken(f"{self.path} is gone, but {found.seq} events of it were acknowledged. {REPAIR}")
        try:
            self._store = open_store(self.path)
            unmarked = found is None and existed and next(self._store.replay(0), None) is not None
        except Damaged as error:
            raise JournalBroken(f"{error}. {REPAIR}") from error
        if unmarked:
            raise JournalBroken(
                f"{self.path} holds events, but journal.mark, which says how many were acknowledged, is gone. "
                f"Put it back from the same copy, or start again from what is intact: synapse-git hub import"
            )
        self._mark = found or Mark(uuid.uuid4().hex, 1, 0, 0, GENESIS.hex())
        if found is None:
            self._mark_file.write(self._mark)
            self._mark_file.sync()
            sync_file(directory)
        keep_id(directory, self._mark.hub_id)
        self._head = GENESIS
        self._seq = 0
        self._snapshot_seq = 0
        # Rows up to here are told by two snapshots.
        self._forgettable = 0

    @property
    def hub_id(self) -> str:
        return self._mark.hub_id

    @property
    def incarnation(self) -> int:
        return self._mark.incarnation

    @property
    def mark(self) -> Mark:
        """How far it is covered by a full sync."""
        return self._mark

    @property
    def synced_seq(self) -> int:
        """Up to here a full sync covers every event; nobody outside may see further."""
        return self._mark.seq

    def replay(self) -> State:
        """The state that the journal tells, every row checked. Spec: INV-RR-1.

        Raises:
            JournalBroken: a gap, a broken chain, an unknown event, or rows missing that were acknowledged.
        """
        state, self._head, self._seq = _replayed(self._store, self._mark)
        seqs = [snapshot.seq for snapshot in self._store.snapshots()]
        self._snapshot_seq = max(seqs, default=0)
        self._forgettable = min(seqs) if len(seqs) > 1 else 0
        return state

    def append(self, events: Sequence[AnyEvent], batch: str, epoch: int, *, durable: bool = True) -> None:
        """Commit ``events`` as one transaction; ``epoch``: the highest issued with them.

        Raises:
            StoreError: whether they are there is unknown until `recover`.
        """
        records: list[Record] = []
        head = self._head
        for event in events:
            record = seal(event, self._seq + len(records) + 1, self.incarnation, batch, head)
            head = record.hash
            records.append(record)
        self._store.append(records, durable=durable)
        self._head, self._seq = head, self._seq + len(records)
        if durable:
            self._advance(Mark(self.hub_id, self.incarnation, self._seq, epoch, head.hex(), self._mark.turn + 1))

    def _advance(self, mark: Mark) -> None:
        try:
            self._mark_file.write(mark)
        except OSError as error:
            raise StoreError(f"writing the mark beside {self.path}: {error}") from error
        self._mark = mark

    def sync(self) -> None:
        """Bring to the disk what was appended without. Raises: StoreError."""
        self._store.probe()
        mark = self._mark
        self._advance(Mark(self.hub_id, self.incarnation, self._seq, mark.epoch, self._head.hex(), mark.turn + 1))

    def sync_mark(self) -> None:
        """Bring the mark to the disk. Raises: OSError."""
        self._mark_file.sync()

    def probe(self) -> None:
        """Exercise the write path. Raises: StoreError."""
        self._store.probe()

    def recover(self, batch: str) -> tuple[State, bool]:
        """After a failed `append`: the state that the disk tells, and whether ``batch`` is in it.

        The rows are copied into a fresh file which is synced, replayed and put in the journal's place; the old file
        stays beside it as ``journal.db.suspect``.

        Raises:
            StoreError, OSError: not possible now; try again.
            JournalBroken: the rows do not hold together.
        """
        self._store.abandon()
        fresh = self.path + ".fresh"
        copy_synced(self.path, fresh)
        checked = self._open_store(fresh)
        state, head, seq = _replayed(checked, self._mark)
        committed = _has_batch(checked, batch, self._mark.seq)
        checked.close()
        _swap(fresh, self.path)
        self._store = self._open_store(self.path)
        self._head, self._seq = head, seq
        self._advance(Mark(self.hub_id, self.incarnation, seq, state.epoch, head.hex(), self._mark.turn + 1))
        self._mark_file.sync()
        return state, committed

    def snapshot_due(self) -> bool:
        """Have enough events come since the last one?"""
        return self._seq - self._snapshot_seq >= SNAPSHOT_EVERY

    @property
    def head(self) -> bytes:
        """The hash of the last row."""
        return self._head

    def keep(self, snapshot: Snapshot) -> None:
        """Store ``snapshot``; from then on what is old enough may be forgotten. Raises: StoreError."""
        self._store.save_snapshot(snapshot)
        self._forgettable, self._snapshot_seq = self._snapshot_seq, snapshot.seq

    def tidy(self) -> bool:
        """Forget some of the oldest rows, if there is cause; whether there is more to do. Raises: StoreError."""
        upto = min(self._forgettable, self._seq - KEPT_EVENTS)
        return upto > 0 and self._store.forget(upto, _FORGET_CHUNK) == _FORGET_CHUNK

    def close(self) -> None:
        self._store.close()
        self._mark_file.close()


def _swap(fresh: str, path: str) -> None:
    """Put ``fresh`` in the place of ``path``, whose files stay as ``….suspect``."""
    for suffix in ("-wal", "-shm"):
        if os.path.exists(path + suffix):
            os.replace(path + suffix, f"{path}.suspect{suffix}")
    suspect = path + ".suspect"
    if os.path.exists(suspect):
        os.unlink(suspect)
    os.link(path, suspect)
    os.replace(fresh, path)
    sync_file(os.path.dirname(path))


def _has_batch(store: Store, batch: str, after: int) -> bool:
    return any(record.batch == batch for record in store.replay(after))


def _replayed(store: Store, mark: Mark) -> tuple[State, bytes, int]:
    """State, last hash and last seq. Raises: JournalBroken."""
    try:
        state, head = _start(store.snapshots(), mark)
        for record in checked(store.replay(state.seq), state.seq, head, mark):
            state, head = apply(state, record.event()), record.hash
    except (UnknownEvent, StoreError) as error:
        raise JournalBroken(f"the journal cannot be replayed: {error}. {REPAIR}") from error
    if state.seq < mark.seq or state.epoch < mark.epoch:
        raise JournalBroken(
            f"the journal ends at event {state.seq} (epoch {state.epoch}), but {mark.seq} (epoch {mark.epoch}) was "
            f"acknowledged: it lost its end or is an older copy. {REPAIR}"
        )
    return state, head, state.seq


def _start(snapshots: Sequence[Snapshot], mark: Mark) -> tuple[State, bytes]:
    """The newest snapshot that is whole, and its hash; else the beginning."""
    for snapshot in snapshots:
        if not snapshot.whole() or (snapshot.seq == mark.seq and snapshot.head.hex() != mark.head):
            continue
        try:
            return restore(snapshot), snapshot.head
        except msgspec.MsgspecError:
            continue
    return State(), GENESIS


def checked(records: Iterator[Record], seq: int, head: bytes, mark: Mark | None = None) -> Iterator[Record]:
    """The records after ``seq``, whose hash is ``head``, found in unbroken order and chain. Raises: JournalBroken."""
    for record in records:
        if record.seq != seq + 1 and record.kind != "incarnation_started":
            raise JournalBroken(f"the journal has a gap: event {seq + 1} is missing. {REPAIR}")
        digest = chain(head, record.seq, record.incarnation, record.batch, record.kind, record.body)
        if digest != record.hash:
            raise JournalBroken(f"event {record.seq} of the journal was altered. {REPAIR}")
        if mark and record.seq == mark.seq and digest.hex() != mark.head:
            raise JournalBroken(f"event {record.seq} is not the one that was acknowledged: another journal. {REPAIR}")
        yield record
        seq, head = record.seq, digest
