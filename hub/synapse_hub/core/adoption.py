"""Claims that were taken before their repository belonged to a team: they go on in its namespace, all or none. Pure."""

from __future__ import annotations

import msgspec

from synapse_git.protocol.path import from_wire
from synapse_hub.core.claim import Claim
from synapse_hub.core.claims import decide_claim
from synapse_hub.core.commands.claims import AdoptClaims, TakeClaim
from synapse_hub.core.events import AnyEvent
from synapse_hub.core.events.claims import ClaimGranted
from synapse_hub.core.holding import released
from synapse_hub.core.outcome import Decided, Outcome, Refusal
from synapse_hub.core.state import State, apply_all
from synapse_hub.core.team.decide import forbidden


def decide_adopt(state: State, command: AdoptClaims, now: float) -> Outcome:
    """End the claims where they are, and grant them in the namespace, with note, status and checkpoint.

    Refuses with whatever the first of them is refused with there; what is over by now is left out.
    """
    if refusal := forbidden(state.team, command.namespace):
        return refusal
    claims = [claim for key in command.tasks if (claim := state.live(key, now))]
    if alike := next((claim for claim in claims if _named_there(state, claim, command, now)), None):
        return Refusal(
            "LEASE_LIVE",
            f"a task {alike.task_id} is held in {command.namespace} already: two cannot be called alike",
            f"Release one of them: synapse-git release -t {alike.task_id}",
        )
    events: list[AnyEvent] = [released(claim, now) for claim in claims]
    candidate = apply_all(state, events)
    for claim in claims:
        outcome = decide_claim(candidate, _anew(claim, command), now)
        if isinstance(outcome, Refusal):
            detail = f"task {claim.task_id} of {claim.owner} cannot go on in {command.namespace}: {outcome.detail}"
            return msgspec.structs.replace(outcome, detail=detail, events=())
        granted = [_as_it_was(event, claim) for event in outcome.events]
        events += granted
        candidate = apply_all(candidate, granted)
    return Decided(events, {"converted": [claim.task_id for claim in claims]})


def _named_there(state: State, claim: Claim, command: AdoptClaims, now: float) -> bool:
    """Would its holder be taken to renew another task of its own?"""
    return claim.namespace != command.namespace and state.live((command.namespace, claim.task_id), now) is not None


def _anew(claim: Claim, command: AdoptClaims) -> TakeClaim:
    return TakeClaim(
        agent=claim.owner,
        principal=claim.principal,
        namespace=command.namespace,
        task_id=claim.task_id,
        worktree="" if command.shared else claim.worktree,
        paths=tuple(from_wire(path) for path in claim.paths),
        ttl_s=claim.ttl_s,
        note=claim.note,
    )


def _as_it_was(event: AnyEvent, claim: Claim) -> AnyEvent:
    if not isinstance(event, ClaimGranted):
        return event
    went_on = msgspec.structs.replace(event.claim, status=claim.status, checkpoint=claim.checkpoint)
    return msgspec.structs.replace(event, claim=went_on)
