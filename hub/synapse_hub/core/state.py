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

from synapse_git.constants import (
    CHECKPOINT_RETENTION_SECONDS,
    DENIAL_COALESCE_SECONDS,
    FOREIGN_EDIT_SHOWN_SECONDS,
    IDEMPOTENCY_RETENTION_SECONDS,
    MAX_IDEMPOTENCY_KEYS,
    MAX_REMEMBERED_DENIALS,
    MAX_REMEMBERED_NAMES,
    MAX_RETAINED_CHECKPOINTS,
    MAX_SHOWN_FOREIGN_EDITS,
)
from synapse_hub.core import overlap
from synapse_hub.core.board import Board, noted, offered, withdrawn
from synapse_hub.core.claim import Claim, TaskKey, TreeKey
from synapse_hub.core.events import AnyEvent
from synapse_hub.core.events.claims import (
    CheckpointSaved,
    ClaimDenied,
    ClaimGranted,
    ClaimReleased,
    LeaseExpired,
    LeaseExtended,
    TaskHandedOff,
    TaskUpdated,
)
from synapse_hub.core.events.guard import ForeignEditSeen, GuardDenied, GuardOverridden, WorktreeRegistered
from synapse_hub.core.events.names import KeyPinned, NameBound, NameDisconnected, NameReclaimed, NameReleased
from synapse_hub.core.events.talk import (
    MessageAcknowledged,
    MessageSent,
    NoteAdded,
    ResourceOffered,
    ResourceWithdrawn,
    TalkEvent,
)
from synapse_hub.core.events.team import (
    CheckpointInherited,
    ClaimRevoked,
    NamespaceCeded,
    NamespaceInherited,
    ReportOwed,
)
from synapse_hub.core.events.upkeep import CommandAnswered, IncarnationStarted
from synapse_hub.core.mail import Mail, acknowledged, delivered
from synapse_hub.core.names import Names
from synapse_hub.core.recent import Recent, near
from synapse_hub.core.team.reports import owing
from synapse_hub.core.team.state import Team, apply_team, ceded

# sender (principal and agent), verb, key
AnswerKey = tuple[str, str, str]
Answer = tuple[str, dict[str, Any]]
LeaseEvent = (
    ClaimGranted
    | LeaseExtended
    | ClaimReleased
    | ClaimRevoked
    | TaskUpdated
    | TaskHandedOff
    | CheckpointSaved
    | LeaseExpired
)
Evidence = ClaimDenied | GuardDenied | GuardOverridden | ForeignEditSeen


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
    checkpoints: Recent[TaskKey, Any] = Recent()
    principals: Recent[str, str] = Recent()
    mail: Mail = Mail()
    board: Board = Board()
    foreign_edits: Recent[str, ForeignEditSeen] = Recent()
    team: Team = Team()
    names: Names = Names()

    def tree(self, key: TreeKey) -> overlap.Node:
        return self.trees.get(key, overlap.EMPTY)

    def live(self, key: TaskKey, now: float) -> Claim | None:
        """The claim on a task unless its lease is over, written down as expired or not."""
        claim = self.claims.get(key)
        return claim if claim is not None and claim.live(now) else None

    def owned(self, agent: str, now: float) -> Iterator[Claim]:
        """The live claims of ``agent``, but for those that were taken away."""
        for key in self.by_owner.get(agent, Map()):
            if (claim := self.live(key, now)) and not claim.revoked:
                yield claim

    def retained(self, key: TaskKey) -> Any:
        """The checkpoint that an ended claim left on the task, or None."""
        found = self.checkpoints.get(key)
        return found and found[1]

    def principal_of(self, agent: str) -> str:
        """The principal last seen for that name, or ''."""
        found = self.principals.get(agent)
        return found[1] if found else ""

    def denied_lately(self, event: Evidence) -> bool:
        """Is the same evidence on record from the last minute? A loop must not flood the journal."""
        before = self.denials.get(denial_key(event))
        return before is not None and near(before[0], event.at, DENIAL_COALESCE_SECONDS)


def apply(state: State, event: AnyEvent) -> State:
    """``state`` after ``event``. Total: an event about a claim that is not there changes nothing but ``seq``."""
    seq = event.first_seq if isinstance(event, IncarnationStarted) else state.seq + 1
    return msgspec.structs.replace(_change(state, event), seq=seq, last_at=event.at)


def apply_all(state: State, events: Iterable[AnyEvent]) -> State:
    return reduce(apply, events, state)


