"""HTTP on our listeners: no patience for what drips, and on the socket who is asking, by the kernel's word.

uvicorn has neither deadlines nor caps for headers and bodies; one silent client would stay for ever and one loud one
take all memory. These subclasses add both.
"""

from __future__ import annotations

import asyncio
import os
from typing import cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from synapse_git.constants import MAX_HEADER_BYTES, RECEIVE_DEADLINE_SECONDS
from synapse_git.exchange import peer_uid
from synapse_git.protocol.path import PATHS_TYPE
from synapse_hub.web.desk import PEER

# A stream of paths may be longer than other bodies, as long as it moves on, but not go on for ever.
_STREAM_DEADLINE_SECONDS = 20.0
_LEAST_PROGRESS_BYTES = 8192


class _Corked:
    """The way out for answers: a head waits for the body that comes with it, so that one write wakes the asker once."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held = b""

    def write(self, data: bytes) -> None:
        if self._held:
            self._held += data
            self._flush()
        elif data.startswith(b"HTTP/1.1 "):
            # A stream may have nothing to say yet, and an answer to HEAD never has.
            self._held = data
            self._loop.call_soon(self._flush)
        else:
            self._transport.write(data)

    def _flush(self) -> None:
        if self._held:
            held, self._held = self._held, b""
            self._transport.write(held)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def is_closing(self) -> bool:
        return self._transport.is_closing()


class BoundedProtocol(HttpToolsProtocol):
    """One connection, by whomever."""

    _corked: _Corked
    _deadline: asyncio.TimerHandle | None = None
    _header_bytes = 0
    _headers_done = False
    _in_message = False
    _stream_ends: float | None = None
    _streamed_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # never another kind
        super().connection_made(transport)
        self._corked = _Corked(transport, self.loop)
        self._expect(RECEIVE_DEADLINE_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._satisfied()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count header bytes until they are complete."""
        if not self._in_message:
            self._in_message, self._headers_done, self._header_bytes = True, False, 0
            self._expect(RECEIVE_DEADLINE_SECONDS)
        if not self._headers_done:
            self._header_bytes += len(data) if len(data) < MAX_HEADER_BYTES else 0
            if self._header_bytes > MAX_HEADER_BYTES or (len(data) > MAX_HEADER_BYTES and b"\r\n\r\n" not in data):
                self._refuse()
                return
        self._streamed_bytes += len(data)
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """Headers are in: the body has its own deadline."""
        self._headers_done = True
        headers: dict[bytes, bytes] = dict(self.headers)
        streamed = headers.get(b"content-type") == PATHS_TYPE.encode()
        self._stream_ends = self.loop.time() + _STREAM_DEADLINE_SECONDS if streamed else None
        self._streamed_bytes = 0
        self._expect(RECEIVE_DEADLINE_SECONDS)
        super().on_headers_complete()
        if self.cycle is not None:  # as it is where a session begins
            self.cycle.transport = self._corked  # type: ignore[assignment]  # all of a transport that an answer needs

    def handle_websocket_upgrade(self) -> None:
        """The connection belongs to a session from here on, which has deadlines of its own."""
        self._satisfied()
        super().handle_websocket_upgrade()

    def on_message_complete(self) -> None:
        """All received: the answer may take its time."""
        self._satisfied()
        self._in_message, self._stream_ends = False, None
        super().on_message_complete()

    def _expect(self, seconds: float) -> None:
        self._satisfied()
        self._deadline = self.loop.call_later(seconds, self._late)

    def _satisfied(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _late(self) -> None:
        """The time is up; a stream that moved on, or that we ourselves have stopped reading, gets more of it."""
        moved = self._streamed_bytes >= _LEAST_PROGRESS_BYTES or self.flow.read_paused
        if moved and self._stream_ends is not None and self.loop.time() < self._stream_ends:
            self._streamed_bytes = 0
            self._expect(RECEIVE_DEADLINE_SECONDS)
        else:
            self._refuse()

    def _refuse(self) -> None:
        """Cut the connection: too slow or too large to be one of our clients."""
        self._satisfied()
        if not self.transport.is_closing():
            self.transport.abort()


class HubProtocol(BoundedProtocol):
    """One connection to the socket."""

    _uid: int | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # never another kind
        """Take note of the peer's uid; other users are shown the door."""
        super().connection_made(transport)
        self._uid = peer_uid(transport.get_extra_info("socket"))
        if self._uid != os.geteuid():
            self._refuse()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        cast("dict[str, object]", self.scope)[PEER] = self._uid
