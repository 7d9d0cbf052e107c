"""A session's connection at the level of bytes: who is at the other end, and how much it may send without being cut.

uvicorn reads whatever arrives before the application sees any of it. Tiny frames, pings and empty fragments would so
take the loop's time and memory without ever being a message, so they are counted here.
"""

from __future__ import annotations

import asyncio
import os
import socket
from typing import cast

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from synapse_git.constants import SESSION_SEND_SECONDS
from synapse_git.exchange import peer_uid
from synapse_hub.web.desk import PEER

# So much is parsed before the counts are looked at: a chunk of tiny frames must not keep the loop.
_SLICE_BYTES = 4096
# Messages that the conversation has not taken, and fragments of one message. A slice holds 682 frames at most.
_MOST_WAITING = 64
_MOST_FRAGMENTS = 1024
# Pings of the client's own: so many at once, and one in so many seconds over time.
_MOST_PINGS = 16
_PING_EVERY_S = 1.0
_CLOSE_S = 2.0


class SessionProtocol(WebSocketsSansIOProtocol):
    """One connection, from its upgrade on."""

    _uid: int | None = None
    _pings = 0.0
    _pinged_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take note of the peer's uid; other users are shown the door. Over TCP a doorkeeper in front sees to that."""
        super().connection_made(transport)
        self.close_timeout = _CLOSE_S
        connected = transport.get_extra_info("socket")
        if connected.family != socket.AF_UNIX:
            return
        self._uid = peer_uid(connected)
        if self._uid != os.geteuid():
            self._cut()

    def data_received(self, data: bytes) -> None:
        """Feed ``data`` in slices, as long as the client keeps to its bounds."""
        for start in range(0, len(data), _SLICE_BYTES):
            if self.transport.is_closing():
                return
            super().data_received(data[start : start + _SLICE_BYTES])
            if self.queue.qsize() > _MOST_WAITING or len(self.frames) > _MOST_FRAGMENTS:
                self._cut()

    def handle_connect(self, event: Request) -> None:
        """Tell the conversation who is asking; its task has not begun when this returns."""
        super().handle_connect(event)
        if not self.close_sent:
            cast("dict[str, object]", self.scope)[PEER] = self._uid

    def handle_ping(self) -> None:
        """Answer, unless there are too many to be meant."""
        now = self.loop.time()
        self._pings = max(0.0, self._pings - (now - self._pinged_at) / _PING_EVERY_S) + 1
        self._pinged_at = now
        if self._pings > _MOST_PINGS:
            self._cut()
        else:
            super().handle_ping()

    async def send(self, message: ASGISendEvent) -> None:
        """As usual; but who does not read what it is sent, or does not take part in a close, is cut."""
        if message["type"] == "websocket.close":
            self.loop.call_later(_CLOSE_S, self._cut)
        if not self.writable.is_set():
            try:
                await asyncio.wait_for(self.writable.wait(), SESSION_SEND_SECONDS)
            except TimeoutError:
                self._cut()
        await super().send(message)

    def keepalive_timeout(self) -> None:
        """No sign of life: whoever reads nothing would hold up a polite close for ever."""
        super().keepalive_timeout()
        self._cut()

    def _cut(self) -> None:
        self.transport.abort()
