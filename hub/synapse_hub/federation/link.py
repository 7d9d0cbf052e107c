"""A line to one peer: TLS to its one certificate, every request signed, every wait bounded."""

from __future__ import annotations

import asyncio
import importlib.util
import secrets
import ssl
import sys
import time
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, cast

import httpx
import msgspec

from synapse_git.errors import REASONS
from synapse_hub.core.outcome import Refusal
from synapse_hub.federation.identity import Identity, client_context
from synapse_hub.federation.signature import SignedRequest, Signer
from synapse_hub.hubfile import Peer

_KEPT_CONNECTIONS = 16

if importlib.util.find_spec("sniffio") is None:
    # httpcore looks for it four times in each request, and looking for what is not there takes longest.
    sys.modules.setdefault("sniffio", cast(ModuleType, None))
# A signature counts by the second: one from the very second of the peer's start may seem to be from before it.
_SECOND_S = 1.05


class Unreachable(Exception):
    """No answer that can be understood. The text says why; whether the request took effect is not known."""


class Reply(msgspec.Struct, frozen=True):
    """An answer of a hub: a success, or (``reason``) its problem document. ``raw`` is the body as it came.

    ``alone``: the request was sent once, so no other copy of it can be decided after this answer.
    """

    status: int
    raw: bytes
    headers: Mapping[str, str]
    document: dict[str, Any]
    alone: bool = True

    @property
    def reason(self) -> str:
        """'' of a success."""
        return "" if self.status == 200 else str(self.document["reason"])


class Link:
    """To the hub called ``name``."""

    def __init__(
        self, me: str, identity: Identity, name: str, peer: Peer, wall: Callable[[], float] = time.time
    ) -> None:
        """Raises: ValueError, ssl.SSLError, where the peer's certificate is none."""
        self.name = name
        self.peer = peer
        self._signer = Signer(me, identity.key)
        self._wall = wall
        self._url = peer.url.rstrip("/")
        # The bare transport: cookies, redirects and proxies are nothing that a hub should follow.
        self._transport = httpx.AsyncHTTPTransport(
            verify=client_context(peer.certificate),
            trust_env=False,
            limits=httpx.Limits(max_connections=64, max_keepalive_connections=_KEPT_CONNECTIONS),
        )

    async def close(self) -> None:
        await self._transport.aclose()

    async def ask(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes = b"", *, deadline_s: float
    ) -> Reply:
        """Send a request, and once more if the connection broke: what changes something carries a key.

        Raises:
            Unreachable: nothing that can be understood came back within ``deadline_s``.
        """
        try:
            async with asyncio.timeout(deadline_s):
                try:
                    reply = await self._once(method, target, headers, body)
                    if reply.reason != "EXPIRED" or deadline_s <= 2 * _SECOND_S:
                        return reply
                    await asyncio.sleep(_SECOND_S)
                except httpx.ConnectError:
                    return await self._once(method, target, headers, body)
                except httpx.TransportError:
                    pass
                reply = await self._once(method, target, headers, body)
                return msgspec.structs.replace(reply, alone=False)
        except TimeoutError:
            raise Unreachable(f"it did not answer within {deadline_s:g} s") from None
        except (httpx.HTTPError, ssl.SSLError, OSError) as error:
            raise Unreachable(str(error) or type(error).__name__) from error

    async def _once(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """One signed request. Raises: httpx.HTTPError, Unreachable."""
        request = SignedRequest(method, target, dict(headers), body)
        self._signer.sign(request, self.name, now=self._wall(), nonce=secrets.token_hex(12))
        sent = httpx.Request(method, self._url + target, headers=request.headers, content=body)
        found = await self._transport.handle_async_request(sent)
        try:
            return read(found.status_code, await found.aread(), found.headers)
        finally:
            await found.aclose()


def read(status: int, raw: bytes, headers: Mapping[str, str]) -> Reply:
    """The answer of a hub. Raises: Unreachable, where it is none of a hub's."""
    try:
        document = msgspec.json.decode(raw, type=dict[str, Any])
    except msgspec.MsgspecError:
        raise Unreachable(f"it answered {status} with something else than a document") from None
    if status != 200 and document.get("reason") not in REASONS:
        raise Unreachable(f"it answered {status} without a reason that this version knows")
    return Reply(status, raw, headers, document)


def unreachable(owner: str, why: str, *, after: bool = False) -> Refusal:
    """The refusal where the owner ``owner`` does not answer; ``after``: something may have been done all the same."""
    more = " Whether it was done is not known; repeat it to be sure" if after else ""
    return Refusal(
        "OWNER_UNREACHABLE",
        f"{owner}, which grants here, cannot be asked: {why}.{more}",
        f"Wait until {owner} is back, or see how it stands: synapse-git team status",
    )
