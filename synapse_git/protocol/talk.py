"""Messages, notes, offers, names."""

from __future__ import annotations

from synapse_git.protocol.body import Body, UncheckedNumber


class MessageBody(Body, frozen=True, kw_only=True):
    """``to`` absent: to everyone. ``client_timestamp``: the sender's word, dropped where it is no finite number."""

    agent: str
    to: str | None = None
    body: str
    client_msg_id: str | None = None
    client_timestamp: UncheckedNumber = None


class AckBody(Body, frozen=True, kw_only=True):
    """``seq``: the number of the newest message that ``agent`` has."""

    agent: str
    seq: int


class NoteBody(Body, frozen=True, kw_only=True):
    """``task_id`` absent: about no task."""

    agent: str
    text: str
    namespace: str = ""
    task_id: str = ""


class ResourceBody(Body, frozen=True, kw_only=True):
    agent: str
    name: str
    namespace: str = ""
    note: str = ""
    ttl_s: UncheckedNumber = None


class WithdrawBody(Body, frozen=True, kw_only=True):
    agent: str
    name: str
    namespace: str = ""


class ReclaimBody(Body, frozen=True):
    agent: str
