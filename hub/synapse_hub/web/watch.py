"""Routes of the watchers: what they see, and how they stand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from synapse_git.constants import MAX_NAMED_CONFLICTS
from synapse_git.protocol.body import finite
from synapse_git.protocol.watch import ForeignEditBody, QuarantinedBody, SeenFile, WatchedBody, WatcherBody
from synapse_hub.core.attribution import Announced, Change
from synapse_hub.core.claim import Claim, Held, tree_key
from synapse_hub.core.commands.claims import ExtendLeases
from synapse_hub.core.commands.guard import RecordForeignEdit
from synapse_hub.core.foreign import Finding, Place, evidence, find, find_covered
from synapse_hub.core.lease import wants_extension
from synapse_hub.watchers import Standing
from synapse_hub.web import answer
from synapse_hub.web.desk import Desk, Rejected, agent_name, label, read, remark, task_name
from synapse_hub.web.edits import clean, digest
from synapse_hub.web.key import keyed
from synapse_hub.web.party import named, owner, peer


async def watched(desk: Desk, request: Request) -> Response:
    """``POST /v2/watched``: which of the changes lie in live scopes, and who made them."""
    _, body = await read(request, WatchedBody)
    state, now = desk.hub.state, desk.hub.now()
    place = _place(desk, label(body.namespace, "namespace"), _worktree(body.worktree), now)
    tree = tree_key(place.namespace, place.worktree)
    changes = [_change(one, now) for one in body.changes]

    def said(path: str) -> Sequence[Announced]:
        return desk.announcements.of(tree, path, now)

    findings = list(find(state, place, changes, said, now, complete=body.settled))
    _extend(desk, findings, now)
    granting = desk.team.resolve(place.namespace)
    if granting.kind == "remote":
        told = partial(_told, desk, granting.owner, place)
        findings += find_covered(told, place, changes, said, complete=body.settled)
    # Whose tool owned up to it needs no more time to say so.
    for record in evidence(place, [one for one in findings if body.settled or one.owned_up]):
        await desk.transact(record)
        desk.embassy.report()
    return answer.document({"edits": [finding.document() for finding in findings]}, state.seq, now)


def _told(desk: Desk, hub: str, place: Place, path: str) -> Sequence[Held]:
    """What covers a path as far as the hub that grants there told."""
    found = desk.embassy.observed.get(hub)
    return found.view.covering(place.namespace, place.worktree, path, desk.hub.now()) if found else ()


async def foreign_edits(desk: Desk, request: Request) -> Response:
    """``POST /v2/foreign_edits``: for other hubs, what their watchers found in scopes that are granted here."""
    raw, body = await read(request, ForeignEditBody)
    if not peer(request):
        raise Rejected("NOT_AUTHORISED", "this is for other hubs", "A watcher of this machine asks POST /v2/watched")
    namespace = label(body.namespace, "namespace")
    owner(desk, request, namespace)
    record = RecordForeignEdit(
        agent=named(desk, request, body.agent) if body.agent else "",
        namespace=namespace,
        worktree=_worktree(body.worktree),
        paths=tuple(clean(path) for path in body.paths[:MAX_NAMED_CONFLICTS]),
        paths_total=max(body.paths_total, 0),
        tasks=tuple((namespace, task_name(task_id)) for task_id in body.tasks[:MAX_NAMED_CONFLICTS]),
    )
    return answer.of(await desk.transact(keyed(request, "foreign_edit", raw, record)))


def _worktree(given: str) -> str:
    if not given.startswith("wt:"):
        raise Rejected("INVALID_REQUEST", "worktree is an id of the form wt:…")
    return label(given, "worktree")


def _place(desk: Desk, namespace: str, worktree: str, now: float) -> Place:
    """Whoever holds something in the checkout itself, or has lately done something in it, is in it."""
    tree = tree_key(namespace, worktree)
    owners = desk.hub.state.tree(tree).owners.keys()
    said = desk.announcements
    return Place(namespace, worktree, frozenset({*owners, *said.present(tree, now)}), said.ran(tree, now))


def _change(one: SeenFile, now: float) -> Change:
    sha256 = one.sha256 if isinstance(one.sha256, msgspec.UnsetType) else digest(one.sha256)
    return Change(clean(one.path), now - max(finite(one.age_s, 0.0), 0.0), sha256, one.git)


def _extend(desk: Desk, findings: Sequence[Finding], now: float) -> None:
    """Work on what one holds is activity."""
    claims = {
        one.claim.key: one.claim for one in findings if isinstance(one.claim, Claim) and not one.foreign and one.certain
    }
    for holder in {claim.owner for claim in claims.values()}:
        tasks = tuple(key for key, claim in claims.items() if claim.owner == holder and wants_extension(claim, now))
        if tasks:
            desk.leave(ExtendLeases(agent=holder, tasks=tasks))


async def quarantined(desk: Desk, request: Request) -> Response:
    """``POST /v2/quarantined``: on record that a holder has its content back, and where the other one's is."""
    _, body = await read(request, QuarantinedBody)
    record = RecordForeignEdit(
        agent=agent_name(body.agent),
        namespace=label(body.namespace, "namespace"),
        worktree=_worktree(body.worktree),
        paths=(clean(body.path),),
        paths_total=1,
        tasks=((label(body.namespace, "namespace"), task_name(body.task_id)),),
        quarantine=label(body.quarantine, "quarantine"),
    )
    return answer.of(await desk.transact(record))


async def watchers(desk: Desk, request: Request) -> Response:
    """``POST /v2/watchers``: how a worktree is watched from now on."""
    _, body = await read(request, WatcherBody)
    reason = remark(body.reason, "reason") or ""
    now = desk.hub.now()
    desk.watchers.say(_worktree(body.worktree), Standing(body.state, reason, body.foreground, now))
    if body.foreground:
        desk.published(())  # the hub's own watcher makes way, or takes over again
    return answer.document({}, desk.hub.state.seq, now)
