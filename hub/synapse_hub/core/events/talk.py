"""What agents told each other: messages, notes, offers."""

from __future__ import annotations

from synapse_hub.core.events.base import Event


class MessageSent(Event, frozen=True, tag="message_sent"):
    """A message; its number is the event's own. ``to`` None: to everyone. Spec: INV-DG-1, INV-DG-3, INV-CK-1.

    ``delivered``: a session of the recipient was open then, which says nothing about its being read.
    ``client_timestamp`` is the sender's word and orders nothing. ``about``: of the hub's own, what is not to be said
    again for a while. ``origin``, ``number``: of one that came from another hub, which hub that was and under which
    number, by which a copy is known. ``abroad``: said to everyone while this hub was in a team, so the others hear it.
    """

    sender: str
    to: str | None
    body: str
    client_msg_id: str | None = None
    client_timestamp: float | None = None
    delivered: bool = False
    about: str = ""
    origin: str = ""
    number: int = 0
    abroad: bool = False


class MessageAcknowledged(Event, frozen=True, tag="message_acknowledged"):
    """``agent`` has what was said up to event ``seq``: its watermark. Spec: INV-DG-3."""

    agent: str
    seq: int


class NoteAdded(Event, frozen=True, tag="note_added"):
    """A note on progress, for the board; ``task_id`` '' is about none."""

    agent: str
    namespace: str
    task_id: str
    text: str


class ResourceOffered(Event, frozen=True, tag="resource_offered"):
    """Something others may use until ``expires_at``, by the lease clock."""

    agent: str
    namespace: str
    name: str
    note: str
    expires_at: float


class ResourceWithdrawn(Event, frozen=True, tag="resource_withdrawn"):
    """Who offered it does so no more."""

    agent: str
    namespace: str
    name: str


TalkEvent = MessageSent | MessageAcknowledged | NoteAdded | ResourceOffered | ResourceWithdrawn
