"""The doorkeeper of the listener for peers: only what a known hub signed passes, and only to what is meant for hubs."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synapse_git.constants import MAX_BODY_BYTES
from synapse_hub.core.outcome import Refusal
from synapse_hub.federation.nonces import Nonces
from synapse_hub.federation.signature import SignedRequest, verify
from synapse_hub.federation.witness import HEARD, STAMP
from synapse_hub.web.desk import HUB, Desk
from synapse_hub.web.doors.door import turn_away


class Signed:
    """ASGI middleware. Routes behind it find the id of the hub that asks under `HUB` in the scope.

    ``recipient``: this hub's id; ``keys``: the peers' keys; both as they are now. ``routes``: methods and paths that
    peers may use; ``unsigned``: those of hubs that are nobody's peers yet.

    Spec: INV-CK-2, INV-MH-3
    """

    def __init__(
        self,
        app: ASGIApp,
        desk: Desk,
        *,
        recipient: Callable[[], str],
        keys: Callable[[], Mapping[str, Ed25519PublicKey]],
        routes: Collection[tuple[str, str]],
        unsigned: Collection[tuple[str, str]] = (),
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._app = app
        self._desk = desk
        self._recipient = recipient
        self._keys = keys
        self._routes = routes
        self._unsigned = unsigned
        self._wall = wall
        self._started = wall()
        self._nonces = Nonces()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = await self._admit(scope, receive)
        if isinstance(found, Refusal):
            await turn_away(self._desk, found, scope, receive, send)
            return
        hub, body = found
        scope[HUB] = hub
        await self._app(scope, _again(body, receive), self._dated(hub, send) if hub else send)

    def _dated(self, hub: str, send: Send) -> Send:
        """``send``, for answers that say how far the journal is here, and was there."""
        witness = self._desk.team.witness

        async def dated(message: Message) -> None:
            if message["type"] == "http.response.start":
                said = ((STAMP, witness.stamp()), (HEARD, witness.told(hub)))
                more = [(name.encode(), text.encode()) for name, text in said if text]
                message["headers"] = [*message.get("headers", ()), *more]
            await send(message)

        return dated

    async def _admit(self, scope: Scope, receive: Receive) -> tuple[str, bytes] | Refusal:
        if scope["type"] != "http":
            return Refusal("NOT_AUTHORISED", "this listener takes signed requests of hubs only")
        body = await _whole(receive)
        if body is None:
            return Refusal("TOO_LARGE", f"the body is over {MAX_BODY_BYTES} bytes", "Ask in parts")
        if (scope["method"], scope["path"]) in self._unsigned:
            return "", body
        request = SignedRequest(scope["method"], _target(scope), dict(Headers(scope=scope)), body)
        # The library joins lines of one header; two would be told apart by whoever reads one of them only.
        if len(request.headers) != len(scope["headers"]):
            return Refusal("NOT_AUTHORISED", "a header stands there twice")
        hub = verify(
            request,
            recipient=self._recipient(),
            keys=self._keys(),
            now=self._wall(),
            started=self._started,
            nonces=self._nonces,
        )
        if isinstance(hub, Refusal):
            return hub
        team = self._desk.team
        team.witness.meet(hub)
        confirmed = team.witness.confirms(hub, request.headers.get(HEARD, ""))
        if not confirmed and (refusal := team.witness.refusal(team.id)):
            return msgspec.structs.replace(refusal, fix=f"On {team.id}: {refusal.fix}")
        if (scope["method"], scope["path"]) not in self._routes:
            return Refusal("NOT_AUTHORISED", "this is nothing that a hub may ask of another")
        return hub, body


def _target(scope: Scope) -> str:
    path: bytes = scope["raw_path"]
    query: bytes = scope["query_string"]
    return (path + b"?" + query if query else path).decode("latin-1")


async def _whole(receive: Receive) -> bytes | None:
    """The body, or None where it is too large to be taken."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            return None
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return bytes(body)


def _again(body: bytes, receive: Receive) -> Receive:
    """A ``receive`` that gives the whole body first, then what else comes."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return messages.pop() if messages else await receive()

    return next_message
