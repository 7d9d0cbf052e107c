"""Random histories of a namespace that moves. Whole, none breaks a rule; with any single rule taken out, some does."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import msgspec
import pytest
from immutables import Map

from synapse_hub.core.commands import AnyCommand
from synapse_hub.core.commands.team import CedeNamespace, GovernNamespace, KeepReceipt, RefreshReceipts
from synapse_hub.core.decide import decide
from synapse_hub.core.outcome import Decided, Outcome, Refusal
from synapse_hub.core.state import State, apply_all
from synapse_hub.core.team.state import Governed
from synapse_hub.federation.deed import Deed, followed, signed
from synapse_hub.federation.estate import EstatePart, assembled, parts
from synapse_hub.federation.identity import identity
from synapse_hub.federation.names import seen_by
from synapse_hub.federation.ownership import caught_up, resolve
from synapse_hub.federation.receipts import Sending, receipt
from synapse_hub.hubfile import HubFile, Namespace, Peer
from synapse_hub.journal.snapshot import capture, restore
from tests.faults.scale import times
from tests.hub.desk import keyed, take
from tests.team.moves import Mover, Moves
from tests.team.world import NAMESPACE, violates

STEPS = 80
SEEDS = times(400, 10_000)
# How many histories a broken variant may take to be found out.
MOST = 20_000


def test_inv_mh_1_no_history_of_transfers_has_two_owners_or_two_holders() -> None:
    """Handed on at once, back, twice, broken off by crashes and begun again: one owner or none, nothing done twice."""
    assert violates(Moves, range(SEEDS), STEPS) is None


class GrantsOnTheAnnouncement(Moves):
    """The heir grants as soon as it hears of its luck."""

    def announced(self, heir: Mover, giver: str, term: int) -> None:
        if heir.known.term < term:
            heir.do(
                GovernNamespace(
                    namespace=NAMESPACE, owner=heir.name, mine=True, remotes=(), exclusion="repository", term=term
                ),
                self.true,
            )


class HandsOverNoClaims(Moves):
    """What is held is not handed over."""

    def handed_over(self, part: EstatePart) -> EstatePart:
        return msgspec.structs.replace(part, claims=[])


class HandsOverNoKeys(Moves):
    """What was answered is not handed over."""

    def handed_over(self, part: EstatePart) -> EstatePart:
        return msgspec.structs.replace(part, answers=[])


class HandsOverNoEpochs(Moves):
    """The heir's epochs go on from its own."""

    def handed_over(self, part: EstatePart) -> EstatePart:
        return msgspec.structs.replace(part, epoch=0)


class KeepsAnswersInMemory(Moves):
    """A crash forgets what was answered."""

    def crashed(self, hub: Mover) -> None:
        super().crashed(hub)
        hub.state = msgspec.structs.replace(hub.state, answers=State().answers)


class InheritsAgain(Moves):
    """What was handed over once counts whenever it comes."""

    def inherited(self, heir: Mover, whole: list[EstatePart], giver: str) -> Outcome:
        governed = heir.state.team.governed
        known = msgspec.structs.replace(governed[NAMESPACE], owner=giver, mine=False, term=whole[0].term - 1)
        team = msgspec.structs.replace(heir.state.team, governed=governed.set(NAMESPACE, known))
        heir.state = msgspec.structs.replace(heir.state, team=team)
        return super().inherited(heir, whole, giver)


class SetsNoLastingTombstone(Moves):
    """A crash brings the old owner back."""

    def ceded(self, hub: Mover, command: CedeNamespace) -> Outcome:
        return hub.do(command, self.true, sync=False)


# With a seed that finds it out; where the histories were changed since, others are tried.
BROKEN = {
    GrantsOnTheAnnouncement: 1,
    HandsOverNoClaims: 2616,
    HandsOverNoKeys: 89,
    HandsOverNoEpochs: 36,
    KeepsAnswersInMemory: 15,
    InheritsAgain: 307,
    SetsNoLastingTombstone: 145,
}


@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
def test_a_transfer_with_one_rule_taken_out_is_found_out(kind: type[Moves]) -> None:
    """Some history breaks a rule; else these histories would prove nothing."""
    known = BROKEN[kind]
    assert violates(kind, range(known, known + 1), STEPS) is not None or violates(kind, range(MOST), STEPS) is not None


def held(hub_id: str, seq: int, sent: float) -> KeepReceipt:
    """C's claim, as a hub lists it."""
    document = {
        "task_id": "t1", "namespace": NAMESPACE, "owner": "x", "worktree": "", "paths": ["src"], "status": "claimed",
        "note": "", "epoch": 3, "version": 0, "granted_at": 5.0, "lease_expires_at": 3605.0, "checkpoint": None,
    }  # fmt: skip
    return receipt(document | {"hub_id": hub_id}, {"seq": seq, "now": 5.0}, Sending(sent, sent, "boot"), "uid:1", "")


def listing(one: KeepReceipt, owner: str, sent: float) -> RefreshReceipts:
    return RefreshReceipts(namespaces=(NAMESPACE,), held=(one,), revoked=(), sent_at=sent, wall=sent, owner=owner)


