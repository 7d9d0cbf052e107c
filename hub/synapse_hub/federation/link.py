"""A line to one peer: TLS to its one certificate, every request signed, every wait bounded."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from synapse_git.errors import REASONS
from synapse_hub.core.outcome import Refusal
from synapse_hub.federation.identity import Identity, client_context
from synapse_hub.federation.line import Broken, Line, NotConnected
from synapse_hub.federation.signature import SignedRequest, Signer
from synapse_hub.federation.witness import HEARD, STAMP, Witness
from synapse_hub.hubfile import Peer

# By so much the clocks of two hubs may differ without anyone taking notice. What one that has just started takes for
# older than itself is sent again when it cannot be.
_APART_S = 1.05


class Unreachable(Exception):
    """No answer that can be understood. The text says why.

    ``sent``: the request may have arrived, so whether it took effect is not known.
    """

    def __init__(self, why: str, *, sent: bool = True) -> None:
        super().__init__(why)
        self.sent = sent


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

    @property
    def replayed(self) -> bool:
        """Was it given before, to the same key?"""
        return bool(self.document.get("replayed"))


class Link:
    """To the hub called ``name``."""

    def __init__(
        self,
        me: str,
        identity: Identity,
        name: str,
        peer: Peer,
        wall: Callable[[], float] = time.time,
        line: Line | None = None,
        witness: Witness | None = None,
    ) -> None:
        """Raises: ValueError, ssl.SSLError, where the peer's url or certificate is none."""
        self._witness = witness
        self.name = name
        self.peer = peer
        self._signer = Signer(me, identity.key)
        self._wall = wall
        self._line = line or Line(peer.url, client_context(peer.certificate))

    def close(self) -> None:
        """Let go of the connections."""
        self._line.close()

    async def ask(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes = b"", *, deadline_s: float
    ) -> Reply:
        """Send a request, and once more if the connection broke: what changes something carries a key.

        Raises:
            Unreachable: nothing that can be understood came back within ``deadline_s``.
            ValueError: a header holds what cannot be signed.
        """
        request = SignedRequest(method, target, dict(headers), body)
        sent = False
        try:
            async with asyncio.timeout(deadline_s):
                try:
                    reply = await self._once(request)
                    if reply.reason != "EXPIRED" or deadline_s <= _APART_S:
                        return reply
                    await asyncio.sleep(_APART_S)
                except NotConnected:
                    return await self._once(request)
                except Broken:
                    sent = True
                reply = await self._once(request)
                return msgspec.structs.replace(reply, alone=False)
        except TimeoutError:
            raise Unreachable(f"it did not answer within {deadline_s:g} s") from None
        except (NotConnected, Broken) as error:
            raise Unreachable(str(error), sent=sent or isinstance(error, Broken)) from error

    async def _once(self, request: SignedRequest) -> Reply:
        """Signed now: an owner takes each signature once. Raises: NotConnected, Broken, Unreachable."""
        if self._witness is not None and (told := self._witness.told(self.name)):
            request.headers[HEARD] = told
        self._signer.sign(request, self.name, now=self._wall(), nonce=secrets.token_hex(12))
        found = await self._line.exchange(request.method, request.target, request.headers, request.body)
        if self._witness is not None:
            self._witness.hear(self.name, found.headers.get(STAMP, ""))
            self._witness.confirms(self.name, found.headers.get(HEARD, ""))
        return read(found.status, found.body, found.headers)


def read(status: int, raw: bytes, headers: Mapping[str, str]) -> Reply:
    """The answer of a hub. Raises: Unreachable, where it is none of a hub's."""
    try:
        document = msgspec.json.decode(raw, type=dict[str, Any])
    except msgspec.MsgspecError:
        raise Unreachable(f"it answered {status} with something else than a document") from None
    if status != 200 and document.get("reason") not in REASONS:
        raise Unreachable(f"it answered {status} without a reason that this version knows")
    return Reply(status, raw, headers, document)


def unreachable(owner: str, why: str, *, after: bool = False, grants: bool = True) -> Refusal:
    """The refusal where the hub ``owner`` does not answer.

    ``after``: something may have been done all the same; ``grants``: is it asked as the owner of a namespace?
    """
    more = " Whether it was done is not known; repeat it to be sure" if after else ""
    return Refusal(
        "OWNER_UNREACHABLE",
        f"{owner}{', which grants here,' if grants else ''} cannot be asked: {why}.{more}",
        f"Wait until {owner} is back, or see how it stands: synapse-git team status",
    )
