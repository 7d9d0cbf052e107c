"""A year of use leaves a journal, tables and a replay that are no larger than a week's."""

from __future__ import annotations

import os
import queue
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from synapse_hub import hub
from synapse_hub.core import mail
from synapse_hub.core.commands import AnyCommand
from synapse_hub.core.commands.claims import ExpireDue, HandOff, SaveCheckpoint
from synapse_hub.core.commands.talk import AddNote, OfferResource, SendMessage
from synapse_hub.core.state import State
from synapse_hub.hub import Answered
from synapse_hub.journal import journal, sqlite
from synapse_hub.journal.journal import Journal
from tests.faults.scale import LONG, times
from tests.hub.desk import Rig, give, keyed, running, take

DAY = 86_400.0
TASKS_A_DAY = times(20, 400)
SCALE = 1 if LONG else 40
PATIENCE_S = 20.0


class Size(NamedTuple):
    """What a hub has grown to."""

    rows: int
    history: int
    file_bytes: int
    answers: int
    tables: int


@pytest.fixture(autouse=True)
def scaled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer rows are kept where fewer are written."""
    monkeypatch.setattr(journal, "SNAPSHOT_EVERY", journal.SNAPSHOT_EVERY // SCALE)
    monkeypatch.setattr(journal, "KEPT_EVENTS", journal.KEPT_EVENTS // SCALE)
    monkeypatch.setattr(hub, "_TIDY_PAUSE_S", 0.0005)
    monkeypatch.setattr(sqlite, "MAX_HISTORY_ROWS", sqlite.MAX_HISTORY_ROWS // SCALE // 2)


def day_of(number: int) -> Iterable[AnyCommand]:
    """Claims under keys, some handed on, some left to expire with their checkpoint, refusals; and talk about it."""
    for at in range(TASKS_A_DAY):
        task, agent = f"{number}-{at}", f"agent {number % 30}-{at % 7}"
        path = (f"d{at}/f",)
        yield keyed(take(task, agent, path, ttl_s=3600.0), key=f"c{task}")
        yield take(f"late-{at}", f"late {number}", path)
        if at % 3 == 0:
            yield keyed(SaveCheckpoint(agent=agent, namespace="", task_id=task, data={"day": number}), key=f"s{task}")
        elif at % 3 == 1:
            yield HandOff(agent=agent, namespace="", task_id=task, to=f"next {at}")
            yield keyed(give(task, f"next {at}"), key=f"r{task}")
        else:
            yield keyed(give(task, agent), key=f"r{task}")
        yield SendMessage(agent=agent, to=f"late {number}" if at % 2 else None, body="done soon")
        yield AddNote(agent=agent, namespace="", task_id=task, text="half done")
        yield OfferResource(agent=agent, namespace="", name=f"port {at}", note="", ttl_s=300.0)


def lived(rig: Rig, days: Iterable[int]) -> Size:
    """A day's requests come at once, and then the day passes."""
    for number in days:
        answers: queue.SimpleQueue[Answered] = queue.SimpleQueue()
        commands = list(day_of(number))
        for command in commands:
            rig.hub.submit(command, answers.put)
        for _ in commands:
            answers.get(timeout=60)
        rig.clock.at += DAY
        rig.do(ExpireDue(tasks=()))
        tidied(rig)
    return measured(rig)


def tidied(rig: Rig) -> None:
    """Give compaction the quiet moments that a day has."""
    deadline = time.monotonic() + PATIENCE_S
    while rig.hub._snapshots._under_way or rig.hub._snapshots.more:
        assert time.monotonic() < deadline
        time.sleep(0.0005)


def measured(rig: Rig) -> Size:
    with closing(sqlite3.connect(f"file:{rig.journal.path}?mode=ro", uri=True)) as connection:
        rows, history = (
            connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("events", "history")
        )
    state: State = rig.hub.state
    tables = len(state.denials) + len(state.checkpoints) + len(state.principals) + len(state.claims) + len(state.trees)
    return Size(rows, history, os.path.getsize(rig.journal.path), len(state.answers), tables)


def findings(directory: Path, days: int = 365) -> list[str]:
    """What has grown beyond its bounds in so many days, and what a restart costs then."""
    with running(directory) as rig:
        half = lived(rig, range(days // 2))
        whole = lived(rig, range(days // 2, days))
    # Only now: the sweep of the last day comes after the answer that was waited for.
    last = rig.hub.state
    found = []
    kept = journal.KEPT_EVENTS + 3 * journal.SNAPSHOT_EVERY
    if whole.rows > kept:
        found.append(f"{whole.rows} rows are kept, {kept} would do")
    if whole.history > sqlite.MAX_HISTORY_ROWS:
        found.append(f"{whole.history} rows of evidence are kept")
    if whole.file_bytes > 1.5 * half.file_bytes:
        found.append(f"the file grew from {half.file_bytes} to {whole.file_bytes} bytes in the second half")
    if whole.answers > 3 * TASKS_A_DAY:
        found.append(f"{whole.answers} keys are remembered, of {2 * TASKS_A_DAY} a day")
    if whole.tables > max(2 * half.tables, 30_000):
        found.append(f"tables grew from {half.tables} to {whole.tables} entries")
    return found + restarted(directory, last)


def restarted(directory: Path, last: State) -> list[str]:
    opened = Journal(str(directory))
    # Of the processor, since whatever else runs on the machine is not its fault.
    begun = time.process_time()
    state = opened.replay()
    took = time.process_time() - begun
    replayed = state.seq - opened._snapshot_seq
    opened.close()
    found = [] if state.claims == last.claims and state.epoch == last.epoch else ["a restart tells another state"]
    if (mail.image(state.mail), state.board) != (mail.image(last.mail), last.board):
        found.append("a restart tells other messages, notes or offers")
    if replayed > 2 * journal.SNAPSHOT_EVERY + 10 * TASKS_A_DAY or (LONG and took > 1.0):
        found.append(f"a restart replays {replayed} rows in {took:.1f} s")
    return found


def test_a_year_of_use_stays_bounded(tmp_path: Path) -> None:
    """Journal, evidence, key table and what a restart replays."""
    assert findings(tmp_path) == []


def test_a_hub_that_never_compacts_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows stay for ever."""
    monkeypatch.setattr(Journal, "tidy", lambda _: False)
    assert any("rows are kept" in found for found in findings(tmp_path, 150))
