"""The decision on an edit that claims what it touches: refused as a whole, or granted as a whole. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from immutables import Map

from synapse_git.constants import (
    AUTOMATIC_TTL_SECONDS,
    MAX_CLAIMS_PER_AGENT,
    MAX_DECLARED_PATHS,
    RESERVED_FOR_NAMED_CLAIMS,
)
from synapse_git.identity import SUBAGENT
from synapse_git.policy import AUTOMATIC
from synapse_git.protocol.path import from_wire
from synapse_hub.core import overlap
from synapse_hub.core.claim import Claim, comparable, tree_key
from synapse_hub.core.claims import decide_claim
from synapse_hub.core.coarsening import coarsen
from synapse_hub.core.commands.claims import ClaimEdit, TakeClaim
from synapse_hub.core.events import AnyEvent
from synapse_hub.core.events.claims import ClaimReleased
from synapse_hub.core.guard import Question, Verdict, decide_denial
from synapse_hub.core.lease import extension
from synapse_hub.core.outcome import Decided
from synapse_hub.core.state import State, apply_all

_READABLE = 40


def decide_edit(state: State, command: ClaimEdit, now: float) -> Decided:
    """The verdict on an edit, with ``claim`` if one was taken or widened for it.

    What another holds refuses all of it and claims nothing. Where the quota, or the limit on paths, leaves no room the
    edit is judged as one that no claim covers.
    """
    question = Question(command.agent, command.namespace, command.worktree, "edit", command.unclaimed)
    verdict = Verdict(state, question, now, listed=len(command.paths))
    verdict.judge(command.paths)
    if verdict.refused:
        return Decided(decide_denial(state, verdict.evidence(), now).events, verdict.document())
    touched = (state.claims[key] for key in verdict.to_extend())
    events: list[AnyEvent] = [event for claim in touched if (event := extension(claim, now))]
    passed_on = _passed_on(state, command, verdict.unclaimed, now)
    state = apply_all(state, passed_on)
    granted = _grant(state, command, verdict.unclaimed, now) if verdict.unclaimed else None
    if granted is None:
        return Decided(events, verdict.document())
    covered = Verdict(state, question, now).document()
    return Decided([*events, *passed_on, *granted.events], {**covered, "claim": granted.answer})


def _passed_on(state: State, command: ClaimEdit, wanted: list[str], now: float) -> list[AnyEvent]:
    """What a subagent now edits leaves the automatic claims of whom it works for: one path, one holder."""
    found: list[AnyEvent] = []
    taken = set(wanted)
    senior = command.agent.rpartition(SUBAGENT)[0]
    while senior:
        for claim in list(state.owned(senior, now)):
            paths = [from_wire(path) for path in claim.paths]
            left = tuple(path for path in paths if path not in taken)
            if claim.worktree == command.worktree and claim.task_id.startswith(AUTOMATIC) and len(left) < len(paths):
                found += _narrowed(apply_all(state, found), claim, left, now)
        senior = senior.rpartition(SUBAGENT)[0]
    return found


def _narrowed(state: State, claim: Claim, left: tuple[str, ...], now: float) -> Sequence[AnyEvent]:
    if not left:
        return [
            ClaimReleased(at=now, namespace=claim.namespace, task_id=claim.task_id, owner=claim.owner, by=claim.owner)
        ]
    take = TakeClaim(
        agent=claim.owner,
        principal=claim.principal,
        namespace=claim.namespace,
        task_id=claim.task_id,
        worktree=claim.worktree,
        paths=left,
    )
    return decide_claim(state, take, now).events


def _grant(state: State, command: ClaimEdit, wanted: list[str], now: float) -> Decided | None:
    """The agent's automatic claim in this tree, new or widened by ``wanted``; None where there is no room for it."""
    task_id, held = _task(state, command, now)
    if held is None and not _room(state, command.principal, now):
        return None
    kept = [from_wire(path) for path in held.paths] if held else []
    tree = state.tree(tree_key(command.namespace, command.worktree))

    def free(directory: str) -> bool:
        path = comparable(command.worktree, [directory])[0]
        return next(overlap.others(tree, path, command.agent), None) is None

    paths = coarsen([*kept, *wanted], free)
    if len(paths) > MAX_DECLARED_PATHS:
        return None
    take = TakeClaim(
        agent=command.agent,
        principal=command.principal,
        namespace=command.namespace,
        task_id=task_id,
        worktree=command.worktree,
        paths=paths,
        ttl_s=AUTOMATIC_TTL_SECONDS,
    )
    outcome = decide_claim(state, take, now)
    return outcome if isinstance(outcome, Decided) else None


def _task(state: State, command: ClaimEdit, now: float) -> tuple[str, Claim | None]:
    """The id of the agent's automatic claim in this tree, and the claim if it is held.

    An id that somebody else holds, to whom it was handed over perhaps, is passed over.
    """
    mark = hashlib.sha256(f"{command.agent}\0{command.worktree}".encode()).hexdigest()[:8]
    name = f"{AUTOMATIC}{command.agent[:_READABLE]}-{mark}"
    task_id, number = name, 1
    while True:
        held = state.live((command.namespace, task_id), now)
        if held is None or (held.owner == command.agent and held.worktree == command.worktree and held.paths):
            return task_id, held
        number += 1
        task_id = f"{name}.{number}"


def _room(state: State, principal: str, now: float) -> bool:
    """May an automatic claim be added without taking the quota from claims made by name? Spec: INV-ME-5."""
    most = MAX_CLAIMS_PER_AGENT - RESERVED_FOR_NAMED_CLAIMS
    held = state.by_principal.get(principal, Map())
    return len(held) < most or sum(state.claims[key].live(now) for key in held) < most
