"""Decisions on claims that are held: give back, hand over, update, save, keep alive, let end. Pure.

Every verb that changes a lease is fenced: a given epoch must be the current one (Spec: INV-EF-2).
"""

from __future__ import annotations

import msgspec

from synapse_git.constants import MAX_CHECKPOINT_BYTES, REVOCATION_SECONDS
from synapse_git.protocol.path import from_wire
from synapse_hub.core.claim import Claim, peer_of
from synapse_hub.core.claims import not_held, room, stale, taken_away
from synapse_hub.core.commands.claims import (
    ExpireDue,
    ExtendLeases,
    HandOff,
    Heartbeat,
    ReanchorLeases,
    ReleaseClaim,
    SaveCheckpoint,
    UpdateTask,
    YieldClaims,
)
from synapse_hub.core.contention import in_the_way
from synapse_hub.core.events import AnyEvent
from synapse_hub.core.events.claims import (
    CheckpointSaved,
    ClaimReleased,
    LeaseExpired,
    TaskHandedOff,
    TaskUpdated,
    expired,
)
from synapse_hub.core.events.team import ClaimRevoked
from synapse_hub.core.lease import extension, reanchored
from synapse_hub.core.outcome import Conflict, Decided, Outcome, Refusal, claim_document
from synapse_hub.core.state import State


def _own(state: State, command: ReleaseClaim | UpdateTask | HandOff | SaveCheckpoint, now: float) -> Claim | Refusal:
    """The live claim that ``command`` is about, if its agent holds it and is not fenced out."""
    held = state.live((command.namespace, command.task_id), now)
    forced = isinstance(command, ReleaseClaim) and command.force
    if held is None:
        return not_held(command.task_id)
    if held.owner != command.agent and not forced:
        return Refusal(
            "NOT_OWNER",
            f"task {command.task_id} is held by {held.owner}, not by {command.agent}",
            f"Ask {held.owner} to hand it over: synapse-git handoff {command.agent} -t {command.task_id}",
            [Conflict(held)],
        )
    if command.epoch is not None and command.epoch != held.epoch:
        return stale(command.task_id, command.epoch, held.epoch)
    if held.revoked and not isinstance(command, ReleaseClaim):
        return taken_away(held)
    return held


def decide_release(state: State, command: ReleaseClaim, now: float) -> Outcome:
    """Give a claim back; with ``force``, take it away from whoever holds it, in one step.

    Refuses with NOT_HELD, NOT_OWNER, STALE_EPOCH.
    """
    held = _own(state, command, now)
    if isinstance(held, Refusal):
        return held
    if command.force and peer_of(held.principal):
        return _revoke(held, command, now)
    event = ClaimReleased(
        at=now,
        namespace=held.namespace,
        task_id=held.task_id,
        owner=held.owner,
        by=command.agent,
        forced=command.force or held.revoked,
        reason_text=command.reason_text,
    )
    return Decided([event], {**claim_document(held), "status": "released"})


def _revoke(held: Claim, command: ReleaseClaim, now: float) -> Decided:
    """The hub that it came through lets changes in on its receipt until it knows better, or the receipt runs out."""
    until = min(held.lease_expires_at, now + REVOCATION_SECONDS)
    revoked = msgspec.structs.replace(held, lease_expires_at=until, revoked=True)
    event = ClaimRevoked(
        at=now,
        namespace=held.namespace,
        task_id=held.task_id,
        owner=held.owner,
        epoch=held.epoch,
        by=command.agent,
        reason_text=command.reason_text,
        lease_expires_at=until,
    )
    return Decided([] if held.revoked else [event], claim_document(revoked))


def decide_update(state: State, command: UpdateTask, now: float) -> Outcome:
    """Set status and note of an own claim, compare-and-set on its version. Spec: INV-EF-3.

    Refuses with NOT_HELD, NOT_OWNER, STALE_EPOCH, VERSION_MISMATCH.
    """
    held = _own(state, command, now)
    if isinstance(held, Refusal):
        return held
    if command.expected_version is not None and command.expected_version != held.version:
        return Refusal(
            "VERSION_MISMATCH",
            f"task {held.task_id} is at version {held.version}, not {command.expected_version}",
            f"Look at it again: synapse-git show {held.task_id}",
        )
    event = TaskUpdated(
        at=now,
        namespace=held.namespace,
        task_id=held.task_id,
        version=held.version + 1,
        status=held.status if command.status is None else command.status,
        note=held.note if command.note is None else command.note,
    )
    changed = msgspec.structs.replace(held, version=event.version, status=event.status, note=event.note)
    return Decided([event], claim_document(changed))


