"""Durability, replay and at-most-once on a real SQLite journal, by invariant."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from synapse_git.constants import IDEMPOTENCY_RETENTION_SECONDS
from synapse_hub.core.commands import ProbeJournal
from synapse_hub.core.commands.claims import ExpireDue
from synapse_hub.core.commands.guard import RecordDenial, RecordOverride
from synapse_hub.core.state import State
from synapse_hub.hub import Answered, Hub
from synapse_hub.journal.journal import Journal, JournalBroken
from synapse_hub.journal.record import Record
from synapse_hub.journal.sqlite import SqliteStore
from synapse_hub.journal.store import StoreError
from tests.hub.desk import FakeClock, give, keyed, running, take


class FailingStore(SqliteStore):
    """Raises at the next append: before the rows are written, or after they are committed."""

    fail = ""

    def append(self, records: Sequence[Record], *, durable: bool) -> None:
        how, FailingStore.fail = FailingStore.fail, ""
        if how == "after":
            super().append(records, durable=durable)
        if how:
            raise StoreError("injected")
        super().append(records, durable=durable)


class SlowStore(SqliteStore):
    """Waits in the middle of an append until it is let go."""

    entered = threading.Event()
    go_on = threading.Event()
    slow = False

    @classmethod
    def hold(cls) -> None:
        cls.slow = True
        cls.entered.clear()
        cls.go_on.clear()

    def append(self, records: Sequence[Record], *, durable: bool) -> None:
        if SlowStore.slow:
            self.entered.set()
            assert self.go_on.wait(10)
        super().append(records, durable=durable)


def test_inv_ja_1_nothing_is_visible_before_its_event_is_committed(tmp_path: Path) -> None:
    """While an append is in flight, readers see the state before it."""
    SlowStore.hold()
    with running(tmp_path, open_store=SlowStore) as rig:
        got: list[Answered] = []
        rig.hub.submit(take("t1"), got.append)
        assert SlowStore.entered.wait(10)
        assert not rig.hub.state.claims and not got
        SlowStore.slow = False
        SlowStore.go_on.set()
        rig.answer(ProbeJournal())
        assert rig.hub.state.claims and got


def test_inv_ja_2_a_failed_append_publishes_nothing_and_answers_unknown(tmp_path: Path) -> None:
    """503 JOURNAL_UNAVAILABLE, no grant, and after recovery the task is free."""
    with running(tmp_path, open_store=FailingStore) as rig:
        FailingStore.fail = "before"
        assert rig.reason(keyed(take("t1"))) == "JOURNAL_UNAVAILABLE"
        rig.answer(wait_until_granting(rig.hub))
        assert not rig.hub.state.claims
        assert rig.answer(take("t1", "ben"))["owner"] == "ben"


def test_inv_ja_2_a_commit_that_raised_but_happened_is_found_on_the_disk(tmp_path: Path) -> None:
    """The journal decides: the claim lives, and the retry under its key learns the first answer."""
    with running(tmp_path, open_store=FailingStore) as rig:
        FailingStore.fail = "after"
        assert rig.reason(keyed(take("t1"))) == "JOURNAL_UNAVAILABLE"
        rig.answer(wait_until_granting(rig.hub))
        assert rig.hub.state.claims["", "t1"].owner == "ana"
        assert rig.answer(keyed(take("t1")))["replayed"] is True
        assert rig.reason(take("t1", "ben")) == "LEASE_LIVE"
    assert (tmp_path / "journal.db.suspect").exists()


def wait_until_granting(hub: Hub) -> ProbeJournal:
    """The writer recovers right after it answered, so the next command finds it granting again."""
    pause = threading.Event()
    for _ in range(500):
        if hub.granting:
            break
        pause.wait(0.01)
    return ProbeJournal()


def test_inv_ja_3_a_caller_that_goes_away_leaves_the_outcome_to_the_journal(tmp_path: Path) -> None:
    """Stopping while commands are queued commits them first."""
    with running(tmp_path) as rig:
        for number in range(50):
            rig.hub.submit(take(f"t{number}", paths=(f"d{number}",)), lambda _: None)
    with running(tmp_path) as rig:
        assert len(rig.hub.state.claims) == 50


def test_inv_ja_4_claims_are_committed_in_wal_mode_with_full_sync(tmp_path: Path) -> None:
    """What SQLite was told, read from SQLite."""
    told: list[str] = []
    with running(tmp_path) as rig:
        store = rig.journal._store
        assert isinstance(store, SqliteStore)
        assert store._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        store._connection.set_trace_callback(told.append)
        rig.answer(take("t1"))
        assert store._connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert "COMMIT" in told


def test_inv_rr_1_replay_rebuilds_claims_keys_and_epochs(tmp_path: Path) -> None:
    """A restart knows what the hub knew."""
    with running(tmp_path) as rig:
        rig.answer(take("t1"))
        rig.answer(keyed(take("t2", paths=("docs",))))
        rig.answer(take("t3", paths=("x",)))
        rig.answer(give("t3"))
        rig.reason(take("t4", "ben"))
        before = rig.hub.state
    with running(tmp_path) as rig:
        assert rig.hub.state == before
        assert rig.answer(take("t9", paths=("y",)))["epoch"] == before.epoch + 1


def test_inv_rr_1_a_lease_that_ran_out_meanwhile_is_over_after_the_restart(tmp_path: Path) -> None:
    """Expiry does not need a running hub."""
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        rig.answer(take("t1", ttl_s=30.0))
    clock.at += 30
    with running(tmp_path, clock) as rig:
        rig.answer(take("t2", "ben"))


def test_inv_rr_3_evidence_touches_no_lease(tmp_path: Path) -> None:
    """Denials and overrides survive a restart as records, and change nothing else."""
    with running(tmp_path) as rig:
        rig.answer(take("t1"))
        claims = rig.hub.state.claims
        seen: dict[str, Any] = {
            "agent": "ben",
            "namespace": "",
            "worktree": "wt:1",
            "action": "commit",
            "paths": ("src/a",),
        }
        rig.answer(RecordDenial(**seen, paths_total=1, tasks=(("", "t1"),)))
        rig.answer(RecordOverride(**seen, reason_text="urgent"))
        rig.reason(take("t2", "ben"))
        assert rig.hub.state.claims == claims
    with running(tmp_path) as rig:
        assert rig.hub.state.claims == claims
        kinds = [record.kind for record in rig.journal._store.replay(0) if record.kind != "message_sent"]
        assert kinds == ["claim_granted", "guard_denial", "guard_override", "claim_denial"]


def test_evidence_that_says_the_same_within_a_minute_is_one_event(tmp_path: Path) -> None:
    """A loop cannot flood the journal; after the minute it is news again."""
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        rig.answer(take("t1"))
        for _ in range(10):
            rig.reason(take("t2", "ben"))
        assert rig.hub.state.seq == 3  # the grant, the denial, a message to ana
        rig.reason(take("t2", "ben", ("src/other",)))
        assert rig.hub.state.seq == 4
        clock.at += 60
        rig.reason(take("t2", "ben"))
        assert rig.hub.state.seq == 5


def test_each_override_of_a_commit_is_an_event_and_those_of_a_loop_of_edits_are_one(tmp_path: Path) -> None:
    """Two commits for the same reason are two, however soon one follows the other."""
    override = RecordOverride(
        agent="ben", namespace="", worktree="wt:1", action="commit", paths=("src/a",), reason_text="outage"
    )
    with running(tmp_path, FakeClock()) as rig:
        for _ in range(3):
            assert rig.answer(override)["recorded"]
        assert rig.hub.state.seq == 3
        for _ in range(3):
            assert rig.answer(msgspec.structs.replace(override, action="edit"))["recorded"]
        assert rig.hub.state.seq == 4


def test_inv_cr_1_a_retry_applies_once_even_after_a_restart(tmp_path: Path) -> None:
    """The first answer comes back, marked as replayed; state and epoch stand."""
    with running(tmp_path) as rig:
        first = rig.answer(keyed(take("t1")))
        assert rig.answer(keyed(take("t1"))) == {**first, "replayed": True}
        rig.answer(keyed(give("t1")))
    with running(tmp_path) as rig:
        assert rig.answer(keyed(take("t1"))) == {**first, "replayed": True}
        assert not rig.hub.state.claims


def test_inv_cr_1_a_key_counts_within_its_sender_and_verb(tmp_path: Path) -> None:
    """The same key of another agent or for another verb is another key; another request under it is a conflict."""
    with running(tmp_path) as rig:
        rig.answer(keyed(take("t1"), key="same"))
        assert rig.answer(keyed(take("t2", "ben", ("docs",)), key="same"))["owner"] == "ben"
        rig.answer(keyed(give("t1"), key="same"))
        assert rig.reason(keyed(take("t1"), key="same", digest="other")) == "IDEMPOTENCY_CONFLICT"


def test_inv_cr_1_refusals_are_decided_anew(tmp_path: Path) -> None:
    """A key is not spent on a refusal."""
    with running(tmp_path) as rig:
        rig.answer(take("t1"))
        assert rig.reason(keyed(take("t2", "ben"))) == "SCOPE_CONFLICT"
        rig.answer(give("t1"))
        assert "replayed" not in rig.answer(keyed(take("t2", "ben")))


def test_keys_are_kept_a_day_and_not_for_ever(tmp_path: Path) -> None:
    """Memory is bounded by time."""
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        rig.answer(keyed(take("t1"), key="old"))
        clock.at += IDEMPOTENCY_RETENTION_SECONDS
        rig.answer(keyed(take("t2", paths=("docs",)), key="new"))
        assert len(rig.hub.state.answers) == 1


def test_a_group_is_committed_together_and_a_refusal_takes_nobody_down(tmp_path: Path) -> None:
    """Commands that wait are decided one after another, each on the outcome of the last."""
    SlowStore.hold()
    with running(tmp_path, open_store=SlowStore) as rig:
        got: list[Answered] = []
        rig.hub.submit(take("t0", paths=("z",)), got.append)
        assert SlowStore.entered.wait(10)
        for agent in ("ana", "ben", "cyd"):
            rig.hub.submit(take(f"t-{agent}", agent, ("src",)), got.append)
        rig.hub.submit(take("t-dee", "dee", ("docs",)), got.append)
        SlowStore.slow = False
        SlowStore.go_on.set()
        rig.answer(ProbeJournal())
        granted = [type(answered.outcome).__name__ for answered in got]
        assert granted == ["Decided", "Decided", "Refusal", "Refusal", "Decided"]
        batches = [record.batch for record in rig.journal._store.replay(1)]
        assert len(batches) == 6 and len(set(batches)) == 1


def damaged(directory: Path, statement: str) -> None:
    with closing(sqlite3.connect(directory / "journal.db")) as connection, connection:
        connection.execute(statement)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A directory with a journal of five events."""
    with running(tmp_path) as rig:
        for number in range(5):
            rig.answer(take(f"t{number}", paths=(f"d{number}",)))
    return tmp_path


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET body = replace(body, '\"ana\"', '\"eve\"') WHERE seq = 3",
        "UPDATE events SET hash = zeroblob(32) WHERE seq = 3",
        "DELETE FROM events WHERE seq = 3",
        "DELETE FROM events WHERE seq = 5",
        "DELETE FROM events",
        "UPDATE events SET kind = 'claim_released' WHERE seq = 3",
        "UPDATE events SET incarnation = 2 WHERE seq = 3",
    ],
)
def test_a_journal_that_was_altered_is_never_granted_from(written: Path, statement: str) -> None:
    """The hash chain and the high-water mark see every row that changed or went."""
    damaged(written, statement)
    with pytest.raises(JournalBroken):
        replayed(written)


