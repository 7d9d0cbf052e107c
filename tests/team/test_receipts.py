"""What an edge hub knows of its claims at other hubs, and for how long that counts. Clocks are arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from synapse_git.constants import (
    CLOCK_DRIFT_SHARE,
    FORWARD_DOUBT_SECONDS,
    MAX_CLAIMS_PER_PEER,
    RECEIPT_VALIDITY_SECONDS,
    REVOCATION_SECONDS,
)
from synapse_hub.core.claim import TreeKey
from synapse_hub.core.commands import AnyCommand
from synapse_hub.core.commands.claims import ReleaseClaim, TakeClaim
from synapse_hub.core.commands.team import (
    ForwardClaim,
    GovernNamespace,
    HearAssertion,
    KeepReceipt,
    RefreshReceipts,
    SettleForward,
)
from synapse_hub.core.decide import decide
from synapse_hub.core.outcome import Decided, Refusal
from synapse_hub.core.state import State, apply_all
from synapse_hub.federation.receipts import Sending, receipt
from synapse_hub.hub import Hub
from synapse_hub.journal.journal import Journal
from synapse_hub.journal.snapshot import capture, restore
from tests.hub.desk import FakeClock, running, take

NOW = 1_000_000.0
KEY = ("acme/api", "t1")
BOOT = "this boot"
PATIENCE_S = 5.0


def answer(
    *, now: float = 5.0, left: float = 3600.0, seq: int = 7, epoch: int = 3, owner: str = "ben"
) -> dict[str, Any]:
    """A claim as an owner whose clock stands at ``now`` answers with it."""
    return {
        "task_id": "t1",
        "namespace": "acme/api",
        "owner": owner,
        "worktree": "",
        "paths": ["src"],
        "status": "claimed",
        "note": "",
        "epoch": epoch,
        "version": 0,
        "granted_at": now,
        "lease_expires_at": now + left,
        "checkpoint": None,
        "hub_id": "h",
        "seq": seq,
        "now": now,
    }


def kept(sent: float = NOW, *, wall: float = NOW, key: str = "", **told: Any) -> KeepReceipt:
    document = answer(**told)
    return receipt(document, document, Sending(sent, wall, BOOT), "uid:1", key)


def forwarding(key: str, now: float) -> ForwardClaim:
    return ForwardClaim(
        namespace=KEY[0], task_id=KEY[1], agent="ben", verb="claim", key=key, wall=now, patience_s=PATIENCE_S
    )


class Edge:
    """A state and the commands that made it."""

    def __init__(self) -> None:
        self.state = State()

    def do(self, command: Any, now: float = NOW) -> Decided | Refusal:
        outcome = decide(self.state, command, now)
        self.state = apply_all(self.state, outcome.events)
        return outcome

    def covers(self, now: float = NOW, *, wall: float = 0.0, boot: str = BOOT) -> bool:
        return self.state.team.covers(KEY, now, wall or now, boot)

    def forward(self, key: str = "k", now: float = NOW) -> None:
        self.do(forwarding(key, now), now)

    def refresh(self, *held: KeepReceipt, revoked: tuple[Any, ...] = (), sent: float, now: float) -> None:
        self.do(RefreshReceipts(namespaces=(KEY[0],), held=held, revoked=revoked, sent_at=sent, wall=sent), now)


@pytest.fixture
def edge() -> Edge:
    made = Edge()
    made.do(kept())
    return made


def test_inv_mh_2_a_receipt_counts_for_a_minute_from_before_it_was_asked_for(edge: Edge) -> None:
    """By whichever of the two clocks leaves less, and in the boot it was given in only."""
    last = NOW + RECEIPT_VALIDITY_SECONDS
    assert edge.covers() and edge.covers(last - 0.001)
    assert not edge.covers(last, wall=NOW)
    assert not edge.covers(NOW, wall=last)
    assert not edge.covers(boot="another boot")


def test_inv_mh_2_what_is_left_of_a_lease_is_counted_from_before_it_was_asked_for() -> None:
    """The owner's clock may stand anywhere, and its answer may take any time."""
    edge = Edge()
    edge.do(kept(sent=NOW, now=99.0, left=30.0), now=NOW + 20)
    # A little less, for the owner's clock may run ahead of this one by all that is allowed.
    assert edge.covers(NOW + 29.9) and not edge.covers(NOW + 30 * (1 - CLOCK_DRIFT_SHARE))
    assert edge.state.team.held(KEY, NOW + 30) is None


def test_inv_mh_2_a_receipt_grants_nothing(edge: Edge) -> None:
    """It is no claim: no index of claims knows it, and the hub's own core refuses to grant there."""
    edge.do(GovernNamespace(namespace=KEY[0], owner="a", mine=False, remotes=(), exclusion="repository"))
    assert not edge.state.claims and not edge.state.trees and not edge.state.by_owner
    outcome = edge.do(take("t2", namespace=KEY[0], worktree=""))
    assert isinstance(outcome, Refusal) and outcome.reason == "UNGOVERNED"