def decide_handoff(state: State, command: HandOff, now: float) -> Outcome:
    """Move an own claim to another agent, with no instant in between. Spec: INV-CR-2.

    Refuses with NOT_HELD, NOT_OWNER, STALE_EPOCH, SCOPE_CONFLICT, QUOTA_EXCEEDED, INVALID_REQUEST.
    """
    held = _own(state, command, now)
    if isinstance(held, Refusal):
        return held
    if command.to == held.owner:
        return Refusal("INVALID_REQUEST", f"{command.to} holds task {held.task_id} already", "Name another agent")
    paths = tuple(from_wire(path) for path in held.paths)
    conflicts, over = in_the_way(state, command.to, held.namespace, held.worktree, paths, now, besides=held.key)
    if conflicts:
        holder = conflicts[0].claim.owner
        return Refusal(
            "SCOPE_CONFLICT",
            f"{command.to} would get paths that {holder} holds",
            f"Let {holder} release task {conflicts[0].claim.task_id} first",
            conflicts,
        )
    principal = state.principal_of(command.to) or held.principal
    free = [] if principal == held.principal else room(state, principal, now)
    if isinstance(free, Refusal):
        return free
    claim = msgspec.structs.replace(
        held,
        owner=command.to,
        principal=principal,
        epoch=state.epoch + 1,
        version=0,
        granted_at=now,
        lease_expires_at=now + held.ttl_s,
    )
    before: dict[LeaseExpired, None] = dict.fromkeys([*over, *free])
    return Decided([*before, TaskHandedOff(at=now, giver=held.owner, claim=claim)], claim_document(claim))


def decide_checkpoint(state: State, command: SaveCheckpoint, now: float) -> Outcome:
    """Keep ``data`` with an own claim, for whoever claims the task after its lease ran out. Spec: INV-CR-3.

    Refuses with NOT_HELD, NOT_OWNER, STALE_EPOCH, TOO_LARGE.
    """
    held = _own(state, command, now)
    if isinstance(held, Refusal):
        return held
    if len(msgspec.json.encode(command.data)) > MAX_CHECKPOINT_BYTES:
        return Refusal(
            "TOO_LARGE", f"a checkpoint is at most {MAX_CHECKPOINT_BYTES} bytes", "Save a reference to a file"
        )
    event = CheckpointSaved(at=now, namespace=held.namespace, task_id=held.task_id, data=command.data)
    return Decided([event], claim_document(msgspec.structs.replace(held, checkpoint=command.data)))


def decide_heartbeat(state: State, command: Heartbeat, now: float) -> Decided:
    """Extend every live claim of the agent; always answers with all of them."""
    claims = sorted(state.owned(command.agent, now), key=lambda claim: claim.key)
    events = [event for claim in claims if (event := extension(claim, now))]
    ends = {(event.namespace, event.task_id): event.lease_expires_at for event in events}
    documents = [
        {**claim_document(claim), "lease_expires_at": ends.get(claim.key, claim.lease_expires_at)} for claim in claims
    ]
    return Decided(events, {"claims": documents})


def decide_extend(state: State, command: ExtendLeases, now: float) -> Decided:
    """Activity on some claims of the agent; those that moved on meanwhile are passed over."""
    claims = (state.live(key, now) for key in command.tasks)
    events: list[AnyEvent] = [
        event for claim in claims if claim and claim.owner == command.agent and (event := extension(claim, now))
    ]
    return Decided(events, {})


def decide_expire(state: State, command: ExpireDue, now: float) -> Decided:
    """Write down which of these leases are over. Spec: INV-LL-2."""
    claims = (state.claims.get(key) for key in command.tasks)
    return Decided([expired(claim, now) for claim in claims if claim and not claim.live(now)], {})


def decide_yield(state: State, command: YieldClaims, now: float) -> Decided:
    """Their holders hold them elsewhere from now on, so nobody has to be told."""
    claims = (state.live(key, now) for key in command.tasks)
    return Decided([released(claim, now) for claim in claims if claim], {})


def released(claim: Claim, now: float) -> ClaimReleased:
    """``claim``, given back by its owner."""
    return ClaimReleased(at=now, namespace=claim.namespace, task_id=claim.task_id, owner=claim.owner, by=claim.owner)


def decide_reanchor(state: State, command: ReanchorLeases, now: float) -> Decided:
    """What a clock gone wild has written is put right: without this its leases would stand for years."""
    return Decided([reanchored(claim, command.ahead_s, now) for claim in state.claims.values()], {})
