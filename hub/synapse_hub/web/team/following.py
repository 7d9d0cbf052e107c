"""The journal as another hub is told of it: what is held in the namespaces that the two share, then what changes."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from contextlib import closing
from itertools import chain, islice

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from synapse_git.constants import OBSERVATION_IDLE_SECONDS, WIRE_PROTOCOL_VERSION
from synapse_hub.federation.observation.tidings import (
    TOLD_KINDS,
    AnyTiding,
    Asserted,
    Listener,
    PictureBegun,
    PictureDone,
    Present,
)
from synapse_hub.journal.record import Record
from synapse_hub.journal.sqlite import open_reader, read
from synapse_hub.web.desk import Desk

_PAGE = 500
# Changes are gathered for so long: a hub in a hurry is not read from at each of its commits.
_GATHER_S = 0.03


def follow(desk: Desk, request: Request, hub: str, after: int) -> Response:
    """`GET /v2/events` for the peer ``hub``. ``after``: up to where it has the picture that it names, 0 if none."""
    telling = Telling(desk, hub, after, request.headers.get("synapse-picture", ""))
    headers = {"Cache-Control": "no-store", "Synapse-Protocol": str(WIRE_PROTOCOL_VERSION)}
    return StreamingResponse(telling.stream(), media_type="text/event-stream", headers=headers)


class Telling:
    """One stream to one peer. ``at``: up to where it was told; -1: a picture is due."""

    def __init__(self, desk: Desk, hub: str, after: int, picture: str) -> None:
        self._desk = desk
        self._hub = hub
        self._picture = picture
        # A journal that was put back to an earlier day has not come so far.
        self.at = after if 0 < after <= desk.hub.state.seq else -1
        self._owns: tuple[str, ...] | None = None

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """Until either side ends it, or the peer is none any more."""
        shown_at = time.monotonic()
        async for changed in self._desk.changes(OBSERVATION_IDLE_SECONDS):
            if self._hub not in self._desk.team.settled.peers:
                return
            # Gathered first, so that whoever waits for the answer to this very change is not kept by it.
            await asyncio.sleep(_GATHER_S)
            async for frames in self._news():
                yield frames
            if not changed or time.monotonic() - shown_at > OBSERVATION_IDLE_SECONDS:
                shown_at = time.monotonic()
                stamp = self._desk.team.witness.stamp()
                yield self._frame(Present(now=self._desk.hub.now(), stamp=stamp), self.at)

    async def _news(self) -> AsyncIterator[bytes]:
        listener = self._listener()
        if (picture := self._name_of(listener)) != self._picture:
            self._picture, self.at = picture, -1
        # All of it, as in `GET /v2/receipts`: what is left out here would be taken for given up there.
        owns = tuple(self._desk.team.owned())
        if owns != self._owns:
            self._owns = owns
            yield self._frame(Asserted(owns=owns))
        # Nobody outside sees an event that a power cut could still take back.
        upto = self._desk.hub.synced_seq
        while self.at < upto:
            page = await asyncio.to_thread(_page, self._desk.journal_path, self.at, upto) if self.at >= 0 else None
            if not page or _gap(page, self.at):
                async for frames in self._all(listener):
                    yield frames
                continue
            self.at = page[-1].seq
            told = (
                self._frame(tiding, record.seq)
                for record in page
                if record.kind in TOLD_KINDS and (tiding := listener.told(record.event(), record.seq))
            )
            if frames := b"".join(told):
                yield frames

    def _listener(self) -> Listener:
        team = self._desk.team
        shared = frozenset(team.parties(self._hub))
        circles = [team.settled.namespaces[name].members for name in shared if team.member(self._hub, name)]
        return Listener(team.id, self._hub, shared, lambda name: team.seen_by(self._hub, name), circles)

    def _name_of(self, listener: Listener) -> str:
        """What is told depends on it: to go on from a picture of something else would leave gaps."""
        hub = self._desk.hub
        told = msgspec.json.encode([hub.hub_id, hub.incarnation, sorted(listener.shared)])
        return hashlib.sha256(told).hexdigest()[:32]

    async def _all(self, listener: Listener) -> AsyncIterator[bytes]:
        """What is held at one instant. The state is immutable, so it may take its time."""
        state = self._desk.hub.state
        yield self._frame(PictureBegun(picture=self._picture, now=self._desk.hub.now()))
        held = (listener.held(claim) for claim in state.claims.values())
        said = chain(state.mail.chat, *state.mail.boxes.values())
        letters = (listener.letter(one.seq, one.sent) for one in said)
        for page in _chunks(self._frame(tiding) for tiding in chain[AnyTiding | None](held, letters) if tiding):
            yield page
        self.at = state.seq
        yield self._frame(PictureDone(), self.at)

    def _frame(self, tiding: AnyTiding, seq: int = -1) -> bytes:
        """``seq``: up to where the peer knows everything with this."""
        head = f"id: {self._desk.hub.incarnation}:{seq}\n" if seq >= 0 else ""
        kind = type(tiding).__struct_config__.tag
        return f"{head}event: {kind}\ndata: ".encode() + msgspec.json.encode(tiding) + b"\n\n"


def _chunks(frames: Iterator[bytes]) -> Iterator[bytes]:
    while page := b"".join(islice(frames, _PAGE)):
        yield page


def _page(path: str, after: int, upto: int) -> list[Record]:
    with closing(open_reader(path)) as connection:
        return list(islice(read(connection, after, upto), _PAGE))


def _gap(page: Iterable[Record], after: int) -> bool:
    """Were rows in between forgotten already?"""
    return any(record.seq != number for number, record in enumerate(page, after + 1))
