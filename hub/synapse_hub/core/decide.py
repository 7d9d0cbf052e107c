"""One decision for any command, and the idempotency keys around it."""

from __future__ import annotations

from typing import assert_never

import msgspec

from synapse_git.constants import IDEMPOTENCY_RETENTION_SECONDS, MAX_IDEMPOTENCY_KEYS
from synapse_git.protocol.path import to_wire
from synapse_hub.core.adoption import decide_adopt
from synapse_hub.core.binding import decide_bind, decide_end, decide_free, decide_reclaim, impostor
from synapse_hub.core.claims import decide_claim
from synapse_hub.core.commands import AnyCommand, Keyed, ProbeJournal
from synapse_hub.core.commands.base import Acting
from synapse_hub.core.commands.claims import (
    AdoptClaims,
    ClaimEdit,
    ExpireDue,
    ExtendLeases,
    FamilyCommand,
    HandOff,
    Heartbeat,
    ReanchorLeases,
    ReleaseClaim,
    SaveCheckpoint,
    TakeClaim,
    UpdateTask,
    YieldClaims,
)
from synapse_hub.core.commands.guard import RecordDenial, RecordForeignEdit, RecordOverride, RegisterWorktree
from synapse_hub.core.commands.names import BindName, EndSessions, NameCommand, ReclaimName, ReleaseName
from synapse_hub.core.commands.talk import (
    Acknowledge,
    AddNote,
    OfferResource,
    SendMessage,
    TalkCommand,
    WithdrawResource,
)
from synapse_hub.core.commands.team import InheritNamespace
from synapse_hub.core.edits import decide_edit
from synapse_hub.core.events.guard import WorktreeRegistered
from synapse_hub.core.events.upkeep import CommandAnswered
from synapse_hub.core.foreign import decide_foreign_edit
from synapse_hub.core.guard import decide_denial, decide_override
from synapse_hub.core.holding import (
    decide_checkpoint,
    decide_expire,
    decide_extend,
    decide_handoff,
    decide_heartbeat,
    decide_reanchor,
    decide_release,
    decide_update,
    decide_yield,
)
from synapse_hub.core.messages import decide_acknowledge, decide_send
from synapse_hub.core.notes import decide_note, decide_offer, decide_withdraw
from synapse_hub.core.notices import notices
from synapse_hub.core.outcome import Decided, Outcome, Refusal
from synapse_hub.core.recent import near
from synapse_hub.core.state import State
from synapse_hub.core.team.decide import decide_team, forbidden
from synapse_hub.core.team.transfer import decide_inherit


def decide(state: State, command: AnyCommand, now: float) -> Outcome:
    """What ``command`` comes to in ``state`` at ``now`` (lease-clock seconds), and who has to hear of it. Pure.

    Under a name that is bound to another session everything is refused with NAME_OWNED.
    """
    acting = command.command if isinstance(command, Keyed) else command
    if isinstance(acting, Acting) and (refused := impostor(state, acting.agent, acting.session, now)):
        return refused
    outcome = _decide(state, command, now)
    told = notices(state, outcome.events, now)
    return msgspec.structs.replace(outcome, events=[*outcome.events, *told]) if told else outcome


def _decide(state: State, command: AnyCommand, now: float) -> Outcome:  # noqa: C901 - one case for each command
    match command:
        case Keyed():
            return _decide_keyed(state, command, now)
        case TakeClaim() | ReleaseClaim() | UpdateTask() | HandOff() | SaveCheckpoint():
            return _decide_family(state, command, now)
        case Heartbeat():
            return decide_heartbeat(state, command, now)
        case ExtendLeases():
            return decide_extend(state, command, now)
        case ReanchorLeases():
            return decide_reanchor(state, command, now)
        case ExpireDue():
            return decide_expire(state, command, now)
        case YieldClaims():
            return decide_yield(state, command, now)
        case AdoptClaims():
            return decide_adopt(state, command, now)
        case InheritNamespace():
            return decide_inherit(state.team, state.answers, command, now)
        case ClaimEdit():
            return forbidden(state.team, command.namespace) or decide_edit(state, command, now)
        case RecordDenial():
            return decide_denial(state, command, now)
        case RecordOverride():
            return decide_override(state, command, now)
        case RecordForeignEdit():
            return decide_foreign_edit(state, command, now)
        case RegisterWorktree():
            return _decide_register(state, command, now)
        case SendMessage() | Acknowledge() | AddNote() | OfferResource() | WithdrawResource():
            return _decide_talk(state, command, now)
        case BindName() | EndSessions() | ReleaseName() | ReclaimName():
            return _decide_name(state, command, now)
        case ProbeJournal():
            return Decided([], {})
        case _:
            return decide_team(state.team, command, now)


