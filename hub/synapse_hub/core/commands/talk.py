"""Commands of messages, notes and resources."""

from __future__ import annotations

from synapse_hub.core.commands.base import Acting


class SendMessage(Acting, frozen=True, kw_only=True):
    """``to`` None: to everyone. ``reached``: a session of the recipient is open now (Spec: INV-DG-3).

    ``abroad``, ``origin``, ``number``: as in `MessageSent`.
    """

    to: str | None
    body: str
    client_msg_id: str | None = None
    client_timestamp: float | None = None
    reached: bool = False
    abroad: bool = False
    origin: str = ""
    number: int = 0


class Acknowledge(Acting, frozen=True, kw_only=True):
    """``agent`` has what was said up to event ``seq``."""

    seq: int


class AddNote(Acting, frozen=True, kw_only=True):
    """``task_id`` '' is about none."""

    namespace: str
    task_id: str
    text: str


class OfferResource(Acting, frozen=True, kw_only=True):
    namespace: str
    name: str
    note: str
    ttl_s: float


class WithdrawResource(Acting, frozen=True, kw_only=True):
    namespace: str
    name: str


TalkCommand = SendMessage | Acknowledge | AddNote | OfferResource | WithdrawResource
