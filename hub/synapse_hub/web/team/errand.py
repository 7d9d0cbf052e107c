"""Requests that another hub decides: carried to it, its answer handed on as it came."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from synapse_git.protocol.body import PROBLEM_TYPE
from synapse_hub.core.outcome import Refusal
from synapse_hub.federation.errand import Errand
from synapse_hub.hub import Answered
from synapse_hub.web import answer
from synapse_hub.web.acquaintance import UNMET
from synapse_hub.web.desk import Desk, admit, disconnected
from synapse_hub.web.key import given_key
from synapse_hub.web.party import peer

if TYPE_CHECKING:
    from synapse_hub.federation.link import Reply

__all__ = ["Errand", "extended", "forwarded", "handed_on"]


async def forwarded(desk: Desk, request: Request, peer: str, errand: Errand) -> Response:
    """The owner's answer, whatever it is; OWNER_UNREACHABLE where there is none. Spec: INV-MH-2.

    Raises:
        Rejected: the agent's name belongs to another session here.
    """
    admit(request, desk.hub.state, errand.command.agent, desk.hub.now())
    errand = msgspec.structs.replace(errand, key=given_key(request))
    carried = desk.embassy.forward(peer, errand)
    found = await (_while_connected(request, carried) if errand.wait_s else carried)
    if isinstance(found, Answered):
        return answer.of(found)
    if isinstance(found, Refusal):
        return answer.problem(found, desk.hub.state.seq, desk.hub.now())
    return handed_on(desk, found)


def handed_on(desk: Desk, reply: Reply) -> Response:
    """An owner's answer, byte by byte. ``Synapse-Hub``: this hub, since ``hub_id`` in it is the owner's."""
    headers = {**answer.HEADERS, "Synapse-Hub": desk.hub.hub_id}
    for name in ("synapse-verdict", "synapse-pending", UNMET):
        if name in reply.headers:
            headers[name] = reply.headers[name]
    kind = PROBLEM_TYPE if reply.reason else "application/json"
    return Response(reply.raw, reply.status, media_type=kind, headers=headers)


async def extended(desk: Desk, request: Request, agent: str, answered: Answered) -> Response:
    """A heartbeat's answer, with what the agent holds at other hubs, which are told that it lives.

    Refused where one of them cannot be told: a lease must not end in silence.
    """
    if isinstance(answered.outcome, Refusal):
        return answer.of(answered)
    claims = [claim | {"hub_id": desk.hub.hub_id} for claim in answered.outcome.answer["claims"]]
    if not peer(request):
        found = await desk.embassy.extend(agent)
        if isinstance(found, Refusal):
            return answer.problem(found, answered.seq, answered.now)
        claims += found
    return answer.document({"claims": claims}, answered.seq, answered.now)


async def _while_connected(request: Request, carried: Coroutine[Any, Any, Any]) -> Any:
    """The outcome of ``carried``, which is given up when the asker goes away: nobody would hear of it."""
    gone = asyncio.ensure_future(disconnected(request))
    task = asyncio.ensure_future(carried)
    try:
        await asyncio.wait((gone, task), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
        return await task
    finally:
        gone.cancel()