def _change(state: State, event: AnyEvent) -> State:
    match event:
        case ClaimDenied() | GuardDenied() | GuardOverridden() | ForeignEditSeen():
            return _remember_denial(state, event)
        case MessageSent() | MessageAcknowledged() | NoteAdded() | ResourceOffered() | ResourceWithdrawn():
            return _change_talk(state, event)
        case WorktreeRegistered():
            return msgspec.structs.replace(state, worktrees=state.worktrees.set(event.worktree, event))
        case NameBound() | NameDisconnected() | NameReleased() | NameReclaimed() | KeyPinned():
            return msgspec.structs.replace(state, names=state.names.after(event))
        case CommandAnswered():
            return _remember_answer(state, event)
        case IncarnationStarted():
            return msgspec.structs.replace(state, epoch=max(state.epoch, event.epoch))
        case (
            ClaimGranted()
            | LeaseExtended()
            | ClaimReleased()
            | ClaimRevoked()
            | TaskUpdated()
            | TaskHandedOff()
            | CheckpointSaved()
            | LeaseExpired()
        ):
            return _change_lease(state, event)
        case NamespaceCeded():
            return _cede(state, event)
        case NamespaceInherited() | CheckpointInherited():
            return _inherit(state, event)
        case ReportOwed():
            return msgspec.structs.replace(state, team=owing(state.team, state.seq + 1, event))
        case _:
            return msgspec.structs.replace(state, team=apply_team(state.team, event))


def _cede(state: State, event: NamespaceCeded) -> State:
    """What is held in the namespace is held here no more."""
    claims = tuple(claim for claim in state.claims.values() if claim.namespace == event.namespace)
    for claim in claims:
        state = _drop(state, claim.key)
    return msgspec.structs.replace(state, team=ceded(state.team, event, claims, state.epoch))


def _inherit(state: State, event: NamespaceInherited | CheckpointInherited) -> State:
    checkpoints = state.checkpoints
    if isinstance(event, CheckpointInherited):
        key = (event.namespace, event.task_id)
        keep_after = event.at - CHECKPOINT_RETENTION_SECONDS
        kept = checkpoints.put(key, event.at, event.data, keep_after=keep_after, capacity=MAX_RETAINED_CHECKPOINTS)
        return msgspec.structs.replace(state, checkpoints=kept)
    for task, _, _ in checkpoints.items():
        if task[0] == event.namespace:
            checkpoints = checkpoints.without(task)
    return msgspec.structs.replace(
        state,
        epoch=max(state.epoch, event.epoch),
        checkpoints=checkpoints,
        team=apply_team(state.team, event),
    )


def _change_talk(state: State, event: TalkEvent) -> State:
    match event:
        case MessageSent():
            return msgspec.structs.replace(state, mail=delivered(state.mail, state.seq + 1, event))
        case MessageAcknowledged():
            return msgspec.structs.replace(state, mail=acknowledged(state.mail, event))
        case NoteAdded():
            return msgspec.structs.replace(state, board=noted(state.board, state.seq + 1, event))
        case ResourceOffered():
            return msgspec.structs.replace(state, board=offered(state.board, event))
        case ResourceWithdrawn():
            return msgspec.structs.replace(state, board=withdrawn(state.board, event))
    assert_never(event)


def _change_lease(state: State, event: LeaseEvent) -> State:
    match event:
        case ClaimGranted() | TaskHandedOff():
            return _grant(state, event.claim)
        case LeaseExtended():
            return _amend(state, event, lease_expires_at=event.lease_expires_at)
        case ClaimRevoked():
            return _amend(state, event, lease_expires_at=event.lease_expires_at, revoked=True)
        case TaskUpdated():
            return _amend(state, event, version=event.version, status=event.status, note=event.note)
        case CheckpointSaved():
            return _amend(state, event, checkpoint=event.data)
        case ClaimReleased():
            return _release(state, event)
        case LeaseExpired():
            return _retain(state, (event.namespace, event.task_id), event.at)
    assert_never(event)


def _grant(state: State, claim: Claim) -> State:
    principals = state.principals.put(
        claim.owner, claim.granted_at, claim.principal, keep_after=0.0, capacity=MAX_REMEMBERED_NAMES
    )
    state = msgspec.structs.replace(state, principals=principals, checkpoints=state.checkpoints.without(claim.key))
    known = state.claims.get(claim.key)
    if known is None or _indexed(known) != _indexed(claim):
        return hold(_drop(state, claim.key), claim)
    return msgspec.structs.replace(
        state,
        epoch=max(state.epoch, claim.epoch),
        claims=state.claims.set(claim.key, claim),
        trees=state.trees if known.paths == claim.paths else _moved(state, known, claim),
    )


