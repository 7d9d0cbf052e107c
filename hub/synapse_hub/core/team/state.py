"""The team's part of the state: governed namespaces, receipts of claims at other hubs, requests under way to them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from immutables import Map

from synapse_git.constants import FORWARD_DOUBT_SECONDS
from synapse_hub.core import overlap
from synapse_hub.core.claim import Claim, TaskKey, TreeKey
from synapse_hub.core.events import (
    ClaimForwarded,
    ForwardSettled,
    NamespaceFreed,
    NamespaceGoverned,
    OwnershipContested,
    OwnershipSettled,
    ReceiptEnded,
    ReceiptKept,
)
from synapse_hub.core.recent import Recent

TeamEvent = (
    NamespaceGoverned
    | NamespaceFreed
    | OwnershipContested
    | OwnershipSettled
    | ClaimForwarded
    | ForwardSettled
    | ReceiptKept
    | ReceiptEnded
)


# By then no receipt that it suspended is valid any more.
_FORGOTTEN_AFTER_S = 3600.0


class Governed(msgspec.Struct, frozen=True):
    """As last known. ``contested_by``: peers that say they own it, though another hub does."""

    owner: str
    mine: bool
    remotes: tuple[str, ...]
    exclusion: str
    contested_by: tuple[str, ...] = ()


class Team(msgspec.Struct, frozen=True):
    """``receipts``: claims of this hub's agents at other hubs, by tree in ``trees``; ``under_way``: task → key."""

    governed: Map[str, Governed] = Map()
    receipts: Map[TaskKey, ReceiptKept] = Map()
    trees: Map[TreeKey, overlap.Node] = Map()
    under_way: Recent[TaskKey, str] = Recent()

    def covers(self, key: TaskKey, now: float, wall: float, boot_id: str) -> bool:
        """May a change go in on this receipt, without a question to the owner?"""
        receipt = self.receipts.get(key)
        return (
            receipt is not None
            and key not in self.under_way.entries
            and receipt.claim.live(now)
            and now < receipt.valid_until
            and wall < receipt.valid_until_wall
            and boot_id == receipt.boot_id
        )

    def held(self, key: TaskKey, now: float) -> Claim | None:
        """The claim as the owner last told it, unless its lease is over."""
        receipt = self.receipts.get(key)
        return receipt.claim if receipt is not None and receipt.claim.live(now) else None

    def in_doubt(self, key: TaskKey, now: float) -> bool:
        """Could a request about the task still reach the owner, unanswered as it is?"""
        begun = self.under_way.get(key)
        return begun is not None and begun[0] > now - FORWARD_DOUBT_SECONDS


def apply_team(team: Team, event: TeamEvent) -> Team:
    """``team`` after ``event``."""
    match event:
        case ClaimForwarded():
            under_way = team.under_way.put(
                (event.namespace, event.task_id), event.at, event.key, keep_after=event.at - _FORGOTTEN_AFTER_S
            )
            return msgspec.structs.replace(team, under_way=under_way)
        case ForwardSettled():
            key = (event.namespace, event.task_id)
            return _settled(_dropped(team, key) if event.ended else team, key, event.key)
        case ReceiptKept():
            return _settled(_kept(team, event), event.claim.key, event.key)
        case ReceiptEnded():
            return _dropped(team, (event.namespace, event.task_id))
        case _:
            return msgspec.structs.replace(team, governed=_governed(team.governed, event))


def _governed(
    governed: Map[str, Governed], event: NamespaceGoverned | NamespaceFreed | OwnershipContested | OwnershipSettled
) -> Map[str, Governed]:
    known = governed.get(event.namespace)
    if isinstance(event, NamespaceGoverned):
        contested = known.contested_by if known else ()
        entry = Governed(event.owner, event.mine, event.remotes, event.exclusion, contested)
        return governed.set(event.namespace, entry)
    if known is None:
        return governed
    if isinstance(event, NamespaceFreed):
        return governed.delete(event.namespace)
    others = tuple(name for name in known.contested_by if name != event.by)
    by = (*others, event.by) if isinstance(event, OwnershipContested) else others
    return governed.set(event.namespace, msgspec.structs.replace(known, contested_by=by))


def _settled(team: Team, task: TaskKey, key: str) -> Team:
    """Nothing is under way about ``task`` any more, if ``key`` is the last thing that was."""
    begun = team.under_way.get(task)
    if begun is None or (key and begun[1] != key):
        return team
    return msgspec.structs.replace(team, under_way=team.under_way.without(task))


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
