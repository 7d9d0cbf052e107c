"""Server-sent events of a peer: one signed request, and what comes for as long as it lasts."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress

import httptools
import msgspec

from synapse_git.constants import MAX_BODY_BYTES, OBSERVATION_SILENCE_SECONDS, OWNER_DEADLINE_SECONDS
from synapse_hub.federation.identity import client_context
from synapse_hub.federation.line import server, why, written
from synapse_hub.federation.link import Unreachable, read
from synapse_hub.federation.signature import SignedRequest, Signer
from synapse_hub.hubfile import Peer

# A claim is told in about as many bytes as it was asked for in.
_LARGEST_FRAME = 2 * MAX_BODY_BYTES
_READ_BYTES = 262_144


class Frame(msgspec.Struct, frozen=True, gc=False):
    """``id``: '' where the sender gives none."""

    id: str
    kind: str
    data: bytes


async def listen(
    signer: Signer, name: str, peer: Peer, target: str, headers: Mapping[str, str]
) -> AsyncIterator[list[Frame]]:
    """What the peer called ``name`` sends, as it comes in. Nothing is read ahead of whoever takes it.

    Raises:
        Unreachable: it refuses, the connection broke, ended, or was silent for too long.
        ValueError, ssl.SSLError: its url or certificate is none.
    """
    host, port, authority = server(peer.url)
    request = SignedRequest("GET", target, dict(headers), b"")
    signer.sign(request, name, now=time.time(), nonce=secrets.token_hex(12))
    secured = client_context(peer.certificate)
    try:
        async with asyncio.timeout(OWNER_DEADLINE_SECONDS):
            reader, writer = await asyncio.open_connection(host, port, ssl=secured)
    except (OSError, TimeoutError) as error:
        raise Unreachable(why(error) or "it does not answer") from error
    try:
        writer.write(written(authority, "GET", target, request.headers))
        async for frames in _received(reader):
            yield frames
    finally:
        writer.transport.abort()


async def _received(reader: asyncio.StreamReader) -> AsyncIterator[list[Frame]]:
    answer = _Answer()
    while not answer.over:
        try:
            data = await asyncio.wait_for(reader.read(_READ_BYTES), OBSERVATION_SILENCE_SECONDS)
            answer.parser.feed_data(data)
        except (OSError, TimeoutError, httptools.HttpParserError) as error:
            raise Unreachable(why(error) or f"it was silent for {OBSERVATION_SILENCE_SECONDS:g} s") from error
        if not data:
            break
        if frames := answer.frames():
            yield frames
    answer.refused()
    raise Unreachable("it ended the stream")


class _Answer:
    """What has come so far."""

    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.over = False
        self._body = bytearray()

    def frames(self) -> list[Frame]:
        """Those that are whole now. Raises: Unreachable."""
        if len(self._body) > _LARGEST_FRAME + _READ_BYTES:
            raise Unreachable("what it sends is over any bound")
        if self.parser.get_status_code() != 200:
            return []
        whole, mark, rest = bytes(self._body).rpartition(b"\n\n")
        if not mark:
            return []
        self._body = bytearray(rest)
        return list(_frames(whole.split(b"\n\n")))

    def refused(self) -> None:
        """Raises: Unreachable, if it is a problem document."""
        with suppress(AttributeError):  # nothing came at all
            if (status := self.parser.get_status_code()) != 200:
                reply = read(status, bytes(self._body), {})
                raise Unreachable(f"{reply.reason}: {reply.document.get('detail')}")

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        self.over = True


def _frames(blocks: list[bytes]) -> Iterator[Frame]:
    for block in blocks:
        fields = {name: value for name, _, value in (line.partition(b": ") for line in block.split(b"\n"))}
        if b"data" in fields:
            place, kind = (fields.get(name, b"").decode("utf-8", "replace") for name in (b"id", b"event"))
            yield Frame(place, kind, fields[b"data"])
