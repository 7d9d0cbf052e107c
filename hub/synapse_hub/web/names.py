"""Routes of names: whose they are, and taking one back."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from synapse_git.protocol.talk import ReclaimBody
from synapse_hub.core.commands.names import ReclaimName
from synapse_hub.core.state import State
from synapse_hub.web import answer
from synapse_hub.web.desk import Desk, agent_name, read
from synapse_hub.web.party import principal


async def names(desk: Desk, _: Request) -> Response:
    """``GET /v2/names``"""
    state, now = desk.hub.state, desk.hub.now()
    known = {*state.names.live, *state.names.absent.entries, *state.names.keys.entries}
    documents = (_document(state, agent, now) for agent in sorted(known))
    listed = [one for one in documents if one["bound_at"] is not None or one["key"]]
    return answer.document({"names": listed}, state.seq, now)


def _document(state: State, agent: str, now: float) -> dict[str, Any]:
    owner, free_at = state.names.owner(agent, now), state.names.free_at(agent)
    return {
        "agent": agent,
        "connected": agent in state.names.live,
        "bound_at": owner.at if owner else None,
        "free_at": free_at if owner else None,
        "key": state.names.key(agent) or None,
    }


async def reclaim(desk: Desk, request: Request) -> Response:
    """``POST /v2/names/reclaim``"""
    _, body = await read(request, ReclaimBody)
    return answer.of(await desk.transact(ReclaimName(agent=agent_name(body.agent), principal=principal(request))))
