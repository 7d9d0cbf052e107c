"""All that the hub knows, immutable, and `apply`, the only way in which it changes.

`apply` is total, reads no clock and does no I/O: replaying the journal through it rebuilds the same state
(Spec: INV-RR-1), and readers keep whatever version they hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any, assert_never

import msgspec
from immutables import Map

from synapse_git.constants import DENIAL_COALESCE_SECONDS, IDEMPOTENCY_RETENTION_SECONDS, MAX_REMEMBERED_DENIALS
from synapse_hub.core import overlap
from synapse_hub.core.claim import Claim, TaskKey, TreeKey
from synapse_hub.core.events import (
    AnyEvent,
    ClaimDenied,
    ClaimGranted,
    ClaimReleased,
    CommandAnswered,
    GuardDenied,
    GuardOverridden,
    LeaseExpired,
    LeaseExtended,
    WorktreeRegistered,
)
from synapse_hub.core.recent import Recent

# sender (principal and agent), verb, key
AnswerKey = tuple[str, str, str]
Answer = tuple[str, dict[str, Any]]


class State(msgspec.Struct, frozen=True):
    """``seq``, ``last_at``: of the last event. ``epoch``: the highest ever stamped. Claims may be past their expiry."""

    seq: int = 0
    last_at: float = 0.0
    epoch: int = 0
    claims: Map[TaskKey, Claim] = Map()
    trees: Map[TreeKey, overlap.Node] = Map()
    by_owner: Map[str, Map[TaskKey, None]] = Map()
    by_principal: Map[str, Map[TaskKey, None]] = Map()
    worktrees: Map[str, WorktreeRegistered] = Map()
    answers: Recent[AnswerKey, Answer] = Recent()
    denials: Recent[str, None] = Recent()

    def tree(self, key: TreeKey) -> overlap.Node:
        return self.trees.get(key, overlap.EMPTY)

    def live(self, key: TaskKey, now: float) -> Claim | None:
        """The claim on a task unless its lease is over, written down as expired or not."""
        claim = self.claims.get(key)
        return claim if claim is not None and claim.live(now) else None

    def owned(self, agent: str, now: float) -> Iterator[Claim]:
        """The live claims of ``agent``."""
        for key in self.by_owner.get(agent, Map()):
            if claim := self.live(key, now):
                yield claim

    def denied_lately(self, event: ClaimDenied | GuardDenied) -> bool:
        """Is the same evidence on record from the last minute? A loop must not flood the journal."""
        before = self.denials.get(denial_key(event))
        return before is not None and before[0] > event.at - DENIAL_COALESCE_SECONDS


def apply(state: State, event: AnyEvent) -> State:
    """``state`` after ``event``. Total: an event about a claim that is not there changes nothing but ``seq``."""
    return msgspec.structs.replace(_change(state, event), seq=state.seq + 1, last_at=event.at)


def apply_all(state: State, events: Iterable[AnyEvent]) -> State:
    return reduce(apply, events, state)


def _change(state: State, event: AnyEvent) -> State:
    match event:
        case ClaimGranted():
            return _grant(state, event.claim)
        case LeaseExtended():
            return _extend(state, event)
        case ClaimReleased() | LeaseExpired():
            return _drop(state, (event.namespace, event.task_id))
        case ClaimDenied() | GuardDenied():
            return _remember_denial(state, event)
        case GuardOverridden():
            return state
        case WorktreeRegistered():
            return msgspec.structs.replace(state, worktrees=state.worktrees.set(event.worktree, event))
        case CommandAnswered():
            return _remember_answer(state, event)
    assert_never(event)


def _grant(state: State, claim: Claim) -> State:
    known = state.claims.get(claim.key)
    if known is not None and _indexed(known) == _indexed(claim):
        return msgspec.structs.replace(
            state, epoch=max(state.epoch, claim.epoch), claims=state.claims.set(claim.key, claim)
        )
    return _hold(_drop(state, claim.key), claim)


def _indexed(claim: Claim) -> tuple[object, ...]:
    """What the indexes know of a claim: a renewal that leaves it alone leaves them alone."""
    return (claim.owner, claim.principal, claim.worktree, claim.paths)


def _hold(state: State, claim: Claim) -> State:
    tree = state.tree(claim.tree)
    for path in claim.scope():
        tree = overlap.insert(tree, path, claim.key, claim.owner)
    return msgspec.structs.replace(
        state,
        epoch=max(state.epoch, claim.epoch),
        claims=state.claims.set(claim.key, claim),
        trees=state.trees.set(claim.tree, tree),
        by_owner=_joined(state.by_owner, claim.owner, claim.key),
        by_principal=_joined(state.by_principal, claim.principal, claim.key),
    )


def _drop(state: State, key: TaskKey) -> State:
    claim = state.claims.get(key)
    if claim is None:
        return state
    tree = state.tree(claim.tree)
    for path in claim.scope():
        tree = overlap.remove(tree, path, key, claim.owner)
    return msgspec.structs.replace(
        state,
        claims=state.claims.delete(key),
        trees=state.trees.set(claim.tree, tree) if tree.owners else state.trees.delete(claim.tree),
        by_owner=_parted(state.by_owner, claim.owner, key),
        by_principal=_parted(state.by_principal, claim.principal, key),
    )


def _extend(state: State, event: LeaseExtended) -> State:
    key = (event.namespace, event.task_id)
    claim = state.claims.get(key)
    if claim is None:
        return state
    longer = msgspec.structs.replace(claim, lease_expires_at=event.lease_expires_at)
    return msgspec.structs.replace(state, claims=state.claims.set(key, longer))


def _joined(groups: Map[str, Map[TaskKey, None]], name: str, key: TaskKey) -> Map[str, Map[TaskKey, None]]:
    return groups.set(name, groups.get(name, Map()).set(key, None))


def _parted(groups: Map[str, Map[TaskKey, None]], name: str, key: TaskKey) -> Map[str, Map[TaskKey, None]]:
    left = groups[name].delete(key)
    return groups.set(name, left) if left else groups.delete(name)


def _remember_denial(state: State, event: ClaimDenied | GuardDenied) -> State:
    denials = state.denials.put(
        denial_key(event),
        event.at,
        None,
        keep_after=event.at - DENIAL_COALESCE_SECONDS,
        capacity=MAX_REMEMBERED_DENIALS,
    )
    return msgspec.structs.replace(state, denials=denials)


def denial_key(event: ClaimDenied | GuardDenied) -> str:
    """Evidence that says the same within a minute is one event."""
    where = event.task_id if isinstance(event, ClaimDenied) else event.action
    return repr((event.agent, event.namespace, where, event.worktree, event.paths, event.holders))


def _remember_answer(state: State, event: CommandAnswered) -> State:
    answers = state.answers.put(
        (event.sender, event.verb, event.key),
        event.at,
        (event.digest, event.answer),
        keep_after=event.at - IDEMPOTENCY_RETENTION_SECONDS,
    )
    return msgspec.structs.replace(state, answers=answers)
