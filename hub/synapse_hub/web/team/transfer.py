"""Routes by which a namespace goes from one hub to another."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from synapse_git.protocol.team import TeamTransferBody
from synapse_hub import hubfile
from synapse_hub.core.outcome import Refusal
from synapse_hub.core.team.transfer import inherits
from synapse_hub.federation.estate import EstatePart
from synapse_hub.hubfile import HubFile, Peer
from synapse_hub.web import answer
from synapse_hub.web.desk import Desk, Rejected, read
from synapse_hub.web.party import peer
from synapse_hub.web.team.ownership import change, own_client

if TYPE_CHECKING:
    from synapse_hub.federation.conveyance import Given


async def transfer(desk: Desk, request: Request) -> Response:
    """``POST /v2/team/transfer``: have another hub own a namespace of this one: `{namespace, owner, term, claims}`."""
    _, body = await read(request, TeamTransferBody)
    own_client(request)
    given = await (_succeeded(desk, body) if body.from_dead else desk.embassy.conveyance.give(body.namespace, body.to))
    desk.embassy.keep_up()
    if isinstance(given, Refusal):
        raise Rejected.of(given)
    document = {"namespace": body.namespace, "owner": body.to, "term": given.term, "claims": given.claims}
    return answer.document(document, desk.hub.state.seq, desk.hub.now())


async def _succeeded(desk: Desk, body: TeamTransferBody) -> Given | Refusal:
    """Raises: Rejected."""
    if body.to != desk.team.id:
        raise Rejected("INVALID_REQUEST", f"a dead hub gives nothing to {body.to}", "Type it on the next owner itself")
    known = desk.hub.state.team.governed.get(body.namespace)
    try:
        return await desk.embassy.succession.take(
            body.namespace, desk.embassy.observed.get(known.owner if known else "")
        )
    except (hubfile.Wrong, OSError) as error:
        raise Rejected("INVALID_REQUEST", f"hub.toml cannot be changed: {error}") from None


async def inherit(desk: Desk, request: Request) -> Response:
    """``POST /v2/team/inherit``: from the owner of a namespace, a part of what is held in it: `{inherited}`."""
    _, body = await read(request, EstatePart)
    giver = peer(request)
    if not giver:
        raise Rejected(
            "NOT_AUTHORISED", "a namespace is given by the hub that owns it", "See: synapse-git team transfer"
        )
    due = inherits(desk.hub.state.team, body.namespace, giver, body.term)
    if isinstance(due, Refusal):
        raise Rejected.of(due)
    inherited = not due or await _taken(desk, giver, body)
    return answer.document({"inherited": inherited}, desk.hub.state.seq, desk.hub.now())


async def _taken(desk: Desk, giver: str, body: EstatePart) -> bool:
    """Does this hub own it now? Raises: Rejected."""
    file = _with_members(desk.team.settled, giver, body)
    if not body.part:
        return False
    whole = desk.embassy.arrivals.add(giver, body)
    if not whole:
        return False
    from synapse_hub.federation.estate import assembled

    try:
        command = assembled(whole, giver, desk.team.id)
    except msgspec.ValidationError as error:
        raise Rejected("INVALID_REQUEST", f"a part of {body.namespace} is not understood here: {error}") from None
    async with desk.team.turn:
        # Who may ask is in the file before anybody is told to ask here.
        await change(desk, file)
        answered = await desk.transact(command)
        if isinstance(answered.outcome, Refusal):
            raise Rejected.of(answered.outcome)
        await asyncio.to_thread(desk.team.load, desk.hub.transact)
    desk.embassy.keep_up()
    return True


def _with_members(file: HubFile, giver: str, body: EstatePart) -> HubFile:
    """``file`` with the peers that may ask in the namespace from now on. Raises: Rejected, where they cannot."""
    entry = file.namespaces.get(body.namespace)
    if entry is None or file.listen is None:
        raise Rejected(
            "INVALID_REQUEST",
            f"{file.id} does not listen for other hubs, so they could not ask it",
            "Join again so that it listens: synapse-git team join URL --listen HOST:PORT",
        )
    try:
        peers = {name: msgspec.convert(fields, Peer) for name, fields in body.members.items() if name != file.id}
    except msgspec.ValidationError as error:
        raise Rejected("INVALID_REQUEST", f"members: {error}") from None
    for name, one in peers.items():
        if name in file.peers and file.peers[name].key != one.key:
            raise Rejected(
                "INVALID_REQUEST", f"another hub is called {name} here", "Have one of them join anew by --name"
            )
    entry = msgspec.structs.replace(entry, members=tuple(dict.fromkeys((giver, *peers))))
    return msgspec.structs.replace(
        file, peers={**peers, **file.peers}, namespaces={**file.namespaces, body.namespace: entry}
    )
