"""Serve the hub until a signal, or until its socket is gone from under it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import uvicorn
from starlette.types import ASGIApp

from synapse_git.constants import MAX_FRAME_BYTES, SESSION_PING_SECONDS, SESSION_PONG_SECONDS
from synapse_hub.core.events import AnyEvent
from synapse_hub.lookout import Lookout
from synapse_hub.web.desk import Desk
from synapse_hub.web.doors.protocol import HubProtocol
from synapse_hub.web.doors.socket import inode
from synapse_hub.web.lookout import look_out
from synapse_hub.web.session.protocol import SessionProtocol

# How often the hub looks after itself, in seconds.
_ROUND_S = 2.0
# How long an open stream or request may hold up a stop.
_GRACE_S = 2

log = logging.getLogger("synapse_hub")


class _Server(uvicorn.Server):
    """uvicorn's own handlers raise the signal again at the end, which would cut the journal's last checkpoint."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        yield

    def _stop(self) -> None:
        self.should_exit = True


def serve(
    app: ASGIApp,
    desk: Desk,
    listener: socket.socket,
    *,
    lookout: Lookout,
    started: Callable[[uvicorn.Server], Awaitable[None]],
    ready: Callable[[], None],
    round_: Callable[[], None],
) -> None:
    """Serve ``app`` until told to stop.

    ``started`` is called once the server runs, ``ready`` once requests are taken, ``round_`` every two seconds.
    """
    config = uvicorn.Config(
        app,
        http=HubProtocol,
        loop="uvloop",
        ws=SessionProtocol,
        ws_max_size=MAX_FRAME_BYTES,
        ws_ping_interval=SESSION_PING_SECONDS,
        ws_ping_timeout=SESSION_PONG_SECONDS,
        ws_per_message_deflate=False,
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_GRACE_S,
    )
    server = _Server(config)
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(_serve(server, desk, listener, _Course(lookout, started, ready, round_)))


class _Course(NamedTuple):
    lookout: Lookout
    started: Callable[[uvicorn.Server], Awaitable[None]]
    ready: Callable[[], None]
    round_: Callable[[], None]


async def _serve(server: _Server, desk: Desk, listener: socket.socket, course: _Course) -> None:
    loop = asyncio.get_running_loop()

    def wake(events: Sequence[AnyEvent]) -> None:
        loop.call_soon_threadsafe(desk.published, events)

    desk.wake = wake
    tasks = [
        asyncio.create_task(_rounds(server, desk, course)),
        asyncio.create_task(look_out(desk, course.lookout)),
    ]
    try:
        await server.serve(sockets=[listener])
    finally:
        for task in tasks:
            task.cancel()
        course.lookout.stop()
        desk.wake = lambda _: None


async def _rounds(server: _Server, desk: Desk, course: _Course) -> None:
    path = desk.socket_path
    mine = inode(path)
    while not server.started:
        await asyncio.sleep(0.005)
    await course.started(server)
    course.ready()
    while True:
        await asyncio.sleep(_ROUND_S)
        await asyncio.to_thread(course.round_)
        desk.roster.tend()
        if inode(path) != mine:
            # Whoever needs a hub next starts one; this one can no longer be found.
            log.warning("the socket %s is gone; ending", path)
            os.kill(os.getpid(), signal.SIGTERM)
            return
