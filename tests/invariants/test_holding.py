"""Updates, handovers, checkpoints, forced releases and waiting, on a running hub."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from synapse_git.constants import MAX_CLAIMS_PER_AGENT
from synapse_hub.core.commands.claims import HandOff, ReleaseClaim, SaveCheckpoint, TakeClaim, UpdateTask
from synapse_hub.core.outcome import Decided, Refusal
from synapse_hub.hub import Answered
from synapse_hub.waiting import Patience
from tests.hub.desk import FakeClock, Rig, give, keyed, running, take

Fields = dict[str, Any]
TASK: Fields = {"agent": "ana", "namespace": "", "task_id": "t1"}


def task(other: Fields) -> Fields:
    """The usual task, with other words in it."""
    return TASK | other


def force(agent: str = "ben") -> ReleaseClaim:
    return ReleaseClaim(**task({"agent": agent}), force=True, reason_text="gone home")


def save(data: Any, agent: str = "ana") -> SaveCheckpoint:
    return SaveCheckpoint(**task({"agent": agent}), data=data)


def test_inv_ef_3_an_update_counts_and_compares_versions(tmp_path: Path) -> None:
    """A stale writer cannot clobber a newer value."""
    with running(tmp_path) as rig:
        granted = rig.answer(take("t1"))
        first = rig.answer(UpdateTask(**TASK, expected_version=0, status="review", note="look"))
        assert (first["version"], first["status"], first["note"]) == (1, "review", "look")
        assert first["epoch"] == granted["epoch"]
        assert rig.reason(UpdateTask(**TASK, expected_version=0, status="late")) == "VERSION_MISMATCH"
        assert rig.answer(UpdateTask(**TASK, note="more"))["status"] == "review"
        assert rig.answer(take("t1", paths=None))["version"] == 0


@pytest.mark.parametrize("verb", [UpdateTask, HandOff, SaveCheckpoint, ReleaseClaim])
def test_inv_ef_2_every_verb_is_fenced(tmp_path: Path, verb: Callable[..., Any]) -> None:
    """A superseded epoch does nothing; another agent does nothing; an ended task does nothing."""
    extra: Fields = {"to": "ben"} if verb is HandOff else {"data": 1} if verb is SaveCheckpoint else {}
    with running(tmp_path) as rig:
        assert rig.reason(verb(**TASK, **extra)) == "NOT_HELD"
        old = rig.answer(take("t1"))["epoch"]
        rig.answer(take("t1"))
        before = rig.hub.state
        assert rig.reason(verb(**TASK, **extra, epoch=old)) == "STALE_EPOCH"
        assert rig.reason(verb(**task({"agent": "eve"}), **extra)) == "NOT_OWNER"
        assert rig.hub.state == before


def test_inv_cr_2_a_handoff_moves_everything_at_once(tmp_path: Path) -> None:
    """Scope, status and checkpoint stay; epoch is fresh, version reset, the giver fenced out."""
    with running(tmp_path) as rig:
        rig.answer(take("t1"))
        rig.answer(save({"step": 3}))
        before = rig.answer(UpdateTask(**TASK, status="half"))
        after = rig.answer(HandOff(**TASK, to="ben"))
        assert (after["owner"], after["paths"], after["status"]) == ("ben", before["paths"], "half")
        assert after["checkpoint"] == {"step": 3} and after["version"] == 0 and after["epoch"] > before["epoch"]
        assert rig.reason(give("t1", "ana", before["epoch"])) == "NOT_OWNER"
        assert rig.reason(take("t2", "ana")) == "SCOPE_CONFLICT"
    with running(tmp_path) as rig:
        assert rig.hub.state.claims["", "t1"].owner == "ben"


def test_inv_cr_2_a_handoff_never_gives_what_a_third_party_holds(tmp_path: Path) -> None:
    """The giver's other claim counts as a third party's; the recipient's own do not."""
    with running(tmp_path) as rig:
        rig.answer(take("t1", "ana", ("src",)))
        rig.answer(take("t2", "ana", ("src/a",)))
        assert rig.reason(HandOff(**TASK, to="ben")) == "SCOPE_CONFLICT"
        rig.answer(give("t2"))
        rig.answer(HandOff(**TASK, to="ben"))
        assert rig.reason(HandOff(**task({"agent": "ben"}), to="ben")) == "INVALID_REQUEST"


