"""Who a name is bound to."""

from __future__ import annotations

from synapse_hub.core.events.base import Event


class NameBound(Event, frozen=True, tag="name_bound"):
    """A session took the name, or came back to it; ``secret_sha256``: the digest of its secret, in hexadecimal."""

    agent: str
    principal: str
    secret_sha256: str


class NameDisconnected(Event, frozen=True, tag="name_disconnected"):
    """The session of the name is gone. It may come back until the name's lease has run out."""

    agent: str


class NameReleased(Event, frozen=True, tag="name_released"):
    """The session of the name gave it up: it is free at once. A key that is pinned to it stays pinned."""

    agent: str


class NameReclaimed(Event, frozen=True, tag="name_reclaimed"):
    """The name's own user took it back: no session owns it any more, and no key is pinned to it."""

    agent: str
    principal: str


class KeyPinned(Event, frozen=True, tag="key_pinned"):
    """From now on only who has this Ed25519 key (base64 of its 32 bytes) may bind the name."""

    agent: str
    principal: str
    key: str


NameEvent = NameBound | NameDisconnected | NameReleased | NameReclaimed | KeyPinned
