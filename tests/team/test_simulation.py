"""Random histories of a team in one process. Whole, none breaks a rule; with any single rule taken out, some does."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from synapse_git.constants import CLOCK_DRIFT_SHARE, RECEIPT_VALIDITY_SECONDS
from synapse_hub.core.claim import TaskKey
from synapse_hub.core.commands.claims import FamilyCommand, ReleaseClaim
from synapse_hub.core.commands.team import KeepReceipt, RefreshReceipts
from synapse_hub.core.outcome import Decided, Outcome
from synapse_hub.core.team.state import Team
from synapse_hub.federation.receipts import Sending
from tests.faults.scale import times
from tests.team.world import NAMESPACE, Edge, Request, Turn, World, violates

STEPS = 60
# A second has about fifteen hundred.
SEEDS = times(10_000, 500_000)
# How many histories a broken variant may take to be found out.
MOST = 100_000


# Found something once: an answer that came while an older command was open, a listing that came after a release, a
# refusal of the first of two copies, a revocation of what was granted in an answer still on its way.
@pytest.mark.parametrize("seed", [278, 4028, 47135, 87875, 89122, 99682, 99831, 108498, 125959])
def test_a_history_that_broke_a_rule_once_does_so_no_more(seed: int) -> None:
    World(seed).run(2 * STEPS)


class Retrying(World):
    """Agents ask again under the same key, however late, whatever was done since."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._asked: list[tuple[Edge, str, FamilyCommand, str]] = []

    def errand(self, edge: Edge, task: str, command: FamilyCommand, key: str) -> None:
        self._asked.append((edge, task, command, key))
        again = self.chance.choice(self._asked)
        if self.chance.random() < 0.5 and again[1] not in again[0].turns:
            edge, task, command, key = again
        super().errand(edge, task, command, key)


