"""Claims that agents of this hub took before it joined, in repositories that the namespace takes in.

Found by what they are in; taken at the owner, all of them or none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from synapse_git.governed import canonical
from synapse_git.protocol.path import from_wire
from synapse_hub.core.claim import Claim
from synapse_hub.core.commands import ReleaseClaim, SaveCheckpoint, TakeClaim, UpdateTask
from synapse_hub.core.outcome import Refusal
from synapse_hub.core.state import State
from synapse_hub.federation.errand import Errand
from synapse_hub.federation.link import Reply

if TYPE_CHECKING:
    from synapse_hub.federation.joining import Admission
    from synapse_hub.hub import Answered

Carry = Callable[[Errand], Awaitable["Reply | Answered | Refusal"]]
_UNTOUCHED = "claimed"


def concerned(state: State, now: float, admission: Admission, repositories: dict[str, list[str]]) -> list[Claim]:
    """The live claims in what ``admission`` lets this hub into, by task. ``repositories``: namespace → its remotes."""
    taken_in = {canonical(url) for url in admission.remotes}
    spaces = {admission.namespace}
    spaces |= {name for name, urls in repositories.items() if taken_in & {canonical(url) for url in urls}}
    found = (claim for claim in state.claims.values() if claim.namespace in spaces and claim.live(now))
    return sorted(found, key=lambda claim: claim.key)


def namesakes(claims: Iterable[Claim]) -> list[Claim]:
    """Those with one task id: in one namespace they would be one task."""
    listed = list(claims)
    times = Counter(claim.task_id for claim in listed)
    return [claim for claim in listed if times[claim.task_id] > 1]


async def convert(carry: Carry, claims: Iterable[Claim], admission: Admission) -> list[str]:
    """Take ``claims`` at the owner. Returned is what could not be, with why; then none of them is held there."""
    taken: list[Claim] = []
    failed: list[str] = []
    for claim in claims:
        if why := await _converted(carry, claim, admission):
            failed.append(f"{claim.task_id} of {claim.owner}: {why}")
        else:
            taken.append(claim)
    if failed:
        for claim in taken:
            release = ReleaseClaim(agent=claim.owner, namespace=admission.namespace, task_id=claim.task_id)
            await carry(_errand("release", release, claim, {}))
    return failed


async def _converted(carry: Carry, claim: Claim, admission: Admission) -> str:
    """Why it is not held at the owner as it is held here, '' if it is."""
    for errand in _errands(claim, admission):
        if why := _refused(await carry(errand)):
            return why
    return ""


def _errands(claim: Claim, admission: Admission) -> Iterator[Errand]:
    worktree = "" if admission.exclusion == "repository" else claim.worktree
    task: dict[str, Any] = {"agent": claim.owner, "namespace": admission.namespace, "task_id": claim.task_id}
    take = TakeClaim(
        **task,
        principal=claim.principal,
        worktree=worktree,
        paths=tuple(from_wire(path) for path in claim.paths),
        ttl_s=claim.ttl_s,
        note=claim.note,
    )
    members = {"worktree": worktree, "paths": claim.paths, "ttl_s": claim.ttl_s, "note": claim.note}
    yield _errand("claim", take, claim, members)
    if claim.checkpoint is not None:
        save = SaveCheckpoint(**task, data=claim.checkpoint)
        yield _errand("checkpoint", save, claim, {"data": claim.checkpoint})
    if claim.status != _UNTOUCHED:
        yield _errand("task_update", UpdateTask(**task, status=claim.status), claim, {"status": claim.status})


def _errand(
    verb: str, command: TakeClaim | ReleaseClaim | SaveCheckpoint | UpdateTask, claim: Claim, members: dict[str, Any]
) -> Errand:
    task = {"agent": command.agent, "namespace": command.namespace, "task_id": command.task_id}
    return Errand(verb, msgspec.json.encode(task | members), command, claim.principal)


def _refused(found: Reply | Answered | Refusal) -> str:
    if isinstance(found, Reply):
        return f"{found.reason}: {found.document.get('detail')}" if found.reason else ""
    outcome = found if isinstance(found, Refusal) else found.outcome
    return f"{outcome.reason}: {outcome.detail}" if isinstance(outcome, Refusal) else ""