def _decide_talk(state: State, command: TalkCommand, now: float) -> Outcome:
    match command:
        case SendMessage():
            return decide_send(state, command, now)
        case Acknowledge():
            return decide_acknowledge(state, command, now)
        case AddNote():
            return decide_note(state, command, now)
        case OfferResource():
            return decide_offer(state, command, now)
        case WithdrawResource():
            return decide_withdraw(state, command, now)
    assert_never(command)


def _decide_family(state: State, command: FamilyCommand, now: float) -> Outcome:
    if refusal := forbidden(state.team, command.namespace):
        return refusal
    match command:
        case TakeClaim():
            return decide_claim(state, command, now)
        case ReleaseClaim():
            return decide_release(state, command, now)
        case UpdateTask():
            return decide_update(state, command, now)
        case HandOff():
            return decide_handoff(state, command, now)
        case SaveCheckpoint():
            return decide_checkpoint(state, command, now)
    assert_never(command)


def _decide_name(state: State, command: NameCommand, now: float) -> Outcome:
    match command:
        case BindName():
            return decide_bind(state, command, now)
        case EndSessions():
            return decide_end(state, command, now)
        case ReleaseName():
            return decide_free(state, command, now)
        case ReclaimName():
            return decide_reclaim(state, command, now)
    assert_never(command)


def _decide_keyed(state: State, keyed: Keyed, now: float) -> Outcome:
    """Spec: INV-CR-1. The first answer of an applied command is given again; refusals are decided anew.

    What is put on record happened, whoever grants there.
    """
    evidence = isinstance(keyed.command, RecordOverride)
    if not evidence and (refusal := forbidden(state.team, keyed.command.namespace)):
        return refusal
    known = state.answers.get((keyed.sender, keyed.verb, keyed.key))
    if known is not None and near(known[0], now, IDEMPOTENCY_RETENTION_SECONDS):
        digest, answer = known[1]
        if digest == keyed.digest:
            return Decided([], {**answer, "replayed": True})
        return Refusal(
            "IDEMPOTENCY_CONFLICT",
            f"this key was used for another {keyed.verb} request",
            "Use a fresh Idempotency-Key for each request",
        )
    oldest = state.answers.oldest()
    full = len(state.answers) >= MAX_IDEMPOTENCY_KEYS
    if full and oldest is not None and near(oldest, now, IDEMPOTENCY_RETENTION_SECONDS):
        return Refusal(
            "QUOTA_EXCEEDED",
            f"{MAX_IDEMPOTENCY_KEYS} idempotency keys of the last day are remembered and none may be forgotten early",
            "Send the request without an Idempotency-Key, or later",
        )
    outcome = _decide(state, keyed.command, now)
    if isinstance(outcome, Refusal):
        return outcome
    answered = CommandAnswered(
        at=now, sender=keyed.sender, verb=keyed.verb, key=keyed.key, digest=keyed.digest, answer=outcome.answer
    )
    return Decided([*outcome.events, answered], outcome.answer)


def _decide_register(state: State, command: RegisterWorktree, now: float) -> Decided:
    event = WorktreeRegistered(
        at=now,
        worktree=command.worktree,
        root=to_wire(command.root),
        repository=command.repository,
        namespace=command.namespace,
        branch=command.branch,
        agent=command.agent,
        layers=command.layers,
    )
    known = state.worktrees.get(command.worktree)
    same = known is not None and msgspec.structs.replace(known, at=now) == event
    return Decided([] if same else [event], {"worktree": command.worktree})
