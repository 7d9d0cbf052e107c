"""What a session sends over its WebSocket."""

from __future__ import annotations

import msgspec

from synapse_git.protocol.body import UncheckedNumber, parse


class Frame(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="type"):
    """Base of what a session sends over its WebSocket."""


class RegisterFrame(Frame, frozen=True, kw_only=True, tag="register"):
    """The first: which name, and the ``secret`` of an earlier ``welcome``; ``key``: base64 of an Ed25519 public key."""

    agent: str
    secret: str | None = None
    key: str | None = None
    since_seq: int | None = None


class ProveFrame(Frame, frozen=True, tag="prove"):
    """The answer to a ``challenge``: base64 of the signature over `proof_statement`."""

    signature: str


class PresenceFrame(Frame, frozen=True, tag="presence"):
    """Asks who else has a session."""


class ReleaseFrame(Frame, frozen=True, tag="release"):
    """Gives the name up: it does not wait for the session to come back."""


class ChatFrame(Frame, frozen=True, tag="chat"):
    """As `MessageBody`, of the session's agent."""

    body: str
    to: str | None = None
    client_msg_id: str | None = None
    client_timestamp: UncheckedNumber = None


class AckFrame(Frame, frozen=True, tag="ack"):
    seq: int


AnyFrame = RegisterFrame | ProveFrame | ChatFrame | AckFrame | PresenceFrame | ReleaseFrame


def parse_frame(text: str) -> AnyFrame:
    """What a session sent. Raises: Malformed."""
    return parse(text.encode(), AnyFrame)  # type: ignore[arg-type]  # a union is no type to mypy


def proof_statement(hub_id: str, agent: str, nonce: str) -> bytes:
    """What a session signs to prove that it has the key it registers with."""
    return "\n".join(("synapse-git session", hub_id, agent, nonce)).encode()