def test_inv_me_5_a_handoff_is_charged_to_its_recipient(tmp_path: Path) -> None:
    """By the principal last seen for that name; without one, by the giver's, which is not charged twice."""
    with running(tmp_path) as rig:
        for number in range(MAX_CLAIMS_PER_AGENT):
            rig.answer(take(f"b{number}", "ben", (f"b{number}",), principal="uid:2"))
        rig.answer(take("t1", "ana", ("a",)))
        assert rig.reason(HandOff(**TASK, to="ben")) == "QUOTA_EXCEEDED"
        assert rig.answer(HandOff(**TASK, to="nobody yet"))["owner"] == "nobody yet"
        assert rig.hub.state.claims["", "t1"].principal == "uid:1"


def test_inv_ll_2_a_checkpoint_survives_the_expiry(tmp_path: Path) -> None:
    """Whoever claims the task next resumes from it, also after a restart."""
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        rig.answer(take("t1", ttl_s=30.0))
        rig.answer(save([1, {"deep": None}]))
        clock.at += 30
        rig.answer(take("elsewhere", "ben", ("docs",)))
    with running(tmp_path, clock) as rig:
        assert rig.answer(take("t1", "ben"))["checkpoint"] == [1, {"deep": None}]


def test_inv_cr_3_a_release_drops_the_checkpoint(tmp_path: Path) -> None:
    """A finished task leaves nothing to an unrelated one of the same id."""
    with running(tmp_path) as rig:
        rig.answer(take("t1"))
        rig.answer(save("x"))
        rig.answer(give("t1"))
        assert rig.answer(take("t1"))["checkpoint"] is None


def test_inv_cr_3_a_forced_release_keeps_it(tmp_path: Path) -> None:
    """Work that was taken away goes on where it stood; the audit says who, from whom and why."""
    with running(tmp_path) as rig:
        epoch = rig.answer(take("t1"))["epoch"]
        rig.answer(save("x"))
        rig.answer(force())
        assert rig.reason(UpdateTask(**TASK, epoch=epoch)) == "NOT_HELD"
        taken = rig.answer(take("t1", "ben"))
        assert taken["checkpoint"] == "x" and taken["epoch"] > epoch
        record = next(row for row in rig.journal._store.replay(0) if row.kind == "claim_released")
        assert b'"by":"ben"' in record.body and b"gone home" in record.body


def test_a_checkpoint_has_a_size(tmp_path: Path) -> None:
    """TOO_LARGE, and the one before stays."""
    with running(tmp_path) as rig:
        rig.answer(take("t1"))
        rig.answer(save("small"))
        assert rig.reason(save("x" * 70_000)) == "TOO_LARGE"
        assert rig.hub.state.claims["", "t1"].checkpoint == "small"


def test_inv_cr_1_all_verbs_apply_once(tmp_path: Path) -> None:
    """Under one key an update counts once, a handoff stamps one epoch."""
    with running(tmp_path) as rig:
        rig.answer(take("t1"))
        update = keyed(UpdateTask(**TASK, note="n"))
        assert rig.answer(update)["version"] == 1
        assert rig.answer(update) == {**rig.answer(update), "version": 1}
        moved = keyed(HandOff(**TASK, to="ben"))
        assert rig.answer(moved)["epoch"] == rig.answer(moved)["epoch"]


class Asker:
    """A claim that waits, and whether it was answered."""

    def __init__(self, rig: Rig, command: TakeClaim, seconds: float = 60.0) -> None:
        self.answered: list[Answered] = []
        self.there = True
        rig.hub.submit(command, self.answered.append, Patience(rig.hub.now() + seconds, lambda: self.there))
        settle(rig)

    @property
    def word(self) -> str:
        if not self.answered:
            return "waiting"
        outcome = self.answered[0].outcome
        return outcome.reason if isinstance(outcome, Refusal) else "granted"


