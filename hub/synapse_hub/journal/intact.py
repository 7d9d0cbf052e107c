"""What of a journal holds together, damaged or not, and the mark beside it: read only."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator

import msgspec

from synapse_hub.core.state import State, apply
from synapse_hub.journal.journal import JournalBroken, checked
from synapse_hub.journal.mark import Mark, MarkFile
from synapse_hub.journal.record import GENESIS, Record, UnknownEvent
from synapse_hub.journal.snapshot import Snapshot, restore
from synapse_hub.journal.sqlite import first_seq, read, read_snapshots
from synapse_hub.journal.store import StoreError


class Intact(msgspec.Struct, frozen=True):
    """What holds together of a journal: a base, the rows after it, and where they lead."""

    base: Snapshot | None
    rows: list[Record]
    state: State
    head: bytes
    damage: str = ""


def intact(connection: sqlite3.Connection) -> Intact:
    """What holds together from the oldest base on, up to the first damage. Raises: StoreError."""
    whole = _whole(connection) if first_seq(connection) != 1 else []
    base = whole[-1] if whole else None
    return follow(base, read(connection, base.seq if base else 0))


def salvage(connection: sqlite3.Connection) -> Intact:
    """What reaches furthest: from the oldest base on, or from a snapshot behind the damage."""
    try:
        first = intact(connection)
    except StoreError as error:
        first = Intact(None, [], State(), GENESIS, str(error))
    if not first.damage:
        return first
    try:
        bases = _whole(connection)
    except StoreError:
        bases = []
    best = max((first, *(follow(base, read(connection, base.seq)) for base in bases)), key=lambda one: one.state.seq)
    return msgspec.structs.replace(best, damage=best.damage or first.damage)


def _whole(connection: sqlite3.Connection) -> list[Snapshot]:
    """The newest first. Raises: StoreError."""
    return [snapshot for snapshot in read_snapshots(connection) if snapshot.whole()]


def follow(base: Snapshot | None, records: Iterator[Record]) -> Intact:
    """Replay ``records`` on ``base`` as far as they hold together."""
    try:
        state, head = (restore(base), base.head) if base else (State(), GENESIS)
    except msgspec.MsgspecError as error:
        return Intact(None, [], State(), GENESIS, f"a snapshot cannot be read: {error}")
    rows: list[Record] = []
    try:
        for record in checked(records, state.seq, head):
            state, head = apply(state, record.event()), record.hash
            rows.append(record)
    except (JournalBroken, UnknownEvent, StoreError) as error:
        return Intact(base, rows, state, head, str(error).partition(". Put")[0])
    return Intact(base, rows, state, head)


def mark_of(directory: str) -> Mark | None:
    """The mark in ``directory``, or None."""
    path = os.path.join(directory, "journal.mark")
    if not os.path.exists(path):
        return None
    file = MarkFile(path)
    try:
        return file.read()
    finally:
        file.close()
