"""Guards that no other test would miss, each on the smallest case in which it counts."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from synapse_git import scope
from synapse_git.constants import MAX_CLAIMS_PER_AGENT, MAX_DECLARED_PATHS
from synapse_hub import clock as clock_module
from synapse_hub.core.claim import TreeKey
from synapse_hub.core.commands.claims import ExpireDue, HandOff, Heartbeat, SaveCheckpoint
from synapse_hub.core.commands.guard import RecordDenial
from synapse_hub.core.decide import decide
from synapse_hub.core.events.claims import LeaseExtended
from synapse_hub.core.guard import Question, Verdict
from synapse_hub.core.outcome import Refusal
from synapse_hub.core.state import State, apply, apply_all
from synapse_hub.expiry import DueLeases
from synapse_hub.hub import Hub
from synapse_hub.journal import archive, journal
from synapse_hub.journal.journal import Journal, JournalBroken, checked
from synapse_hub.journal.mark import MarkFile
from synapse_hub.journal.record import GENESIS, chain, seal
from synapse_hub.journal.restart import restart
from synapse_hub.journal.snapshot import capture, restore
from synapse_hub.waiting import Patience, WaitingRoom
from tests.hub.desk import FakeClock, give, keyed, running, take
from tests.invariants.test_journal import FailingStore, wait_until_granting

TASK: dict[str, Any] = {"agent": "ana", "namespace": "", "task_id": "t1"}


def after(state: State, command: Any, now: float) -> State:
    return apply_all(state, decide(state, command, now).events)


def kinds(state: State, command: Any, now: float) -> list[str]:
    return [type(event).__name__ for event in decide(state, command, now).events]


def test_a_composed_accent_is_the_same_letter() -> None:
    """As macOS has it."""
    assert scope.fold("e\u0301", case=False, compose=True) == "\u00e9" == scope.fold("E\u0301", case=True, compose=True)


def test_inv_me_5_a_renewal_by_another_principal_is_charged_to_it(tmp_path: Path) -> None:
    """Free is only what the principal pays for already."""
    with running(tmp_path) as rig:
        for number in range(MAX_CLAIMS_PER_AGENT):
            rig.answer(take(f"b{number}", "ben", (f"b{number}",), principal="uid:2"))
        rig.answer(take("t1"))
        assert rig.reason(take("t1", principal="uid:2")) == "QUOTA_EXCEEDED"


def test_inv_cr_3_a_takeover_resumes_from_a_lease_that_is_over_but_not_swept() -> None:
    """The checkpoint is handed on, and the expiry is written down before the grant."""
    state = after(State(), take("t1", ttl_s=30.0), 0.0)
    state = after(state, SaveCheckpoint(**TASK, data="half"), 1.0)
    assert kinds(state, take("t1", "ben", ("elsewhere",)), 30.0) == ["LeaseExpired", "ClaimGranted", "MessageSent"]
    assert after(state, take("t1", "ben"), 30.0).claims["", "t1"].checkpoint == "half"


def test_widening_stops_at_the_limit() -> None:
    """Neither half is over it, both together are."""
    half = MAX_DECLARED_PATHS // 2 + 1
    state = after(State(), take("t1", paths=tuple(f"a{number}" for number in range(half))), 0.0)
    outcome = decide(state, take("t1", paths=tuple(f"b{number}" for number in range(half)), add=True), 1.0)
    assert isinstance(outcome, Refusal) and outcome.reason == "INVALID_SCOPE"


def test_inv_ef_2_an_epoch_to_come_is_as_stale_as_one_that_was() -> None:
    """Only the current one counts."""
    state = after(State(), take("t1"), 0.0)
    for epoch in (0, 2):
        outcome = decide(state, give("t1", "ana", epoch), 1.0)
        assert isinstance(outcome, Refusal) and outcome.reason == "STALE_EPOCH"


def test_inv_cr_2_a_handoff_starts_the_lease_anew() -> None:
    """Its recipient gets the whole length."""
    state = after(after(State(), take("t1", ttl_s=100.0), 0.0), HandOff(**TASK, to="ben"), 60.0)
    assert state.claims["", "t1"].lease_expires_at == 160.0


def test_a_heartbeat_moves_the_end() -> None:
    """And says so in the same answer."""
    state = after(after(State(), take("t1", ttl_s=100.0), 0.0), Heartbeat(agent="ana"), 60.0)
    assert state.claims["", "t1"].lease_expires_at == 160.0


def test_inv_ll_4_a_renewal_frees_the_paths_it_leaves() -> None:
    """The same owner and tree, other paths."""
    state = after(after(State(), take("t1", paths=("a",)), 0.0), take("t1", paths=("b",)), 1.0)
    assert kinds(state, take("t2", "ben", ("a",)), 2.0) == ["ClaimGranted"]
    assert kinds(state, take("t2", "ben", ("b",)), 2.0) == ["ClaimDenied", "MessageSent"]


def test_inv_cr_1_a_key_outlives_the_next_one(tmp_path: Path) -> None:
    """For a day, whatever else is asked meanwhile."""
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        rig.answer(keyed(take("t1"), key="first"))
        clock.at += 86_399
        rig.answer(keyed(take("t2", paths=("docs",)), key="second"))
        assert rig.answer(keyed(take("t1"), key="first"))["replayed"] is True


def test_a_change_in_anothers_scope_is_refused_and_put_on_record_once() -> None:
    """Not warned of, and not written down again within the minute."""
    state = after(State(), take("t1"), 0.0)
    verdict = Verdict(state, Question("ben", "", "wt:1", "commit"), 1.0)
    verdict.judge(["src/a"])
    assert verdict.word == "refuse"
    denial: RecordDenial = verdict.evidence()
    assert kinds(state, denial, 1.0) == ["GuardDenied", "MessageSent"]
    assert kinds(after(state, denial, 1.0), denial, 2.0) == []


def test_inv_ll_1_the_hubs_clock_never_goes_back(tmp_path: Path) -> None:
    """What was decided is not younger than what is decided next."""
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        first = rig.hub.transact(take("t1")).now
        clock.at -= 100
        assert rig.hub.transact(take("t2", paths=("docs",))).now == first == rig.hub.now()


def test_a_grant_is_told_before_it_is_answered(tmp_path: Path) -> None:
    """So that a hook which judged before the grant judges again."""
    told: list[Sequence[TreeKey]] = []
    log = Journal(str(tmp_path))
    hub = Hub(log, FakeClock(), state=log.replay(), on_grant=told.append)
    hub.start()
    hub.transact(take("t1"))
    assert told == [[("", "wt:1")]]
    hub.transact(give("t1"))
    hub.stop()
    assert len(told) == 1


def test_only_what_time_may_heal_waits() -> None:
    """A scope that is no scope is none later either."""
    room = WaitingRoom()
    patience = Patience(100.0, lambda: True)
    refusal = Refusal("INVALID_SCOPE", "no paths")
    assert room.admit(1, "ana", patience, refusal, 0.0) is refusal and len(room) == 0
    assert room.admit(1, "ana", patience, Refusal("LEASE_LIVE", "held"), 0.0) is None


def test_inv_ll_2_an_extended_lease_is_swept_at_its_new_end_and_not_before() -> None:
    """The entry of its first end is taken up, and put back."""
    state = after(State(), take("t1", ttl_s=100.0), 0.0)
    due = DueLeases(state)
    state = apply(state, LeaseExtended(at=60.0, namespace="", task_id="t1", lease_expires_at=160.0))
    assert due.take(state, 100.0, 9) == [] and due.next_at() == 160.0
    assert due.take(state, 160.0, 9) == [("", "t1")] and due.next_at() is None


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the monotonic clock counts sleep")
def test_the_clock_underneath_counts_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """CLOCK_MONOTONIC stands still while the machine is suspended."""
    asked: list[int] = []

    def gettime(number: int) -> float:
        asked.append(number)
        return 1.0

    monkeypatch.setattr(time, "clock_gettime", gettime)
    clock_module.boot_seconds()
    assert asked == [time.CLOCK_BOOTTIME]


def granted(now: float = 0.0) -> Any:
    return decide(State(), take("t1"), now).events[0]


def test_a_gap_is_a_gap_even_where_the_chain_goes_on() -> None:
    """A row that was left out before it was chained."""
    first = seal(granted(), 1, 1, "b", GENESIS)
    third = seal(granted(), 3, 1, "b", first.hash)
    with pytest.raises(JournalBroken, match="event 2 is missing"):
        list(checked(iter([first, third]), 0, GENESIS))


def test_the_hash_of_a_row_holds_the_one_before() -> None:
    """Else rows could be exchanged."""
    assert chain(GENESIS, 1, 1, "b", "k", b"{}") != chain(b"\1" * 32, 1, 1, "b", "k", b"{}")


def test_another_hubs_journal_of_the_same_length_is_not_ours(tmp_path: Path) -> None:
    """The mark knows the hash of the last row."""
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        with running(tmp_path / name) as rig:
            rig.answer(take("t1", paths=(name,)))
    shutil.copy(tmp_path / "other/journal.db", tmp_path / "one/journal.db")
    with pytest.raises(JournalBroken, match="another journal"):
        replayed(tmp_path / "one")


def replayed(directory: Path) -> State:
    opened = Journal(str(directory))
    try:
        return opened.replay()
    finally:
        opened.close()


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """A directory with a journal of three events."""
    with running(tmp_path) as rig:
        for number in range(3):
            rig.answer(take(f"t{number}", paths=(f"d{number}",)))
    return tmp_path


def test_a_journal_that_is_gone_is_not_made_anew(three: Path) -> None:
    """Not even as an empty file, which the next look would take for a beginning."""
    os.unlink(three / "journal.db")
    with pytest.raises(JournalBroken, match="is gone"):
        Journal(str(three))
    assert not (three / "journal.db").exists()


def test_an_event_of_a_newer_version_is_said_to_be_one(three: Path) -> None:
    """Well chained, but not understood."""
    with closing(sqlite3.connect(three / "journal.db")) as connection, connection:
        last = connection.execute("SELECT hash FROM events WHERE seq = 3").fetchone()[0]
        digest = chain(last, 4, 1, "b", "from_the_future", b"{}")
        connection.execute("INSERT INTO events VALUES (4, 1, 'b', 'from_the_future', '{}', ?)", (digest,))
    with pytest.raises(JournalBroken, match="cannot be replayed"):
        replayed(three)


def test_a_torn_slot_of_the_mark_is_no_mark(three: Path) -> None:
    """A digit of its seq differs; the checksum tells."""
    path = three / "journal.mark"
    marks = MarkFile(str(path))
    newest = marks.read()
    assert newest is not None
    marks.write(msgspec.structs.replace(newest, turn=newest.turn + 1))
    raw = path.read_bytes()
    start = 512 * ((newest.turn + 1) % 2)
    path.write_bytes(raw[:start] + raw[start : start + 512].replace(b'"seq":3', b'"seq":9') + raw[start + 512 :])
    assert marks.read() == newest
    marks.close()


def test_one_snapshot_alone_lets_nothing_be_forgotten(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were it damaged, the rows before it are all there is."""
    monkeypatch.setattr(journal, "KEPT_EVENTS", 0)
    opened = Journal(str(three))
    state = opened.replay()
    opened.keep(capture(state, opened.head))
    assert not opened.tidy()
    assert len(list(opened._store.replay(0))) == 3
    opened.keep(capture(state, opened.head))
    opened.close()