def settle(rig: Rig) -> None:
    """Two trips through the writer: whatever was due between them has been done."""
    for _ in range(2):
        rig.do(give("no such task"))


def test_waiting_claims_are_tried_in_order_of_arrival(tmp_path: Path) -> None:
    """The first gets it, the second when the first is done; nothing is reserved meanwhile."""
    with running(tmp_path) as rig:
        rig.answer(take("t1", "ana"))
        first, second = Asker(rig, take("t2", "ben")), Asker(rig, take("t3", "cyd"))
        other = Asker(rig, take("t4", "dee", ("docs",)))
        assert (first.word, second.word, other.word) == ("waiting", "waiting", "granted")
        rig.answer(give("t1"))
        settle(rig)
        assert (first.word, second.word) == ("granted", "waiting")
        rig.answer(give("t2", "ben"))
        settle(rig)
        assert second.word == "granted"


def test_a_wait_ends_with_its_patience_its_connection_or_the_hub(tmp_path: Path) -> None:
    """The refusal that it had all the while is its answer."""
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        rig.answer(take("t1", "ana"))
        patient, gone, last = (
            Asker(rig, take(f"w{n}", f"w{n}"), seconds) for n, seconds in ((1, 10), (2, 600), (3, 900))
        )
        clock.at += 10
        settle(rig)
        assert (patient.word, gone.word) == ("SCOPE_CONFLICT", "waiting")
        gone.there = False
        rig.answer(give("t1"))
        settle(rig)
        assert last.word == "granted" and "w2" not in {claim.owner for claim in rig.hub.state.claims.values()}
        stopped = Asker(rig, take("w4", "w4"), 900)
        assert stopped.word == "waiting"
    assert stopped.word == "SCOPE_CONFLICT"


def test_a_wait_ends_when_the_holder_s_lease_does(tmp_path: Path) -> None:
    """Expiry frees as a release does."""
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        rig.answer(take("t1", "ana", ttl_s=30.0))
        waiter = Asker(rig, take("t2", "ben"))
        clock.at += 30
        settle(rig)
        assert waiter.word == "granted"


def test_a_circle_of_waiters_is_refused(tmp_path: Path) -> None:
    """Also a long one: it would never end."""
    with running(tmp_path) as rig:
        for agent in ("ana", "ben", "cyd"):
            rig.answer(take(agent, agent, (agent,)))
        ana, ben = Asker(rig, take("x1", "ana", ("ben",))), Asker(rig, take("x2", "ben", ("cyd",)))
        assert (ana.word, ben.word) == ("waiting", "waiting")
        assert Asker(rig, take("x3", "cyd", ("ana",))).word == "WAIT_CYCLE"
        rig.answer(give("cyd", "cyd"))
        settle(rig)
        assert ben.word == "granted"


def test_waiting_writes_its_denial_once(tmp_path: Path) -> None:
    """However often it is tried."""
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        rig.answer(take("t1", "ana"))
        Asker(rig, take("t2", "ben"), 10_000)
        for _ in range(5):
            clock.at += 61
            rig.answer(take("other", "dee", ("docs",)))
            rig.answer(give("other", "dee"))
            settle(rig)
        kinds = [row.kind for row in rig.journal._store.replay(0)]
        assert kinds.count("claim_denial") == 1


def test_waiting_many_and_releasing_serves_each_once(tmp_path: Path) -> None:
    """Fifty wait for one path; each holds it in turn, nobody twice."""
    with running(tmp_path) as rig:
        rig.answer(take("t0", "a0"))
        done = threading.Event()
        order: list[str] = []

        def next_turn(agent: str) -> Callable[[Answered], None]:
            def reply(answered: Answered) -> None:
                assert isinstance(answered.outcome, Decided)
                order.append(agent)
                rig.hub.submit(give(f"t-{agent}", agent), lambda _: done.set() if len(order) == 50 else None)

            return reply

        for number in range(50):
            agent = f"w{number:02}"
            rig.hub.submit(take(f"t-{agent}", agent), next_turn(agent), Patience(rig.hub.now() + 60, lambda: True))
        rig.answer(give("t0", "a0"))
        assert done.wait(20) and order == sorted(order)
