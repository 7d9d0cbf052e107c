"""HTTP/1.1 to one server over TLS, on connections that are kept: requests go out whole, answers come back whole.

Neither redirects, cookies nor proxies, nothing that a hub should follow, and a fraction of what a client for everything
costs. The caller bounds the wait, and is told whether anything may have reached the server.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import struct
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit

import httptools
import msgspec

from synapse_git.constants import MAX_BODY_BYTES

_KEPT = 16
_AT_ONCE = struct.pack("ii", 1, 0)
_LARGEST_ANSWER = 64 * MAX_BODY_BYTES


class NotConnected(Exception):
    """Nothing was sent. The text says why."""


class Broken(Exception):
    """The connection ended before an answer was there; the request may have arrived. The text says how."""


class Answer(msgspec.Struct, frozen=True):
    """``headers``: lower-case names."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Line:
    """To the server at ``url``; ``secured`` says whom to believe to be it. On one event loop only."""

    def __init__(self, url: str, secured: ssl.SSLContext) -> None:
        """Raises: ValueError, where the url names no host and port."""
        self._host, self._port, self._authority = server(url)
        self._secured = secured
        self._idle: list[_Connection] = []

    async def exchange(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Raises: NotConnected, Broken."""
        connection = self._kept() or await self._connect()
        try:
            answer = await connection.exchange(written(self._authority, method, target, headers, body))
        except BaseException:
            # An answer that comes later is an answer to nothing. What ended this connection, perhaps in silence, as a
            # firewall that forgets does, has ended the others as well.
            connection.abort()
            self.close()
            raise
        if connection.usable and len(self._idle) < _KEPT:
            self._idle.append(connection)
        else:
            connection.abort()
        return answer

    def close(self) -> None:
        """Let go of the kept connections."""
        while self._idle:
            self._idle.pop().abort()

    def _kept(self) -> _Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.usable:
                return connection
        return None

    async def _connect(self) -> _Connection:
        loop = asyncio.get_running_loop()
        try:
            _, connection = await loop.create_connection(_Connection, self._host, self._port, ssl=self._secured)
        except OSError as error:
            raise NotConnected(why(error) or type(error).__name__) from error
        return connection


def why(error: Exception) -> str:
    """In words, without the number that the operating system has for it; '' where nothing is known."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            "whoever answers there is not who this hub joined: its certificate is another. "
            "If its key was lost, join it anew: synapse-git team join URL"
        )
    if isinstance(error, ssl.SSLError):
        return "what answers there is no hub of a team"
    said = error.strerror if isinstance(error, OSError) else ""
    return said or re.sub(r"^\[Errno \d+\] ", "", str(error))


def server(url: str) -> tuple[str, int, str]:
    """Host and port that ``url`` names, and both as a request says them. Raises: ValueError."""
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname or not parts.port:
        raise ValueError(f"{url} is no address of a hub. It is https://HOST:PORT")
    return parts.hostname, parts.port, parts.netloc


def written(authority: str, method: str, target: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    """A request as it goes over the line."""
    lines = [f"{method} {target} HTTP/1.1", f"host: {authority}", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join((*lines, "", "")).encode("latin-1") + body


class _Connection(asyncio.Protocol):
    """One exchange at a time."""

    _transport: asyncio.Transport

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._waiting: asyncio.Future[Answer] | None = None
        self._headers: dict[str, str] = {}
        self._body = bytearray()
        self.usable = True

    def exchange(self, request: bytes) -> asyncio.Future[Answer]:
        """The answer to ``request``; fails with Broken."""
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._waiting

    def abort(self) -> None:
        """End it, and with it what the kernel would go on sending: a claim that was given up is not to arrive later."""
        self.usable = False
        # One that has ended has none, or one that takes no options any more.
        if (ending := self._transport.get_extra_info("socket")) is not None:
            with suppress(OSError):
                ending.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self._transport.abort()

    # ---- called by the event loop ----

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # never another kind
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(f"the answer is no HTTP: {error}")
        if len(self._body) > _LARGEST_ANSWER:
            self._fail(f"the answer is over {_LARGEST_ANSWER} bytes")

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(str(exc) if exc else "the connection was closed")

    def _fail(self, why: str) -> None:
        self.abort()
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(Broken(why))

    # ---- called by the parser ----

    def on_message_begin(self) -> None:
        self._headers, self._body = {}, bytearray()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        self.usable = self.usable and self._parser.should_keep_alive()
        if self._waiting is None or self._waiting.done():
            # Nothing was asked, so nothing that comes after can be trusted to belong to a question.
            self.abort()
            return
        self._waiting.set_result(Answer(self._parser.get_status_code(), self._headers, bytes(self._body)))