@pytest.mark.parametrize("kind", [World, Retrying], ids=lambda kind: kind.__name__)
def test_no_history_lets_two_agents_work_on_one_path(kind: type[World]) -> None:
    """Messages lost, late, doubled and out of order; clocks that drift, jump and stand still; crashes anywhere."""
    assert violates(kind, range(SEEDS // 2), STEPS) is None


class CountsFromTheAnswer(World):
    """A lease is counted from when the answer came, not from before it was asked for."""

    def counted_from(self, edge: Edge, sent: Sending) -> Sending:
        return self.sending(edge, 0.0)


class CountsWhileUnderWay(World):
    """A command on its way to the owner does not suspend the receipt."""

    def intent(self, edge: Edge, task: str, key: str) -> None:
        pass


class BelievesAnyListing(World):
    """What the owner lists counts, whatever may still reach it."""

    def refreshed(self, edge: Edge, command: RefreshReceipts) -> None:
        team = msgspec.structs.replace(edge.state.team, under_way=Team().under_way, touched=Team().touched)
        edge.state = msgspec.structs.replace(edge.state, team=team)
        super().refreshed(edge, command)


class ForgetsOlderCommands(World):
    """The answer to the last command about a task settles those before it."""

    def conclude(self, edge: Edge, task: str, command: FamilyCommand, key: str, word: Any, sent: Sending) -> None:
        super().conclude(edge, task, command, key, word, sent)
        under_way = edge.state.team.under_way
        if (NAMESPACE, task) in under_way:
            team = msgspec.structs.replace(edge.state.team, under_way=under_way.delete((NAMESPACE, task)))
            edge.state = msgspec.structs.replace(edge.state, team=team)


class SettlesByTheFirstCopy(World):
    """A refusal is the last word, though a second copy was sent."""

    def settles(self, turn: Turn) -> bool:
        return True


class TakesAwayAtOnce(World):
    """What is taken away from a peer's agent is free at once."""

    def taken_away(self, command: ReleaseClaim) -> None:
        super().taken_away(command)
        claim = self.owner.state.claims.get((NAMESPACE, command.task_id))
        if claim is not None and claim.revoked:
            self.owner.do(ReleaseClaim(agent=claim.owner, namespace=NAMESPACE, task_id=command.task_id), self.true)


class AcknowledgesUnread(World):
    """A revocation is acknowledged, and the receipt kept until it runs out."""

    def refreshed(self, edge: Edge, command: RefreshReceipts) -> None:
        receipts = edge.state.team.receipts
        still = tuple(
            KeepReceipt(
                claim=kept.claim,
                hub_id="",
                owner_seq=kept.owner_seq,
                valid_until=kept.valid_until,
                valid_until_wall=kept.valid_until_wall,
                boot_id=kept.boot_id,
            )
            for namespace, task_id, _ in command.revoked
            if (kept := receipts.get((namespace, task_id)))
        )
        super().refreshed(edge, msgspec.structs.replace(command, revoked=(), held=(*command.held, *still)))


class AcknowledgesEarly(World):
    """A revocation is acknowledged although the answer that grants the very claim may be on its way."""

    hasty = True


class TrustsOneClock(World):
    """The wall clock does not end a receipt."""

    def covers(self, edge: Edge, task: TaskKey) -> bool:
        return edge.state.team.covers(task, edge.boot(self.true), 0.0, self.boot_id(edge))


class KeepsReceiptsForever(World):
    """A receipt counts as long as the lease that it tells of."""

    def covers(self, edge: Edge, task: TaskKey) -> bool:
        kept = edge.state.team.receipts[task]
        unending = msgspec.structs.replace(kept, valid_until=kept.claim.lease_expires_at, valid_until_wall=1e12)
        receipts = edge.state.team.receipts.set(task, unending)
        team = msgspec.structs.replace(edge.state.team, receipts=receipts)
        return team.covers(task, edge.boot(self.true), edge.wall(self.true), self.boot_id(edge))


class ReadsTheOwnersClock(World):
    """The expiry that the owner told is taken for one by the edge's own clock."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        for edge in self.edges:
            edge.freeze(25.0)

    def told(self, edge: Edge, document: dict[str, Any]) -> dict[str, Any]:
        shifted = super().told(edge, document)
        ahead = self.owner.boot(self.true) - edge.boot(self.true)
        return {**shifted, "lease_expires_at": shifted["lease_expires_at"] + ahead}


class BelievesReplays(Retrying):
    """What was granted once is taken to be held when the answer is given again."""

    def old_news(self, outcome: Decided) -> bool:
        return False


class DriftsFurther(World):
    """Clocks run apart by more than is allowed for."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        for edge in self.edges:
            edge.rate = 1.0 + self.chance.choice((-10, 10)) * CLOCK_DRIFT_SHARE


class TakesOldSignatures(World):
    """A signature counts however old it is."""

    def admits(self, request: Request) -> bool:
        return not self.nonces.known(request.edge.name, request.nonce, request.created) and self.nonces.remember(
            request.edge.name, request.nonce, request.created, self.owner.wall(self.true)
        )


class TakesAnySignatureTwice(World):
    """A nonce counts as often as it comes, and keys are not remembered over a restart."""

    def admits(self, request: Request) -> bool:
        return True

    def restart_owner(self) -> None:
        super().restart_owner()
        answers = type(self.owner.state.answers)()
        self.owner.state = msgspec.structs.replace(self.owner.state, answers=answers)


class ForgetsKeys(World):
    """The answer to a key is not given again."""

    def decided(self, command: FamilyCommand, key: str) -> Outcome:
        return self.owner.do(command, self.true)


# With a seed that finds it out; where the histories were changed since, others are tried.
BROKEN = {
    CountsFromTheAnswer: 645,
    CountsWhileUnderWay: 715,
    BelievesAnyListing: 5011,
    ForgetsOlderCommands: 11334,
    SettlesByTheFirstCopy: 18405,
    TakesAwayAtOnce: 58,
    AcknowledgesUnread: 3907,
    AcknowledgesEarly: 87875,
    TrustsOneClock: 429,
    KeepsReceiptsForever: 422,
    ReadsTheOwnersClock: 645,
    BelievesReplays: 39369,
    DriftsFurther: 14510,
    TakesOldSignatures: 8886,
    TakesAnySignatureTwice: 132,
    ForgetsKeys: 9,
}


@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
def test_a_team_with_one_rule_taken_out_is_found_out(kind: type[World]) -> None:
    """Some history breaks a rule; else these histories would prove nothing."""
    known = BROKEN[kind]
    assert violates(kind, range(known, known + 1), STEPS) is not None or violates(kind, range(MOST), STEPS) is not None


def test_the_bounds_leave_room_for_each_other() -> None:
    """What the rules assume of the numbers."""
    from synapse_git import constants

    window = constants.DEFAULT_MESSAGE_AUTH_WINDOW_SECONDS + 2 * constants.DEFAULT_MESSAGE_AUTH_FUTURE_SKEW_SECONDS
    assert window < constants.FORWARD_DOUBT_SECONDS
    assert RECEIPT_VALIDITY_SECONDS < constants.REVOCATION_SECONDS
    assert constants.RECEIPT_REFRESH_SECONDS < RECEIPT_VALIDITY_SECONDS / 2
