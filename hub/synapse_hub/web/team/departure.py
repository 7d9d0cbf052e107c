"""Routes by which a hub goes out of a team: it leaves, or the owner removes it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from synapse_git.constants import HUB_AGENT
from synapse_git.protocol.team import TeamLeaveBody, TeamRemoveBody
from synapse_hub.core.claim import Claim, peer_of
from synapse_hub.core.commands.claims import ReleaseClaim
from synapse_hub.core.commands.team import HearAssertion
from synapse_hub.core.outcome import Refusal
from synapse_hub.hubfile import HubFile
from synapse_hub.web import answer
from synapse_hub.web.desk import Desk, Rejected, read
from synapse_hub.web.party import peer
from synapse_hub.web.team.ownership import change, own_client, part


async def leave(desk: Desk, request: Request) -> Response:
    """``POST /v2/team/leave``: be no part of a namespace any more: `{namespace, owner, told, ended, id}`.

    An owner that leaves frees it for itself alone, and for another that says it owns it. ``told``: does the owner know?
    ``ended``: the tasks that agents held there.
    """
    _, body = await read(request, TeamLeaveBody)
    own_client(request)
    namespace, me = body.namespace, desk.team.id
    if namespace not in desk.team.settled.namespaces and namespace not in desk.hub.state.team.governed:
        raise Rejected("INVALID_REQUEST", f"this hub has no part in {namespace}", "See: synapse-git team status")
    entry = desk.team.settled.namespaces.get(namespace)
    owners = [entry.owner] if entry and entry.owner != desk.team.id else _rivals(desk, namespace)
    # Asked first: afterwards nobody here knows them any more.
    heard = [await told(desk, owner, body) for owner in owners]
    state, now = desk.hub.state, desk.hub.now()
    ended = [key[1] for key in state.team.receipts if key[0] == namespace and state.team.held(key, now)]
    async with desk.team.turn:
        parted = await part(desk, namespace)
    held = [claim for claim in desk.hub.state.claims.values() if claim.namespace == namespace]
    # Nobody would look for them there any more.
    ended += await _end(desk, held, f"{desk.team.id} left the team of {namespace}")
    whom = ", ".join(owners)
    return answer.of(parted, namespace=namespace, owner=whom, told=all(heard), ended=sorted(ended), id=me)


def _rivals(desk: Desk, namespace: str) -> tuple[str, ...]:
    """Who says that it owns what this hub does: nobody grants until they hear that one gives way."""
    known = desk.hub.state.team.governed.get(namespace)
    return known.contested_by if known else ()


async def told(desk: Desk, owner: str, body: TeamLeaveBody) -> bool:
    """Does ``owner`` know that this hub leaves?"""
    reply = await desk.embassy.ask(owner, "/v2/team/depart", msgspec.json.encode(body))
    return not isinstance(reply, Refusal) and not reply.reason


async def depart(desk: Desk, request: Request) -> Response:
    """``POST /v2/team/depart``: the hub that asks leaves a namespace of this one: `{released}`."""
    _, body = await read(request, TeamLeaveBody)
    hub = peer(request)
    if not hub:
        raise Rejected("NOT_AUTHORISED", "a hub says itself that it leaves", "See: synapse-git team remove")
    left = await _without(desk, body.namespace, hub, f"{hub} left the team")
    # Whoever leaves owns nothing there; it cannot say so in any other way once it is no peer.
    await desk.transact(HearAssertion(namespace=body.namespace, by=hub, owns=False))
    return left


async def remove(desk: Desk, request: Request) -> Response:
    """``POST /v2/team/remove``: let a hub ask no more in a namespace of this one: `{released}`."""
    _, body = await read(request, TeamRemoveBody)
    own_client(request)
    return await _without(desk, body.namespace, body.hub, f"{body.hub} was removed from the team")


async def _without(desk: Desk, namespace: str, hub: str, reason: str) -> Response:
    """End what agents of ``hub`` hold; their scopes are free once no receipt of theirs can count. Raises: Rejected."""
    async with desk.team.turn:
        await change(desk, without(desk.team.settled, namespace, hub))
    state = desk.hub.state
    held = [
        claim for claim in state.claims.values() if claim.namespace == namespace and peer_of(claim.principal) == hub
    ]
    released = await _end(desk, held, reason)
    return answer.document({"released": released}, desk.hub.state.seq, desk.hub.now())


async def _end(desk: Desk, held: Sequence[Claim], reason: str) -> list[str]:
    """Take ``held`` away, and tell who held it why; the tasks that it has come about for."""
    released = []
    for claim in held:
        command = ReleaseClaim(
            agent=HUB_AGENT,
            namespace=claim.namespace,
            task_id=claim.task_id,
            force=True,
            reason_text=reason,
        )
        if not isinstance((await desk.transact(command)).outcome, Refusal):
            released.append(claim.task_id)
    return released


def without(file: HubFile, namespace: str, hub: str) -> HubFile:
    """``file`` with ``hub`` no member of the namespace. Raises: Rejected."""
    entry = file.namespaces.get(namespace)
    if entry is None or entry.owner != file.id or hub not in entry.members:
        raise Rejected(
            "INVALID_REQUEST",
            f"{hub} is no member of {namespace} as far as this hub owns it",
            "See who is: synapse-git team status",
        )
    entry = msgspec.structs.replace(entry, members=tuple(name for name in entry.members if name != hub))
    namespaces = {**file.namespaces, namespace: entry}
    named = {name for one in namespaces.values() for name in (one.owner, *one.members)}
    peers = {name: one for name, one in file.peers.items() if name in named}
    return msgspec.structs.replace(file, peers=peers, namespaces=namespaces)
