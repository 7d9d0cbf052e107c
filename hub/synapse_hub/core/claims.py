"""The decision on a claim: new, renewed or widened. Reads one state and one instant and touches nothing."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from immutables import Map

from synapse_git.constants import (
    DEFAULT_TTL_SECONDS,
    MAX_CLAIMS_PER_AGENT,
    MAX_CLAIMS_PER_PEER,
    MAX_DECLARED_PATHS,
    MAX_NAMED_CONFLICTS,
)
from synapse_git.identity import acts_for
from synapse_git.protocol.path import WirePath, from_wire, paths_to_wire
from synapse_git.scope import ROOT, covers, show
from synapse_hub.core.claim import Claim, comparable, peer_of
from synapse_hub.core.commands.claims import TakeClaim
from synapse_hub.core.contention import besides, in_the_way
from synapse_hub.core.events.claims import ClaimDenied, ClaimGranted, LeaseExpired, expired
from synapse_hub.core.outcome import Conflict, Decided, Outcome, Refusal, claim_document
from synapse_hub.core.state import State


def decide_claim(state: State, command: TakeClaim, now: float) -> Outcome:
    """Grant, renew or widen.

    Refuses with LEASE_LIVE (INV-ME-1), SCOPE_CONFLICT (INV-ME-2…4), QUOTA_EXCEEDED (INV-ME-5), INVALID_SCOPE, and
    with NOT_HELD or STALE_EPOCH where an epoch was given (INV-EF-2).
    """
    held = state.live((command.namespace, command.task_id), now)
    if held and held.owner != command.agent:
        return _denied(state, command, now, _lease_live(command, held))
    if held and held.revoked:
        return taken_away(held)
    if command.epoch is not None and (held is None or held.epoch != command.epoch):
        return not_held(command.task_id) if held is None else stale(command.task_id, command.epoch, held.epoch)
    scope = _scope(command, held)
    if isinstance(scope, Refusal):
        return scope
    worktree, paths = scope
    conflicts, over = in_the_way(state, command.agent, command.namespace, worktree, paths, now)
    if conflicts:
        return _denied(state, command, now, _scope_conflict(command.agent, conflicts))
    renewal = held is not None and held.principal == command.principal
    free = room(state, command.principal, now)
    if not renewal:
        if isinstance(free, Refusal):
            return _denied(state, command, now, free)
        over = [*over, *(event for event in free if event not in over)]
    return _granted(state, command, now, held, worktree, paths, over)


def _scope(command: TakeClaim, held: Claim | None) -> tuple[str, tuple[str, ...]] | Refusal:
    """The tree and paths that the claim will have."""
    if held is None:
        if command.paths is None:
            return Refusal(
                "INVALID_SCOPE",
                f"{command.task_id} is not held, so there is no scope to keep",
                "Name the paths to claim, or [] for the whole tree",
            )
        return command.worktree or "", command.paths
    if command.worktree is not None and command.worktree != held.worktree:
        return Refusal(
            "INVALID_SCOPE",
            f"{command.task_id} is held in another tree, and a task has one tree at a time",
            f"Release it first: synapse-git release -t {command.task_id}, or claim under another task id",
        )
    kept = tuple(from_wire(path) for path in held.paths)
    if command.paths is None:
        return held.worktree, kept
    if not command.add:
        return held.worktree, command.paths
    united = tuple(sorted({*kept, *command.paths})) if kept and command.paths else ()
    if len(united) > MAX_DECLARED_PATHS:
        return Refusal(
            "INVALID_SCOPE",
            f"{command.task_id} would hold {len(united)} paths and {MAX_DECLARED_PATHS} is the limit",
            "Claim the directories above them",
        )
    return held.worktree, united


def room(state: State, principal: str, now: float) -> list[LeaseExpired] | Refusal:
    """Spec: INV-ME-5. Leases of the principal that are over do not count and are written down."""
    if refusal := _peer_full(state, principal):
        return refusal
    held = state.by_principal.get(principal, Map())
    if len(held) < MAX_CLAIMS_PER_AGENT:
        return []
    over = [expired(claim, now) for key in held if not (claim := state.claims[key]).live(now)]
    if len(held) - len(over) < MAX_CLAIMS_PER_AGENT:
        return over
    return Refusal(
        "QUOTA_EXCEEDED",
        f"{principal} holds {len(held) - len(over)} live claims and {MAX_CLAIMS_PER_AGENT} is the limit",
        "Release some (synapse-git status lists them), or claim directories instead of files",
    )


def _peer_full(state: State, principal: str) -> Refusal | None:
    """Principals are a peer's word, so all of one peer's together have a bound as well."""
    peer = peer_of(principal)
    if not peer:
        return None
    held = sum(len(keys) for name, keys in state.by_principal.items() if peer_of(name) == peer)
    if held < MAX_CLAIMS_PER_PEER:
        return None
    return Refusal(
        "QUOTA_EXCEEDED",
        f"agents of {peer} hold {held} claims and {MAX_CLAIMS_PER_PEER} is the limit",
        "Release some of them, or claim directories instead of files",
    )


def _granted(
    state: State,
    command: TakeClaim,
    now: float,
    held: Claim | None,
    worktree: str,
    paths: tuple[str, ...],
    over: Iterable[LeaseExpired],
) -> Decided:
    lapsed = state.claims.get((command.namespace, command.task_id))
    before = {(event.namespace, event.task_id): event for event in over}
    if held is None and lapsed is not None:
        before.setdefault(lapsed.key, expired(lapsed, now))
    previous = held or lapsed
    ttl_s = command.ttl_s or (held.ttl_s if held else DEFAULT_TTL_SECONDS)
    claim = Claim(
        task_id=command.task_id,
        namespace=command.namespace,
        owner=command.agent,
        principal=command.principal,
        worktree=worktree,
        paths=tuple(paths_to_wire(paths)),
        ttl_s=ttl_s,
        epoch=state.epoch + 1,
        status=held.status if held else "claimed",
        note=command.note if command.note is not None else held.note if held else "",
        granted_at=now,
        lease_expires_at=now + ttl_s,
        checkpoint=previous.checkpoint if previous else state.retained((command.namespace, command.task_id)),
    )
    cause = "renewed" if held else "taken_over" if lapsed else "new"
    answer = claim_document(claim) | _let_go(held, claim)
    if others := besides(state, claim, paths, now):
        answer["besides"] = [one.document() for one in others]
    return Decided([*before.values(), ClaimGranted(at=now, claim=claim, cause=cause)], answer)


def _let_go(held: Claim | None, claim: Claim) -> dict[str, list[WirePath]]:
    """What the task held until now and holds no more, as ``freed`` of the answer."""
    kept = claim.scope()
    before = held.paths or (ROOT,) if held else ()
    freed = [path for path in before if not _covered(kept, comparable(claim.worktree, [from_wire(path)])[0])]
    return {"freed": freed} if freed else {}


def _covered(kept: Iterable[str], path: str) -> bool:
    return any(covers(one, path) for one in kept)


def not_held(task_id: str) -> Refusal:
    return Refusal(
        "NOT_HELD", f"nobody holds task {task_id}", "It was released or its lease ran out. See: synapse-git status"
    )


def taken_away(held: Claim) -> Refusal:
    """It still keeps others out until the hub it came through knows, and does nothing else."""
    return Refusal(
        "NOT_HELD",
        f"task {held.task_id} was taken away from {held.owner}",
        "Ask why, then claim it anew: synapse-git log",
    )


def stale(task_id: str, given: int, current: int) -> Refusal:
    """Spec: INV-EF-2."""
    return Refusal(
        "STALE_EPOCH",
        f"task {task_id} has moved on: epoch {given} was given, {current} is current",
        f"Look at it again: synapse-git show {task_id}",
    )


def _lease_live(command: TakeClaim, held: Claim) -> Refusal:
    return Refusal(
        "LEASE_LIVE",
        f"task {command.task_id} is held by {held.owner}",
        f"Choose another task id, or ask {held.owner} to hand it over",
        [Conflict(held)],
    )


def _scope_conflict(agent: str, conflicts: list[Conflict]) -> Refusal:
    first = conflicts[0]
    path = show(first.changed[0]) if first.changed else "."
    if acts_for(first.claim.owner, agent):
        return Refusal(
            "SCOPE_CONFLICT",
            f"{path} overlaps what {first.claim.owner} holds, for whom {agent} works",
            f"Nothing was claimed, and nothing needs to be: {agent} may edit and commit what {first.claim.owner} holds",
            conflicts,
        )
    return Refusal(
        "SCOPE_CONFLICT",
        f"{path} overlaps what {first.claim.owner} holds",
        f"Nothing was claimed. Ask {first.claim.owner} to hand it over (synapse-git send --to "
        f"{shlex.quote(first.claim.owner)} TEXT), claim other paths, or wait: synapse-git claim --wait 10m {path}",
        conflicts,
    )


def _denied(state: State, command: TakeClaim, now: float, refusal: Refusal) -> Refusal:
    """``refusal`` with its evidence, unless the same was written within the last minute."""
    evidence = ClaimDenied(
        at=now,
        agent=command.agent,
        namespace=command.namespace,
        task_id=command.task_id,
        worktree=command.worktree or "",
        reason=refusal.reason,
        paths=tuple(paths_to_wire((command.paths or ())[:MAX_NAMED_CONFLICTS])),
        holders=tuple(conflict.holder() for conflict in refusal.conflicts),
    )
    if state.denied_lately(evidence):
        return refusal
    return Refusal(refusal.reason, refusal.detail, refusal.fix, refusal.conflicts, [evidence])
