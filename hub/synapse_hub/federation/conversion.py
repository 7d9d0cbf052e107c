"""Claims that agents of this hub took before it was in the team, in repositories that the namespace takes in.

Found by what they are in; taken at the owner, all of them or none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from synapse_git.governed import canonical
from synapse_git.protocol.path import from_wire
from synapse_git.protocol.team import LocalRepository
from synapse_hub.core.claim import Claim
from synapse_hub.core.commands.claims import ReleaseClaim, SaveCheckpoint, TakeClaim, UpdateTask
from synapse_hub.core.outcome import Conflict, Refusal
from synapse_hub.core.state import State
from synapse_hub.federation.errand import Errand
from synapse_hub.federation.link import Reply
from synapse_hub.hubfile import HubFile

if TYPE_CHECKING:
    from synapse_hub.federation.joining import Admission
    from synapse_hub.hub import Answered

Carry = Callable[[Errand], Awaitable["Reply | Answered | Refusal"]]
_UNTOUCHED = "claimed"


def concerned(state: State, now: float, admission: Admission, repositories: Iterable[LocalRepository]) -> list[Claim]:
    """The live claims in what ``admission`` lets this hub into, by task."""
    spaces = {admission.namespace, *_taken_in(admission.namespace, admission.remotes, repositories)}
    return _live_in(state, now, spaces)


def left_behind(
    state: State, now: float, name: str, file: HubFile, before: HubFile, repositories: Iterable[LocalRepository]
) -> list[Claim]:
    """The live claims that ``name``, a namespace of this hub, takes in by ``file``, but for those in their right place.

    Where a path is to have one holder on all machines, that is the tree which checkouts share.
    """
    entry, known = file.namespaces[name], before.namespaces.get(name)
    found = _live_in(state, now, _taken_in(name, entry.remotes, repositories))
    if entry.exclusion == "repository" and (known is None or known.exclusion != entry.exclusion):
        found += [claim for claim in _live_in(state, now, {name}) if claim.worktree]
    return found


def _taken_in(name: str, remotes: Iterable[str], repositories: Iterable[LocalRepository]) -> set[str]:
    """The ``local:`` namespaces of those that belong to the namespace ``name`` by its ``remotes``, or by their word."""
    wanted = {canonical(url) for url in remotes}
    return {
        one.namespace
        for one in repositories
        if (one.configured == name if one.configured else wanted & {canonical(url) for url in one.remotes})
    }


def _live_in(state: State, now: float, spaces: Collection[str]) -> list[Claim]:
    found = (claim for claim in state.claims.values() if claim.namespace in spaces and claim.live(now))
    return sorted(found, key=lambda claim: claim.key)


def in_the_way(held: list[Claim], begun: str, way_out: str, *, convert: bool) -> Refusal | None:
    """Why a team cannot begin with these claims, where that is so. ``begun``: what has not; ``way_out``: converts."""
    if held and not convert:
        return Refusal(
            "LEASE_LIVE",
            f"{begun}: what agents hold here in repositories of the team would be unknown to the others",
            f"Release it (synapse-git release -t TASK), or {way_out}",
            [Conflict(claim) for claim in held],
        )
    alike = namesakes(held)
    return called_alike(begun, alike) if alike else None


def called_alike(begun: str, alike: list[Claim]) -> Refusal:
    """Of `namesakes`; ``begun`` as in `in_the_way`."""
    return Refusal(
        "LEASE_LIVE",
        f"{begun}: in one namespace two tasks cannot be called alike",
        f"Release one of them: synapse-git release -t {alike[0].task_id}",
        [Conflict(claim) for claim in alike],
    )


def namesakes(claims: Iterable[Claim]) -> list[Claim]:
    """Those with one task id: in one namespace they would be one task."""
    listed = list(claims)
    times = Counter(claim.task_id for claim in listed)
    return [claim for claim in listed if times[claim.task_id] > 1]


async def convert(carry: Carry, claims: Iterable[Claim], namespace: str, exclusion: str) -> list[str]:
    """Take ``claims`` at the owner of ``namespace``. Returned is what could not be, with why; then it holds none."""
    taken: list[Claim] = []
    failed: list[str] = []
    for claim in claims:
        if why := await _converted(carry, claim, namespace, exclusion):
            failed.append(f"{claim.task_id} of {claim.owner}: {why}")
        else:
            taken.append(claim)
    if failed:
        for claim in taken:
            release = ReleaseClaim(agent=claim.owner, namespace=namespace, task_id=claim.task_id)
            await carry(_errand("release", release, claim, {}))
    return failed


async def _converted(carry: Carry, claim: Claim, namespace: str, exclusion: str) -> str:
    """Why it is not held at the owner as it is held here, '' if it is."""
    for errand in _errands(claim, namespace, exclusion):
        if why := _refused(await carry(errand)):
            return why
    return ""


def _errands(claim: Claim, namespace: str, exclusion: str) -> Iterator[Errand]:
    worktree = "" if exclusion == "repository" else claim.worktree
    task: dict[str, Any] = {"agent": claim.owner, "namespace": namespace, "task_id": claim.task_id}
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
