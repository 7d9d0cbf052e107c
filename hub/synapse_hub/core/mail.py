"""Messages that wait: what was said to everyone, and each agent's mailbox with the mark up to which it has read.

Every table has its bound here, so that it is kept to live, in a replay and after a snapshot alike (Spec: INV-RR-2).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from immutables import Map

from synapse_git.constants import (
    CHAT_RETENTION_SECONDS,
    HUB_AGENT,
    LETTER_RETENTION_SECONDS,
    MAX_LETTERS,
    MAX_MAILBOX_LETTERS,
    MAX_MAILBOX_NOTICES,
    MAX_NOTICES,
    MAX_REMEMBERED_NOTICES,
    MAX_REMEMBERED_READERS,
    MAX_RETAINED_CHAT,
    NOTICE_COALESCE_SECONDS,
)
from synapse_hub.core.events.talk import MessageAcknowledged, MessageSent
from synapse_hub.core.recent import Recent, near


class Message(msgspec.Struct, frozen=True, gc=False):
    """``seq``: its number, that of its event."""

    seq: int
    sent: MessageSent

    @property
    def notice(self) -> bool:
        """Does the hub itself say it?"""
        return self.sent.sender == HUB_AGENT

    def document(self) -> dict[str, Any]:
        """As it stands on the wire."""
        sent = self.sent
        return {
            "seq": self.seq,
            "sender": sent.sender,
            "to": sent.to,
            "body": sent.body,
            "client_msg_id": sent.client_msg_id,
            "timestamp": sent.at,
            "client_timestamp": sent.client_timestamp,
        }


class Mail(msgspec.Struct, frozen=True):
    """``chat``: what went to everyone, oldest first. ``boxes``: recipient → what it has not acknowledged, oldest first.

    ``letters`` and ``notices`` (those of the hub): number → recipient, for the bounds over all boxes. ``watermarks``:
    agent → the number up to which it has acknowledged. ``noticed``: recipient and what it was told about of late.
    ``arrived``: origin and recipient, '' for everyone → the number up to which another hub's words are here.
    """

    chat: tuple[Message, ...] = ()
    boxes: Map[str, tuple[Message, ...]] = Map()
    letters: Recent[int, str] = Recent()
    notices: Recent[int, str] = Recent()
    watermarks: Recent[str, int] = Recent()
    noticed: Recent[tuple[str, str], None] = Recent()
    arrived: Recent[tuple[str, str], int] = Recent()

    def arrived_upto(self, origin: str, to: str) -> int:
        """Up to here what waited at ``origin`` for ``to`` is here; 0 if nothing is."""
        found = self.arrived.get((origin, to))
        return found[1] if found else 0

    def watermark(self, agent: str) -> int:
        """Up to here ``agent`` has acknowledged; 0 if it never has."""
        found = self.watermarks.get(agent)
        return found[1] if found else 0

    def noticed_lately(self, agent: str, about: str, now: float) -> bool:
        """Was ``agent`` told that already, a while ago at most?"""
        before = self.noticed.get((agent, about))
        return before is not None and near(before[0], now, NOTICE_COALESCE_SECONDS)

    def box(self, agent: str) -> tuple[Message, ...]:
        """What was sent to ``agent`` alone and is not acknowledged."""
        return self.boxes.get(agent, ())

    def waiting(self, agent: str, now: float, after: int = 0) -> list[Message]:
        """What ``agent`` has to read beyond its watermark and ``after``, in the hub's order."""
        after = max(after, self.watermark(agent))
        own = [message for message in self.box(agent) if message.seq > after]
        own += self._heard(agent, now, after)
        return sorted(own, key=lambda message: message.seq)

    def unread(self) -> list[Message]:
        """What one agent sent to another and that one has not acknowledged, in the hub's order."""
        found = [message for box in self.boxes.values() for message in box if not message.notice]
        return sorted(found, key=lambda message: message.seq)

    def pending(self, agent: str, now: float) -> int:
        """How many messages wait for ``agent``: a count of what was not acknowledged, no more. None for nobody."""
        if not agent:
            return 0
        return len(self.box(agent)) + len(self._heard(agent, now, self.watermark(agent)))

    def _heard(self, agent: str, now: float, after: int) -> list[Message]:
        found = []
        for message in reversed(self.chat):
            if message.seq <= after or not near(message.sent.at, now, CHAT_RETENTION_SECONDS):
                break
            if message.sent.sender != agent:
                found.append(message)
        return found


def delivered(mail: Mail, seq: int, sent: MessageSent) -> Mail:
    """``mail`` with one more message. Total: at a bound the oldest goes, `core.messages` refuses before that."""
    message = Message(seq, sent)
    if sent.to is None:
        chat = (*mail.chat, message)[-MAX_RETAINED_CHAT:]
        first = next(at for at, one in enumerate(chat) if near(one.sent.at, sent.at, CHAT_RETENTION_SECONDS))
        mail = msgspec.structs.replace(mail, chat=chat[first:])
    else:
        mail = _enclosed(mail, message, sent.to)
    if sent.origin:
        mail = _arrived(mail, (sent.origin, sent.to or ""), sent.at, sent.number)
    return _noted(mail, (sent.to, sent.about), sent.at) if sent.to and sent.about else mail