def test_while_a_command_is_under_way_the_receipt_covers_nothing(edge: Edge) -> None:
    """It may be a release that the owner has carried out. A refusal leaves things as they were."""
    edge.forward()
    assert not edge.covers()
    edge.do(SettleForward(namespace=KEY[0], task_id=KEY[1], key="k", ended=False))
    assert edge.covers()
    edge.forward()
    edge.do(SettleForward(namespace=KEY[0], task_id=KEY[1], key="k", ended=True))
    assert not edge.covers() and KEY not in edge.state.team.receipts


def test_the_word_on_an_earlier_command_settles_no_later_one(edge: Edge) -> None:
    """Of two that were sent one after the other, the second is still open."""
    edge.forward("first")
    edge.forward("second")
    edge.do(kept(key="first"))
    assert not edge.covers()
    edge.do(kept(key="second"))
    assert edge.covers()


def test_a_refresh_revives_nothing_that_may_still_be_given_back(edge: Edge) -> None:
    """A release without an answer can reach the owner as long as its signature counts, after it listed the claim."""
    edge.forward()
    soon = NOW + PATIENCE_S + FORWARD_DOUBT_SECONDS - 0.001
    edge.refresh(kept(soon, wall=soon, seq=8), sent=soon, now=soon)
    assert not edge.covers(soon)
    later = NOW + PATIENCE_S + FORWARD_DOUBT_SECONDS
    edge.refresh(kept(later, wall=later, seq=8), sent=later, now=later)
    assert edge.covers(later)


def test_a_refresh_revives_nothing_that_was_given_back_since_it_was_sent(edge: Edge) -> None:
    """The list may have been made before the release, and arrive after it."""
    edge.forward("k", NOW + 1)
    edge.do(SettleForward(namespace=KEY[0], task_id=KEY[1], key="k", ended=True), NOW + 2)
    edge.refresh(kept(NOW + 0.5, seq=7), sent=NOW + 0.5, now=NOW + 3)
    assert KEY not in edge.state.team.receipts


def test_a_refresh_ends_what_the_owner_no_longer_lists(edge: Edge) -> None:
    """But not what it granted after it was asked, nor what another owner granted."""
    edge.refresh(sent=NOW - 1, now=NOW)
    assert edge.covers()
    edge.do(RefreshReceipts(namespaces=("other",), held=(), revoked=(), sent_at=NOW, wall=NOW))
    assert edge.covers()
    edge.refresh(sent=NOW, now=NOW + 1)
    assert KEY not in edge.state.team.receipts


def test_an_older_listing_replaces_no_newer_answer(edge: Edge) -> None:
    """Answers may overtake each other; the owner's own order counts."""
    edge.refresh(kept(seq=6, epoch=2), sent=NOW, now=NOW)
    assert edge.state.team.receipts[KEY].claim.epoch == 3


def test_a_revocation_ends_a_receipt_even_while_a_command_is_under_way(edge: Edge) -> None:
    """For a refusal of that command would bring the receipt back, after the scope was given on."""
    edge.forward()
    edge.refresh(revoked=((*KEY, 3),), sent=NOW, now=NOW)
    edge.do(SettleForward(namespace=KEY[0], task_id=KEY[1], key="k", ended=False))
    assert not edge.covers()


def test_a_revocation_of_an_earlier_grant_leaves_the_later_one(edge: Edge) -> None:
    edge.refresh(revoked=((*KEY, 2),), sent=NOW - 1, now=NOW)
    assert edge.covers()


def test_receipts_and_governance_survive_a_snapshot(edge: Edge) -> None:
    """And with them what is under way."""
    edge.do(GovernNamespace(namespace=KEY[0], owner="a", mine=False, remotes=("u",), exclusion="worktree"))
    edge.do(HearAssertion(namespace=KEY[0], by="c", owns=True))
    edge.forward()
    restored = restore(capture(edge.state, b"h" * 32))
    assert restored.team == edge.state.team
    assert not restored.team.covers(KEY, NOW, NOW, BOOT)


def test_inv_cr_4_a_contested_namespace_grants_nothing_until_whoever_contests_it_says_otherwise() -> None:
    """Over restarts; the word of the owner itself, or of anyone else, heals nothing."""
    edge = Edge()
    edge.do(GovernNamespace(namespace=KEY[0], owner="a", mine=True, remotes=(), exclusion="repository"))
    claim = take("t2", namespace=KEY[0], worktree="")
    assert isinstance(edge.do(claim), Decided)
    edge.do(HearAssertion(namespace=KEY[0], by="b", owns=True))
    for heard in (
        None,
        HearAssertion(namespace=KEY[0], by="a", owns=True),
        HearAssertion(namespace=KEY[0], by="c", owns=False),
    ):
        if heard:
            edge.do(heard)
        edge.state = restore(capture(edge.state, b"h" * 32))
        outcome = edge.do(claim)
        assert isinstance(outcome, Refusal) and outcome.reason == "CONTESTED"
    edge.do(HearAssertion(namespace=KEY[0], by="b", owns=False))
    assert isinstance(edge.do(claim), Decided)


