"""Listeners beside the socket: each a door with its own doorkeeper in front of the routes."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from synapse_hub.core.outcome import Refusal
from synapse_hub.hubfile import Place
from synapse_hub.web import answer
from synapse_hub.web.desk import Desk
from synapse_hub.web.doors.protocol import BoundedProtocol

_HANDSHAKE_S = 5.0
_BACKLOG = 256

log = logging.getLogger("synapse_hub")


def bind(place: Place) -> socket.socket:
    """A socket bound to ``place``. Raises: OSError."""
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((place.host, place.port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


async def open_door(
    server: uvicorn.Server, listener: socket.socket, app: ASGIApp, secured: ssl.SSLContext | None = None
) -> None:
    """Have ``server`` take connections at ``listener`` for ``app``; they end with it."""
    config = uvicorn.Config(
        app,
        http=BoundedProtocol,
        ws=server.config.ws,
        ws_max_size=server.config.ws_max_size,
        ws_ping_interval=server.config.ws_ping_interval,
        ws_ping_timeout=server.config.ws_ping_timeout,
        ws_per_message_deflate=server.config.ws_per_message_deflate,
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        timeout_keep_alive=server.config.timeout_keep_alive,
    )
    config.load()

    def protocol() -> asyncio.Protocol:
        return BoundedProtocol(config=config, server_state=server.server_state, app_state={})

    patience_s = _HANDSHAKE_S if secured else None
    opened = await asyncio.get_running_loop().create_server(
        protocol, sock=listener, ssl=secured, ssl_handshake_timeout=patience_s
    )
    server.servers.append(opened)


async def turn_away(desk: Desk, refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse at the door, before any route."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": refusal.reason})
        return
    await answer.problem(refusal, desk.hub.state.seq, desk.hub.now())(scope, receive, send)
