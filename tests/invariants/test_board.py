"""Notes and offers: listed, bounded, gone in time, the same after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from synapse_git.constants import NOTE_RETENTION_SECONDS
from synapse_hub.core import board
from synapse_hub.core.commands.talk import AddNote, OfferResource
from synapse_hub.core.state import State
from synapse_hub.journal.journal import Journal
from synapse_hub.journal.snapshot import capture, restore
from tests.hub.desk import FakeClock, running


def note(text: str, agent: str = "ana", task_id: str = "t1") -> AddNote:
    return AddNote(agent=agent, namespace="", task_id=task_id, text=text)


def give(name: str, agent: str = "ana", ttl_s: float = 300.0, note: str = "") -> OfferResource:
    return OfferResource(agent=agent, namespace="", name=name, note=note, ttl_s=ttl_s)


def told(state: State) -> list[str]:
    return [one.added.text for one in state.board.notes]


def again(directory: Path, live: State) -> tuple[State, ...]:
    """The state as it was, as a replay and as a snapshot tell it."""
    journal = Journal(str(directory))
    replayed = journal.replay()
    journal.close()
    return live, replayed, restore(capture(live, b""))


def test_inv_rr_2_notes_are_bounded_by_task_agent_and_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest go, and no restart brings them back."""
    for name, most in (("MAX_TASK_NOTES", 3), ("MAX_AGENT_NOTES", 5), ("MAX_NOTES", 7)):
        monkeypatch.setattr(board, name, most)
    with running(tmp_path) as rig:
        for number in range(5):
            rig.answer(note(f"t1 {number}", f"a{number}"))
        assert told(rig.hub.state) == ["t1 2", "t1 3", "t1 4"]
        for number in range(9):
            rig.answer(note(f"none {number}", "ben", ""))
        live = rig.hub.state
    expected = ["t1 3", "t1 4", *(f"none {number}" for number in range(4, 9))]
    assert [told(state) for state in again(tmp_path, live)] == [expected] * 3
    assert len({str(state.board) for state in again(tmp_path, live)}) == 1


def test_a_note_that_is_said_twice_in_a_row_is_one(tmp_path: Path) -> None:
    """By the same agent on the same task; so a retry makes no second, and a loop no flood."""
    with running(tmp_path) as rig:
        first = rig.answer(note("half"))
        rig.clock.at += 5
        assert rig.answer(note("half")) == first
        rig.answer(note("half", "ben"))
        rig.answer(note("half", task_id="t2"))
        rig.answer(note("half"))
        assert told(rig.hub.state) == ["half"] * 4


def test_inv_rr_2_notes_are_kept_for_a_month(tmp_path: Path) -> None:
    """Then they make room when the next one comes."""
    with running(tmp_path) as rig:
        rig.answer(note("old"))
        rig.clock.at += NOTE_RETENTION_SECONDS
        rig.answer(note("new"))
        assert told(rig.hub.state) == ["new"]


def test_inv_rr_2_offers_end_and_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Offered again one lasts from then on; at its end, to the instant, it is not listed."""
    monkeypatch.setattr(board, "MAX_RESOURCES", 3)
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        rig.answer(give("db"))
        clock.at += 200
        assert rig.answer(give("db", note="moved"))["expires_at"] == clock.at + 300
        rig.answer(give("db", "ben", ttl_s=100.0))
        clock.at += 100
        assert [(one.agent, one.note) for one in rig.hub.state.board.open_offers(clock.at)] == [("ana", "moved")]
        for number in range(5):
            rig.answer(give(f"r{number}"))
        live = rig.hub.state
    for state in again(tmp_path, live):
        assert [one.name for one in state.board.offers] == ["r2", "r3", "r4"]


def test_the_board_grants_nothing(tmp_path: Path) -> None:
    """Neither a note nor an offer touches a lease."""
    with running(tmp_path) as rig:
        rig.answer(note("x"))
        rig.answer(give("y"))
        assert not rig.hub.state.claims and rig.hub.state.epoch == 0
