"""Which route is answered by what; whatever is refused before the hub decides becomes a problem document here."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from synapse_git.exchange import MISDIRECTED
from synapse_git.protocol.body import PROBLEM_TYPE
from synapse_hub.core.outcome import Refusal
from synapse_hub.federation.names import retold
from synapse_hub.web import (
    answer,
    board,
    claims,
    edits,
    events,
    guard,
    health,
    messages,
    metrics,
    names,
    overrides,
    watch,
    worktrees,
)
from synapse_hub.web.acquaintance import UNMET, renamed
from synapse_hub.web.desk import Desk, Rejected, asker, header
from synapse_hub.web.party import peer, spoken
from synapse_hub.web.session import conversation
from synapse_hub.web.team import admission, departure, observed, receipts, transfer
from synapse_hub.web.team import ownership as team

Handler = Callable[[Desk, Request], Awaitable[Response]]

ROUTES: tuple[tuple[str, str, Handler], ...] = (
    ("POST", "/v2/claim", claims.claim),
    ("POST", "/v2/release", claims.release),
    ("POST", "/v2/task_update", claims.update),
    ("POST", "/v2/handoff", claims.handoff),
    ("POST", "/v2/checkpoint", claims.checkpoint),
    ("POST", "/v2/heartbeat", claims.heartbeat),
    ("GET", "/v2/claims", claims.claims),
    ("POST", "/v2/guard", guard.guard),
    ("POST", "/v2/overrides", overrides.override),
    ("POST", "/v2/messages", messages.send),
    ("GET", "/v2/messages", messages.messages),
    ("GET", "/v2/letters", messages.letters),
    ("POST", "/v2/ack", messages.acknowledge),
    ("POST", "/v2/edits", edits.edits),
    ("POST", "/v2/watched", watch.watched),
    ("POST", "/v2/watchers", watch.watchers),
    ("POST", "/v2/foreign_edits", watch.foreign_edits),
    ("POST", "/v2/notes", board.add_note),
    ("GET", "/v2/notes", board.notes),
    ("POST", "/v2/resources", board.offer),
    ("GET", "/v2/resources", board.resources),
    ("POST", "/v2/resources/withdraw", board.withdraw),
    ("POST", "/v2/quarantined", watch.quarantined),
    ("GET", "/v2/names", names.names),
    ("POST", "/v2/names/reclaim", names.reclaim),
    ("GET", "/v2/worktrees", worktrees.worktrees),
    ("POST", "/v2/worktrees", worktrees.register),
    ("GET", "/v2/events", events.events),
    ("GET", "/v2/receipts", receipts.receipts),
    ("GET", "/v2/observed", observed.observed),
    ("GET", "/v2/team", team.team),
    ("POST", "/v2/team/init", team.init),
    ("POST", "/v2/team/join", admission.join),
    ("POST", "/v2/team/admit", admission.admit),
    ("POST", "/v2/team/leave", departure.leave),
    ("POST", "/v2/team/depart", departure.depart),
    ("POST", "/v2/team/remove", departure.remove),
    ("POST", "/v2/team/transfer", transfer.transfer),
    ("POST", "/v2/team/inherit", transfer.inherit),
    ("GET", "/v2/health", health.health),
    ("GET", "/v2/metrics", metrics.metrics),
    ("POST", "/v2/ping", health.ping),
)
# What another hub may decide. All else is answered from what is on record here.
_CARRIED = (claims.claim, claims.release, claims.update, claims.handoff, claims.checkpoint)
SESSION = "/v2/session"

log = logging.getLogger("synapse_hub")


def make_app(desk: Desk) -> Starlette:
    """The ASGI application over ``desk``."""

    async def session(websocket: WebSocket) -> None:
        await conversation.converse(desk, websocket)

    routes: list[BaseRoute] = [
        Route(path, _endpoint(desk, handler), methods=[method]) for method, path, handler in ROUTES
    ]
    routes.append(WebSocketRoute(SESSION, session))

    async def unknown(_: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        detail = "this route takes another method" if status == 405 else "there is no such route"
        return answer.problem(Refusal("INVALID_REQUEST", detail), desk.hub.state.seq, desk.hub.now(), status)

    return Starlette(routes=routes, exception_handlers={HTTPException: unknown})


def _told(desk: Desk, hub: str, request: Request, response: Response) -> Response:
    """An answer for another hub, with every agent as that one calls it."""
    if response.media_type in ("application/json", PROBLEM_TYPE):
        document = msgspec.json.decode(response.body, type=dict[str, Any])
        say = partial(desk.team.seen_by, hub)
        told = retold(document, hub, say, spoken(request))
        if told.get("reason") == "JOURNAL_UNAVAILABLE":
            # Else whoever hears of it looks at the disk of another machine.
            told |= {"detail": f"{desk.team.id} says: {told['detail']}", "fix": f"On {desk.team.id}: {told['fix']}"}
        response.body = msgspec.json.encode(told)
        response.headers["content-length"] = str(len(response.body))
        if UNMET in response.headers:
            response.headers[UNMET] = renamed(response.headers[UNMET], say)
    return response


def _endpoint(desk: Desk, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    carried = handler in _CARRIED

    async def endpoint(request: Request) -> Response:
        if header(request, b"synapse-hub") not in (None, desk.hub.hub_id):
            refusal = Refusal("INVALID_REQUEST", f"this is the hub {desk.hub.hub_id}, not the one that was meant")
            return answer.problem(refusal, desk.hub.state.seq, desk.hub.now(), MISDIRECTED)
        if not carried:
            await desk.embassy.settled()
        try:
            response = await handler(desk, request)
        except Rejected as rejected:
            response = answer.problem(rejected.refusal, desk.hub.state.seq, desk.hub.now())
        except ClientDisconnect:
            return Response(status_code=499)
        if hub := peer(request):
            return _told(desk, hub, request, response)
        if pending := desk.hub.state.mail.pending(asker(request), desk.hub.now()):
            response.headers["Synapse-Pending"] = str(pending)
        return response

    return endpoint
