"""A row of the journal, and the hash that chains it to the one before."""

from __future__ import annotations

import hashlib

import msgspec

from synapse_hub.core.events import KINDS, AnyEvent, kind_of

GENESIS = bytes(32)


class Record(msgspec.Struct, frozen=True, gc=False):
    """``seq`` rises over incarnations, ``batch`` names the commit it came in, ``body`` is the event as plain JSON."""

    seq: int
    incarnation: int
    batch: str
    kind: str
    body: bytes
    hash: bytes

    def event(self) -> AnyEvent:
        """Raises: UnknownEvent, where this program does not know the kind or the body does not fit it."""
        kind = KINDS.get(self.kind)
        if kind is None:
            raise UnknownEvent(f"event {self.seq} is a {self.kind}, which this version does not know")
        try:
            return msgspec.json.decode(self.body, type=kind)
        except msgspec.MsgspecError as error:
            raise UnknownEvent(f"event {self.seq} ({self.kind}) cannot be read: {error}") from None


class UnknownEvent(Exception):
    """A row that this version of the hub cannot replay."""


def seal(event: AnyEvent, seq: int, incarnation: int, batch: str, previous: bytes) -> Record:
    """``event`` as the next row after the one whose hash is ``previous``."""
    kind = kind_of(event)
    body = msgspec.json.encode(event)
    return Record(seq, incarnation, batch, kind, body, chain(previous, seq, incarnation, batch, kind, body))


def chain(previous: bytes, seq: int, incarnation: int, batch: str, kind: str, body: bytes) -> bytes:
    """SHA-256 over everything that a row says and the hash before it."""
    head = f"{seq} {incarnation} {batch} {kind} ".encode()
    return hashlib.sha256(previous + head + body).digest()