def test_inv_ef_1_a_snapshot_without_claims_keeps_the_epoch() -> None:
    """It stands nowhere else then."""
    state = after(after(State(), take("t1"), 0.0), give("t1"), 1.0)
    assert restore(capture(state, b"")).epoch == state.epoch == 1


def test_inv_ef_1_without_mark_and_tail_an_import_goes_far_above(three: Path) -> None:
    """Nobody knows which epochs were issued, so many are passed over."""
    os.unlink(three / "journal.mark")
    with closing(sqlite3.connect(three / "journal.db")) as connection, connection:
        connection.execute("DELETE FROM events WHERE seq > 1")
    restart(str(three), "")
    with running(three) as rig:
        assert rig.answer(take("new", paths=("x",)))["epoch"] > 1000


def test_an_export_whose_head_was_altered_is_not_imported(three: Path) -> None:
    """The rows hold together; what is said of them does not."""
    archive.export(str(three), str(three / "out"))
    whole = (three / "out").read_bytes()
    bad = whole.replace(b'"epoch":3', b'"epoch":1', 1)
    assert bad != whole
    (three / "bad").write_bytes(bad)
    with pytest.raises(archive.ArchiveError, match="altered"):
        restart(str(three), str(three / "bad"))


def test_a_failed_append_wakes_those_who_wait(tmp_path: Path) -> None:
    """What the disk tells after a recovery may have freed what they wait for."""
    with running(tmp_path, open_store=FailingStore) as rig:
        rig.answer(take("t1"))
        got: list[Any] = []
        rig.hub.submit(take("t2", "ben"), got.append, Patience(rig.clock.at + 1000, lambda: True))
        rig.do(ExpireDue(tasks=()))
        FailingStore.fail = "after"
        assert rig.reason(give("t1")) == "JOURNAL_UNAVAILABLE"
        rig.answer(wait_until_granting(rig.hub))
        rig.do(ExpireDue(tasks=()))
        rig.do(ExpireDue(tasks=()))
        assert got and got[0].outcome.answer["owner"] == "ben"


def test_a_bug_in_the_writer_ends_the_hub_instead_of_leaving_everyone_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever put it together is told, and lets the process end."""
    told = threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    log = Journal(str(tmp_path))
    hub = Hub(log, FakeClock(), state=log.replay(), on_bug=told.set)
    hub.start()
    hub.submit(SaveCheckpoint(**TASK, data=object()), lambda _: None)
    hub.submit(None, lambda _: None)  # type: ignore[arg-type]  # a bug is what is tried
    assert told.wait(10)
    hub._writer.join(10)
    log.close()


def test_inv_ll_1_a_claim_of_ones_own_that_is_over_covers_nothing() -> None:
    """At the instant of its expiry a path is unclaimed again, also for whoever held it."""
    state = after(State(), take(ttl_s=60.0), 0.0)
    for now, unclaimed in ((59.9, 0), (60.0, 1)):
        verdict = Verdict(state, Question("ana", "", "wt:1", "commit", "refuse"), now)
        verdict.judge(["src/a.py"])
        assert (verdict.unclaimed_total, len(verdict.to_extend())) == (unclaimed, 0 if unclaimed else 1)