def replayed(directory: Path) -> State:
    journal = Journal(str(directory))
    try:
        return journal.replay()
    finally:
        journal.close()


def test_an_older_copy_put_back_is_not_granted_from(written: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """It would issue epochs again that were issued before."""
    copy = tmp_path_factory.mktemp("copy") / "journal.db"
    shutil.copy(written / "journal.db", copy)
    with running(written) as rig:
        rig.answer(take("later", paths=("x",)))
    shutil.copy(copy, written / "journal.db")
    with pytest.raises(JournalBroken, match="acknowledged"):
        replayed(written)


@pytest.mark.parametrize("name", ["journal.db", "journal.mark"])
def test_a_journal_without_its_other_half_is_not_started_afresh(written: Path, name: str) -> None:
    """Neither a deleted journal nor a deleted mark means a silent fresh start."""
    os.unlink(written / name)
    with pytest.raises(JournalBroken):
        replayed(written)


def test_a_wal_that_vanished_is_noticed(tmp_path: Path) -> None:
    """SQLite itself opens such a file without a complaint."""
    with running(tmp_path) as rig:
        rig.answer(take("t1"))
        shutil.copytree(tmp_path, tmp_path / "seen", ignore=shutil.ignore_patterns("seen", "journal.db-*"))
    with pytest.raises(JournalBroken):
        replayed(tmp_path / "seen")


def test_a_torn_mark_falls_back_to_the_other_slot(written: Path) -> None:
    """One slot is whole at any time, and a mark behind its journal is harmless."""
    before = replayed(written)
    raw = bytearray((written / "journal.mark").read_bytes())
    for at in (5, 512 + 5):
        torn = bytearray(raw)
        torn[at] ^= 0xFF
        (written / "journal.mark").write_bytes(torn)
        assert replayed(written) == before
    (written / "journal.mark").write_bytes(b"\0" * 1024)
    with pytest.raises(JournalBroken):
        replayed(written)


def test_an_unknown_kind_of_event_stops_the_replay(written: Path) -> None:
    """A journal of a newer version is not half understood."""
    journal = Journal(str(written))
    journal.replay()
    journal.close()
    damaged(written, "UPDATE events SET kind = 'from_the_future' WHERE seq = 5")
    with pytest.raises(JournalBroken):
        replayed(written)


def test_the_journal_and_its_mark_are_0600(written: Path) -> None:
    """Nobody else reads or writes them."""
    for name in ("journal.db", "journal.mark"):
        assert (written / name).stat().st_mode & 0o777 == 0o600


def test_sweeping_a_thousand_due_leases_leaves_none(tmp_path: Path) -> None:
    """In chunks, so that nobody waits for all of them."""
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        for number in range(1000):
            rig.answer(take(f"t{number}", "ana", (f"d{number}",), principal=f"uid:{number}", ttl_s=30.0))
        clock.at += 31
        rig.answer(ProbeJournal())
        pause = threading.Event()
        for _ in range(300):
            if not rig.hub.state.claims:
                break
            pause.wait(0.02)
            rig.answer(ExpireDue(tasks=()))
        assert not rig.hub.state.claims
