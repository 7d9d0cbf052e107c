"""The team's part of the state: governed namespaces, receipts of claims at other hubs, requests under way to them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from immutables import Map

from synapse_git.constants import FORWARD_DOUBT_SECONDS, RECEIPT_VALIDITY_SECONDS
from synapse_hub.core import overlap
from synapse_hub.core.claim import Claim, TaskKey, TreeKey
from synapse_hub.core.events.team import (
    ClaimForwarded,
    ForwardSettled,
    NamespaceCeded,
    NamespaceDelivered,
    NamespaceFreed,
    NamespaceGoverned,
    NamespaceInherited,
    OwnershipContested,
    OwnershipSettled,
    ReceiptEnded,
    ReceiptKept,
    ReportOwed,
    ReportSettled,
)
from synapse_hub.core.recent import Recent

TeamEvent = (
    NamespaceGoverned
    | NamespaceCeded
    | NamespaceDelivered
    | NamespaceInherited
    | NamespaceFreed
    | OwnershipContested
    | OwnershipSettled
    | ClaimForwarded
    | ForwardSettled
    | ReceiptKept
    | ReceiptEnded
    | ReportSettled
)


class Governed(msgspec.Struct, frozen=True):
    """As last known. ``contested_by``: peers that say they own it, though another hub does.

    ``term``: 0 until it was transferred, then as the owner's deed says; ``deed``: the owner's, where this hub gave it.
    """

    owner: str
    mine: bool
    remotes: tuple[str, ...]
    exclusion: str
    contested_by: tuple[str, ...] = ()
    term: int = 0
    deed: dict[str, str] | None = None


class Estate(msgspec.Struct, frozen=True):
    """What was held in a namespace that this hub ceded, until the next owner has it. ``epoch``: the highest stamped."""

    epoch: int
    claims: tuple[Claim, ...]


class UnderWay(msgspec.Struct, frozen=True):
    """A command without an answer: as in `ClaimForwarded`."""

    key: str
    at: float
    wall: float
    patience_s: float

    def open(self, sent_at: float, wall: float) -> bool:
        """Could it still reach the owner after a request that was sent then?

        The owner takes nothing that was signed long before what it took already. Both clocks must have gone on: the
        one may be set back.
        """
        doubt_s = self.patience_s + FORWARD_DOUBT_SECONDS
        return self.at > sent_at - doubt_s or self.wall > wall - doubt_s


class Team(msgspec.Struct, frozen=True):
    """``receipts``: claims of this hub's agents at other hubs, by tree in ``trees``; ``under_way``: by task.

    ``estates``: of namespaces that nobody grants in while they move; ``owed``: by event, what owners are to be told.
    """

    governed: Map[str, Governed] = Map()
    estates: Map[str, Estate] = Map()
    receipts: Map[TaskKey, ReceiptKept] = Map()
    trees: Map[TreeKey, overlap.Node] = Map()
    under_way: Map[TaskKey, tuple[UnderWay, ...]] = Map()
    # When something was last asked or answered about a task.
    touched: Recent[TaskKey, None] = Recent()
    owed: Recent[int, ReportOwed] = Recent()

    def covers(self, key: TaskKey, now: float, wall: float, boot_id: str) -> bool:
        """May a change go in on this receipt, without a question to the owner?"""
        return self.covered_s(key, now, wall, boot_id) > 0

    def covered_s(self, key: TaskKey, now: float, wall: float, boot_id: str) -> float:
        """For how many seconds yet changes may go in on this receipt, unless it is ended before; 0 if none may."""
        receipt = self.receipts.get(key)
        if receipt is None or key in self.under_way or boot_id != receipt.boot_id:
            return 0.0
        left = min(receipt.valid_until, receipt.claim.lease_expires_at) - now, receipt.valid_until_wall - wall
        return max(min(left), 0.0)

    def elsewhere(self, namespace: str) -> bool:
        """Does another hub grant in ``namespace``, as far as is known here?"""
        known = self.governed.get(namespace)
        return known is not None and not known.mine

    def held(self, key: TaskKey, now: float) -> Claim | None:
        """The claim as the owner last told it, unless its lease is over."""
        receipt = self.receipts.get(key)
        return receipt.claim if receipt is not None and receipt.claim.live(now) else None


def apply_team(team: Team, event: TeamEvent) -> Team:
    """``team`` after ``event``."""
    match event:
        case ClaimForwarded():
            task = (event.namespace, event.task_id)
            begun = UnderWay(event.key, event.at, event.wall, event.patience_s)
            others = _without(team.under_way.get(task, ()), event.key)
            team = msgspec.structs.replace(team, under_way=team.under_way.set(task, (*others, begun)))
            return _touched(team, task, event.at)
        case ForwardSettled():
            key = (event.namespace, event.task_id)
            return _settled(_dropped(team, key) if event.ended else team, key, event.key, event.at)
        case ReceiptKept():
            return _settled(_kept(team, event), event.claim.key, event.key, event.at)
        case NamespaceFreed():
            return _freed(team, event)
        case ReceiptEnded():
            return _dropped(team, (event.namespace, event.task_id))
        case ReportSettled():
            return msgspec.structs.replace(team, owed=team.owed.without(event.number))
        case NamespaceDelivered():
            estates = team.estates
            return (
                msgspec.structs.replace(team, estates=estates.delete(event.namespace)) if _moves(team, event) else team
            )
        case NamespaceInherited():
            return _inherited(team, event)
        case NamespaceCeded():
            return ceded(team, event, (), 0)
        case _:
            return msgspec.structs.replace(team, governed=_governed(team.governed, event))


def _freed(team: Team, event: NamespaceFreed) -> Team:
    """Nobody whose word counts here is asked about it any more."""
    for key in [key for key in team.receipts if key[0] == event.namespace]:
        team = _dropped(team, key)
    governed = team.governed
    return msgspec.structs.replace(
        team, governed=governed.delete(event.namespace) if event.namespace in governed else governed
    )


def _moves(team: Team, event: NamespaceDelivered) -> bool:
    known = team.governed.get(event.namespace)
    return event.namespace in team.estates and known is not None and known.term == event.term


def ceded(team: Team, event: NamespaceCeded, claims: tuple[Claim, ...], epoch: int) -> Team:
    """``team`` after the tombstone, with ``claims`` to be handed over."""
    known = team.governed.get(event.namespace)
    if known is None:
        return team
    entry = msgspec.structs.replace(known, owner=event.owner, mine=False, term=event.term, deed=event.deed)
    return msgspec.structs.replace(
        team,
        governed=team.governed.set(event.namespace, entry),
        estates=team.estates.set(event.namespace, Estate(epoch, claims)),
    )


def _inherited(team: Team, event: NamespaceInherited) -> Team:
    """What another hub answered about it counts no more: this one knows better."""
    for key in [key for key in team.receipts if key[0] == event.namespace]:
        team = _dropped(team, key)
    under_way = team.under_way
    for task in [task for task in under_way if task[0] == event.namespace]:
        under_way = under_way.delete(task)
    known = team.governed.get(event.namespace) or Governed(event.owner, False, (), "repository")
    entry = msgspec.structs.replace(known, owner=event.owner, mine=True, term=event.term, deed=None)
    governed = team.governed.set(event.namespace, entry)
    return msgspec.structs.replace(team, governed=governed, under_way=under_way)


def _governed(
    governed: Map[str, Governed], event: NamespaceGoverned | OwnershipContested | OwnershipSettled
) -> Map[str, Governed]:
    known = governed.get(event.namespace)
    if isinstance(event, NamespaceGoverned):
        # A hub that gives way to another is at odds with it no more.
        contested = tuple(name for name in known.contested_by if name != event.owner) if known else ()
        deed = known.deed if known and known.term == event.term else None
        entry = Governed(event.owner, event.mine, event.remotes, event.exclusion, contested, event.term, deed)
        return governed.set(event.namespace, entry)
    if known is None:
        return governed
    others = tuple(name for name in known.contested_by if name != event.by)
    by = (*others, event.by) if isinstance(event, OwnershipContested) else others
    return governed.set(event.namespace, msgspec.structs.replace(known, contested_by=by))


def _touched(team: Team, task: TaskKey, at: float) -> Team:
    touched = team.touched.put(task, at, None, keep_after=at - RECEIPT_VALIDITY_SECONDS)
    return msgspec.structs.replace(team, touched=touched)


def _settled(team: Team, task: TaskKey, key: str, at: float) -> Team:
    """The command ``key`` has its answer; others about the task may still reach the owner, after it and before it."""
    begun = team.under_way.get(task, ())
    left = _without(begun, key)
    if left == begun:
        return team
    under_way = team.under_way.set(task, left) if left else team.under_way.delete(task)
    return _touched(msgspec.structs.replace(team, under_way=under_way), task, at)


def _without(begun: tuple[UnderWay, ...], key: str) -> tuple[UnderWay, ...]:
    return tuple(one for one in begun if one.key != key)


def _kept(team: Team, receipt: ReceiptKept) -> Team:
    return hold_receipts(_dropped(team, receipt.claim.key), [receipt])


def hold_receipts(team: Team, receipts: Iterable[ReceiptKept]) -> Team:
    """``team`` with receipts of tasks that it has none of."""
    for receipt in receipts:
        claim = receipt.claim
        tree = team.trees.get(claim.tree, overlap.EMPTY)
        for path in claim.scope():
            tree = overlap.insert(tree, path, claim.key, claim.owner)
        team = msgspec.structs.replace(
            team, receipts=team.receipts.set(claim.key, receipt), trees=team.trees.set(claim.tree, tree)
        )
    return team


def _dropped(team: Team, key: TaskKey) -> Team:
    receipt = team.receipts.get(key)
    if receipt is None:
        return team
    claim = receipt.claim
    tree = team.trees.get(claim.tree, overlap.EMPTY)
    for path in claim.scope():
        tree = overlap.remove(tree, path, key, claim.owner)
    trees = team.trees.set(claim.tree, tree) if tree.owners else team.trees.delete(claim.tree)
    return msgspec.structs.replace(team, receipts=team.receipts.delete(key), trees=trees)