def _indexed(claim: Claim) -> tuple[str, ...]:
    """What the indexes know of a claim beside its paths: a renewal leaves that alone."""
    return (claim.owner, claim.principal, claim.worktree)


def _moved(state: State, known: Claim, claim: Claim) -> Map[TreeKey, overlap.Node]:
    """The trees with the paths of ``claim`` instead of those that were ``known`` of it."""
    tree, before, after = state.tree(claim.tree), known.scope(), claim.scope()
    for path in set(after).difference(before):
        tree = overlap.insert(tree, path, claim.key, claim.owner)
    for path in set(before).difference(after):
        tree = overlap.remove(tree, path, claim.key, claim.owner)
    return state.trees.set(claim.tree, tree)


def hold(state: State, claim: Claim) -> State:
    """``state`` with ``claim`` in every index; nobody holds its task yet."""
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


def _amend(state: State, event: LeaseExtended | ClaimRevoked | TaskUpdated | CheckpointSaved, **fields: Any) -> State:
    key = (event.namespace, event.task_id)
    claim = state.claims.get(key)
    if claim is None:
        return state
    return msgspec.structs.replace(state, claims=state.claims.set(key, msgspec.structs.replace(claim, **fields)))


def _release(state: State, event: ClaimReleased) -> State:
    """A finished task takes its checkpoint along; one that was taken away leaves it to the next. Spec: INV-CR-3."""
    key = (event.namespace, event.task_id)
    return _retain(state, key, event.at) if event.forced else _drop(state, key)


def _retain(state: State, key: TaskKey, at: float) -> State:
    """Without the claim, but with its checkpoint for whoever comes next. Spec: INV-LL-2."""
    claim = state.claims.get(key)
    state = _drop(state, key)
    if claim is None or claim.checkpoint is None:
        return state
    checkpoints = state.checkpoints.put(
        key,
        at,
        claim.checkpoint,
        keep_after=at - CHECKPOINT_RETENTION_SECONDS,
        capacity=MAX_RETAINED_CHECKPOINTS,
    )
    return msgspec.structs.replace(state, checkpoints=checkpoints)


def _joined(groups: Map[str, Map[TaskKey, None]], name: str, key: TaskKey) -> Map[str, Map[TaskKey, None]]:
    return groups.set(name, groups.get(name, Map()).set(key, None))


def _parted(groups: Map[str, Map[TaskKey, None]], name: str, key: TaskKey) -> Map[str, Map[TaskKey, None]]:
    left = groups[name].delete(key)
    return groups.set(name, left) if left else groups.delete(name)


def _remember_denial(state: State, event: Evidence) -> State:
    denials = state.denials.put(
        denial_key(event),
        event.at,
        None,
        keep_after=event.at - DENIAL_COALESCE_SECONDS,
        capacity=MAX_REMEMBERED_DENIALS,
    )
    state = msgspec.structs.replace(state, denials=denials)
    return _remember_foreign_edit(state, event) if isinstance(event, ForeignEditSeen) else state


def _remember_foreign_edit(state: State, event: ForeignEditSeen) -> State:
    edits = state.foreign_edits.put(
        denial_key(event),
        event.at,
        event,
        keep_after=event.at - FOREIGN_EDIT_SHOWN_SECONDS,
        capacity=MAX_SHOWN_FOREIGN_EDITS,
    )
    return msgspec.structs.replace(state, foreign_edits=edits)


def denial_key(event: Evidence) -> str:
    """Evidence that says the same within a minute is one event."""
    match event:
        case ClaimDenied():
            what = event.task_id
        case GuardDenied():
            what = event.action
        case GuardOverridden():
            what = f"{event.action} {event.reason_text} {event.spooled_at}"
        case ForeignEditSeen():
            what = f"foreign edit {event.quarantine}"
    return repr((event.agent, event.namespace, what, event.worktree, event.paths, event.holders))


def _remember_answer(state: State, event: CommandAnswered) -> State:
    answers = state.answers.put(
        (event.sender, event.verb, event.key),
        event.at,
        (event.digest, event.answer),
        keep_after=event.at - IDEMPOTENCY_RETENTION_SECONDS,
        capacity=MAX_IDEMPOTENCY_KEYS,  # the decision sees to it that none goes early
    )
    return msgspec.structs.replace(state, answers=answers)