def test_inv_mh_2_what_a_former_owner_lists_makes_no_receipt() -> None:
    """It was asked before the namespace went; and the next owner's listing counts though its numbers are lower."""
    state, now = State(), 1_000_000.0
    govern = GovernNamespace(namespace=NAMESPACE, owner="a", mine=False, remotes=(), exclusion="repository")
    commands: tuple[AnyCommand, ...] = (
        govern,
        held("a", 500, now + 1),
        msgspec.structs.replace(govern, owner="b", term=1),
        listing(held("b", 7, now + 3), "b", now + 3),
        listing(held("a", 501, now + 4), "a", now + 4),
    )
    for seconds, command in enumerate(commands):
        state = apply_all(state, decide(state, command, now + seconds).events)
    kept = state.team.receipts[NAMESPACE, "t1"]
    assert (kept.hub_id, kept.owner_seq) == ("b", 7)


def test_inv_mh_1_what_has_changed_hands_does_not_come_back_by_a_line_in_a_file() -> None:
    """Not at the former owner, whose file says that it owns it still, whatever it is called there."""
    state = State()
    govern = GovernNamespace(namespace=NAMESPACE, owner="a", mine=True, remotes=(), exclusion="repository")
    cede = CedeNamespace(namespace=NAMESPACE, owner="b", term=1, deed={"deed": "d"})
    for command in (govern, cede, govern, msgspec.structs.replace(govern, term=1)):
        state = apply_all(state, decide(state, command, 1.0).events)
    known = restore(capture(state, b"h" * 32)).team.governed[NAMESPACE]
    assert (known.owner, known.mine, known.term) == ("b", False, 1)
    file = HubFile(id="a", peers={"b": Peer(key="k")}, namespaces={NAMESPACE: Namespace(owner="a")})
    assert caught_up(file, state.team).namespaces[NAMESPACE].owner == "b"
    refusal = resolve(NAMESPACE, file, "", state.team).refusal
    assert refusal is not None and refusal.reason == "OWNER_UNREACHABLE" and "on its way to b" in refusal.detail


def test_a_deed_counts_for_who_knows_the_giver_as_the_owner_and_once(tmp_path: Path) -> None:
    """Not when somebody else has signed it, not for another namespace, and not after a later one."""
    (tmp_path / "a").mkdir()
    giver, other = identity(str(tmp_path / "a")), identity(str(tmp_path))
    peer = Peer(key=other.public, url="https://h:1", certificate="c")
    title = Deed(NAMESPACE, "a", "b", 1, peer)
    file = HubFile(id="c", peers={"a": Peer(key=giver.public)}, namespaces={NAMESPACE: Namespace(owner="a")})
    governed = Map({NAMESPACE: Governed("a", False, (), "repository")})
    found = followed(file, governed, signed(title, giver))
    assert found is not None and found.namespaces[NAMESPACE].owner == "b" and found.peers["b"] == peer
    assert followed(file, governed, signed(title, other)) is None
    assert followed(file, governed, {"deed": "{}", "signature": ""}) is None
    later = governed.set(NAMESPACE, Governed("a", False, (), "repository", term=1))
    assert followed(file, later, signed(title, giver)) is None
    elsewhere = msgspec.structs.replace(title, namespace="other")
    assert followed(file, governed, signed(elsewhere, giver)) is None
    altered = signed(title, giver) | {"deed": msgspec.json.encode(msgspec.structs.replace(title, term=9)).decode()}
    assert followed(file, governed, altered) is None


def test_inv_mh_1_a_namespace_is_inherited_once_with_all_that_is_held() -> None:
    """From its owner only: claims under their epochs, named as the heir names them; the same again does nothing."""
    govern = GovernNamespace(namespace=NAMESPACE, owner="a", mine=True, remotes=(), exclusion="repository")
    giver = after(State(), govern)
    for agent, principal in (("ana", "uid:1"), ("b/ben", "b/uid:1"), ("c/cy", "c/uid:1")):
        task = take(agent, agent, (agent,), namespace=NAMESPACE, worktree="", principal=principal)
        giver = after(giver, msgspec.structs.replace(keyed(task, key=agent), sender=f"{principal}/{agent}"))
    giver = after(giver, CedeNamespace(namespace=NAMESPACE, owner="b", term=1, deed={"deed": "d"}))
    assert not giver.claims and not giver.trees
    whole = parts(giver, NAMESPACE, 1, partial(seen_by, "b", "a", ("b", "c")), 1.0)
    command = assembled([msgspec.json.decode(msgspec.json.encode(one), type=EstatePart) for one in whole], "a", "b")
    heir = after(State(), msgspec.structs.replace(govern, mine=False))
    stranger = decide(heir, msgspec.structs.replace(command, giver="c"), 1.0)
    assert isinstance(stranger, Refusal) and stranger.reason == "NOT_AUTHORISED"
    heir = after(heir, command)
    claims = sorted((one.owner, one.principal, one.epoch) for one in heir.claims.values())
    assert claims == [("a/ana", "a/uid:1", 1), ("ben", "uid:1", 2), ("c/cy", "c/uid:1", 3)]
    assert {key[0] for key in heir.answers.entries} == {"a/uid:1/a/ana", "uid:1/ben", "c/uid:1/c/cy"}
    assert heir.epoch == 3 and heir.team.governed[NAMESPACE].mine
    # Whoever delivers it again never heard the answer, and is to hear it now.
    again = decide(heir, command, 2.0)
    assert isinstance(again, Decided) and not again.events


def after(state: State, command: AnyCommand) -> State:
    outcome = decide(state, command, 1.0)
    assert isinstance(outcome, Decided), outcome
    return apply_all(state, outcome.events)
