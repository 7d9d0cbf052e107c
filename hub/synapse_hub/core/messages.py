"""The decisions on messages: send and acknowledge. Pure.

Chat is at least once: no key suppresses a retry, the receiver tells copies apart (Spec: INV-DG-1). What one agent
sends to another waits for it, session or not, until it is acknowledged (Spec: INV-DG-3).
"""

from __future__ import annotations

from synapse_git.constants import LETTER_RETENTION_SECONDS, MAX_LETTERS, MAX_MAILBOX_LETTERS
from synapse_hub.core.commands.talk import Acknowledge, SendMessage
from synapse_hub.core.events.talk import MessageAcknowledged, MessageSent
from synapse_hub.core.mail import Mail
from synapse_hub.core.outcome import Decided, Outcome, Refusal
from synapse_hub.core.state import State


def decide_send(state: State, command: SendMessage, now: float) -> Outcome:
    """Stamp the message with ``now`` and keep it for those concerned. Spec: INV-CK-1.

    What comes from another hub is kept once, whatever that one repeats; ``upto`` in the answer is how far it is here.
    Refuses with QUOTA_EXCEEDED where it could be kept only by forgetting another that was promised to be.
    """
    arrived = state.mail.arrived_upto(command.origin, command.to or "") if command.origin else 0
    if 0 < command.number <= arrived:
        return Decided([], {"timestamp": now, "delivered": False, "upto": arrived})
    full = _full(state.mail, command.to, now) if command.to is not None else None
    if full:
        return full
    event = MessageSent(
        at=now,
        sender=command.agent,
        to=command.to,
        body=command.body,
        client_msg_id=command.client_msg_id,
        client_timestamp=command.client_timestamp,
        delivered=command.reached,
        origin=command.origin,
        number=command.number,
        abroad=command.abroad,
    )
    upto = {"upto": command.number} if command.origin else {}
    return Decided([event], {"timestamp": now, "delivered": command.reached, **upto})


def _full(mail: Mail, to: str, now: float) -> Refusal | None:
    """Why no letter can be kept for ``to``, if none can."""
    kept_from = now - LETTER_RETENTION_SECONDS
    letters = sum(not message.notice and message.sent.at > kept_from for message in mail.box(to))
    if letters >= MAX_MAILBOX_LETTERS:
        return Refusal(
            "QUOTA_EXCEEDED",
            f"{letters} messages wait for {to} already, and none that was promised to be kept is dropped",
            f"Wait until {to} has read some, or say it to everyone",
        )
    oldest = mail.letters.oldest()
    if len(mail.letters) >= MAX_LETTERS and oldest is not None and oldest > kept_from:
        return Refusal(
            "QUOTA_EXCEEDED",
            f"{len(mail.letters)} messages wait to be read, and none that was promised to be kept is dropped",
            "Have those who are here read and acknowledge theirs, or say it to everyone",
        )
    return None


def decide_acknowledge(state: State, command: Acknowledge, now: float) -> Decided:
    """Raise the agent's watermark to ``seq``, not beyond what there is, and never lower it. Spec: INV-DG-3."""
    before = state.mail.watermark(command.agent)
    upto = min(command.seq, state.seq)
    events = [MessageAcknowledged(at=now, agent=command.agent, seq=upto)] if upto > before else []
    left = [message for message in state.mail.waiting(command.agent, now) if message.seq > upto]
    return Decided(events, {"watermark": max(before, upto), "pending": len(left)})