def _arrived(mail: Mail, way: tuple[str, str], at: float, number: int) -> Mail:
    arrived = mail.arrived.put(way, at, number, keep_after=0.0, capacity=MAX_REMEMBERED_READERS)
    return msgspec.structs.replace(mail, arrived=arrived)


def _noted(mail: Mail, about: tuple[str, str], at: float) -> Mail:
    noticed = mail.noticed.put(
        about, at, None, keep_after=at - NOTICE_COALESCE_SECONDS, capacity=MAX_REMEMBERED_NOTICES
    )
    return msgspec.structs.replace(mail, noticed=noticed)


def _enclosed(mail: Mail, message: Message, to: str) -> Mail:
    """With ``message`` in its box. A box that is full makes room itself, before anybody else's has to."""
    notice = message.notice
    order, capacity, most = (
        (mail.notices, MAX_NOTICES, MAX_MAILBOX_NOTICES) if notice else (mail.letters, MAX_LETTERS, MAX_MAILBOX_LETTERS)
    )
    box, over = _bounded((*mail.box(to), message), most, notice=notice)
    before = _all_without(order, over)
    at = message.sent.at
    order, gone = before.put_and_shed(message.seq, at, to, keep_after=at - LETTER_RETENTION_SECONDS, capacity=capacity)
    boxes = mail.boxes.set(to, box)
    for seq in gone:
        if (found := before.get(seq)) is not None:
            boxes = _without(boxes, found[1], seq)
    return msgspec.structs.replace(
        mail, boxes=boxes, letters=mail.letters if notice else order, notices=order if notice else mail.notices
    )


def _without(boxes: Map[str, tuple[Message, ...]], to: str, seq: int) -> Map[str, tuple[Message, ...]]:
    left = tuple(message for message in boxes[to] if message.seq != seq)
    return boxes.set(to, left) if left else boxes.delete(to)


def _bounded(box: tuple[Message, ...], most: int, *, notice: bool) -> tuple[tuple[Message, ...], list[int]]:
    """``box`` with at most ``most`` of its letters or notices, the newest, and the numbers of those that went."""
    kind = [message.seq for message in box if message.notice is notice]
    over = kind[: max(len(kind) - most, 0)]
    return (tuple(message for message in box if message.seq not in over), over) if over else (box, over)


def _all_without(order: Recent[int, str], seqs: Iterable[int]) -> Recent[int, str]:
    for seq in seqs:
        order = order.without(seq)
    return order


def acknowledged(mail: Mail, event: MessageAcknowledged) -> Mail:
    """``mail`` after ``event``: the watermark rises or stays (Spec: INV-DG-3), what lies below it is done with."""
    upto = max(event.seq, mail.watermark(event.agent))
    watermarks = mail.watermarks.put(event.agent, event.at, upto, keep_after=0.0, capacity=MAX_REMEMBERED_READERS)
    box = mail.box(event.agent)
    left = tuple(message for message in box if message.seq > upto)
    done = [message.seq for message in box if message.seq <= upto]
    boxes = mail.boxes
    if done:
        boxes = boxes.set(event.agent, left) if left else boxes.delete(event.agent)
    return msgspec.structs.replace(
        mail,
        boxes=boxes,
        letters=_all_without(mail.letters, done),
        notices=_all_without(mail.notices, done),
        watermarks=watermarks,
    )


class MailImage(msgspec.Struct, frozen=True):
    """`Mail` as a snapshot holds it: every message that waits, in order, and the watermarks."""

    messages: list[Message] = []
    watermarks: list[tuple[str, float, int]] = []
    noticed: list[tuple[tuple[str, str], float, None]] = []
    arrived: list[tuple[tuple[str, str], float, int]] = []


def image(mail: Mail) -> MailImage:
    """``mail`` written down."""
    messages = [*mail.chat, *(message for box in mail.boxes.values() for message in box)]
    messages.sort(key=lambda message: message.seq)
    return MailImage(messages, list(mail.watermarks.items()), list(mail.noticed.items()), list(mail.arrived.items()))


def restored(written: MailImage) -> Mail:
    """The mail that was written down, within today's bounds."""
    mail = Mail()
    for message in written.messages:
        mail = delivered(mail, message.seq, message.sent)
    mail = msgspec.structs.replace(mail, noticed=Recent())
    for about, at, _ in written.noticed:
        mail = _noted(mail, about, at)
    for way, at, number in written.arrived:
        mail = _arrived(mail, way, at, number)
    watermarks = mail.watermarks
    for agent, at, seq in written.watermarks:
        watermarks = watermarks.put(agent, at, seq, keep_after=0.0, capacity=MAX_REMEMBERED_READERS)
    return msgspec.structs.replace(mail, watermarks=watermarks)