def test_what_is_no_claim_makes_no_receipt() -> None:
    document = answer()
    del document["epoch"]
    with pytest.raises(ValueError, match="no claim"):
        receipt(document, document, Sending(NOW, NOW, BOOT), "uid:1", "")


@pytest.mark.parametrize("cause", ["asked", "taken away", "contested"])
def test_what_receipts_let_in_is_judged_anew_once_they_may_cover_it_no_more(tmp_path: Path, cause: str) -> None:
    """Hooks of an operation under way learn of it, before the owner hears that it was heard of."""
    told: list[TreeKey] = []
    journal = Journal(str(tmp_path))
    hub = Hub(journal, FakeClock(NOW), state=journal.replay(), on_grant=told.extend)
    hub.start()
    try:
        hub.transact(GovernNamespace(namespace=KEY[0], owner="a", mine=False, remotes=(), exclusion="repository"))
        hub.transact(kept())
        told.clear()
        commands: dict[str, AnyCommand] = {
            "asked": forwarding("k", NOW),
            "taken away": RefreshReceipts(namespaces=(KEY[0],), held=(), revoked=((*KEY, 3),), sent_at=NOW, wall=NOW),
            "contested": HearAssertion(namespace=KEY[0], by="c", owns=True),
        }
        hub.transact(commands[cause])
        assert told == [(KEY[0], "")]
    finally:
        hub.stop()


def test_a_receipt_says_how_long_it_covers(edge: Edge) -> None:
    """By whichever ends first: its own validity by either clock, or the lease."""
    team = edge.state.team
    assert team.covered_s(KEY, NOW + 10, NOW, BOOT) == RECEIPT_VALIDITY_SECONDS - 10
    assert team.covered_s(KEY, NOW, NOW + 20, BOOT) == RECEIPT_VALIDITY_SECONDS - 20
    edge.do(kept(left=30.0))
    assert 29 < edge.state.team.covered_s(KEY, NOW, NOW, BOOT) <= 30


# ---- at the owner ----


def peers(task_id: str, paths: tuple[str, ...] = ("src",), number: int = 1) -> TakeClaim:
    return take(task_id, "b/ben", paths, namespace=KEY[0], worktree="", principal=f"b/uid:{number}")


def test_what_is_taken_from_a_peer_is_free_once_it_was_given_back_or_its_receipts_have_run_out(tmp_path: Path) -> None:
    """In one step for the holder, who is fenced out at once; others wait."""
    clock = FakeClock(NOW)
    with running(tmp_path, clock) as rig:
        for task_id, by in (("one", "given back"), ("two", "run out")):
            rig.answer(peers(task_id, (by,)))
            force = ReleaseClaim(agent="ana", namespace=KEY[0], task_id=task_id, force=True, reason_text="urgent")
            assert rig.answer(force)["status"] == "revoked"
            wanted = take(f"{task_id}b", "ana", (by,), namespace=KEY[0], worktree="")
            assert rig.reason(wanted) == "SCOPE_CONFLICT"
            assert rig.reason(peers(task_id, (by,))) == "NOT_HELD"
            if by == "given back":
                rig.answer(ReleaseClaim(agent="b/ben", namespace=KEY[0], task_id=task_id))
            else:
                clock.at += REVOCATION_SECONDS
            rig.answer(wanted)


def test_a_local_claim_is_taken_away_in_one_step(tmp_path: Path) -> None:
    """Nobody counts on it anywhere else."""
    with running(tmp_path, FakeClock(NOW)) as rig:
        rig.answer(take("one", "ben"))
        force = ReleaseClaim(agent="ana", namespace="", task_id="one", force=True, reason_text="urgent")
        assert rig.answer(force)["status"] == "released"
        rig.answer(take("two", "ana"))


def test_principals_of_a_peer_have_a_bound_together() -> None:
    """However many users a peer says it has."""
    edge = Edge()
    for number in range(MAX_CLAIMS_PER_PEER):
        assert isinstance(edge.do(peers(f"t{number}", (f"d{number}",), number)), Decided)
    outcome = edge.do(peers("more", ("more",), MAX_CLAIMS_PER_PEER))
    assert isinstance(outcome, Refusal) and outcome.reason == "QUOTA_EXCEEDED" and "agents of b" in outcome.detail
    assert isinstance(edge.do(take("mine", "ana", ("mine",), namespace=KEY[0], worktree="")), Decided)
    other = msgspec.structs.replace(peers("more", ("more",)), agent="c/ben", principal="c/uid:1")
    assert isinstance(edge.do(other), Decided)
