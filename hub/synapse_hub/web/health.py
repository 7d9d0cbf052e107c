"""Can it grant? Asked by exercising the write path, not by looking at a process."""

from __future__ import annotations

import os

from starlette.requests import Request
from starlette.responses import Response

from synapse_git import __version__
from synapse_git.constants import WIRE_PROTOCOL_VERSION
from synapse_hub.core.commands import ProbeJournal
from synapse_hub.web import answer
from synapse_hub.web.desk import Desk


async def ping(desk: Desk, _: Request) -> Response:
    """``POST /v2/ping``: is somebody there? Says nothing about granting."""
    return answer.document({}, desk.hub.state.seq, desk.hub.now())


async def health(desk: Desk, _: Request) -> Response:
    """``GET /v2/health``"""
    answered = await desk.transact(ProbeJournal())
    return answer.of(
        answered,
        granting=True,
        hub_id=desk.hub.hub_id,
        incarnation=desk.hub.incarnation,
        pid=os.getpid(),
        version=__version__,
        protocol=WIRE_PROTOCOL_VERSION,
        socket=desk.socket_path,
        journal=desk.journal_path,
        claims=len(desk.hub.state.claims),
        team=desk.team.id,
        team_broken=desk.team.broken,
    )
