"""``inbox``: what waits to be read."""

from __future__ import annotations

import time

from synapse_git import client, explain, scope
from synapse_git.cli import output, phrase, shown, trail
from synapse_git.cli.verb import Option, Verb
from synapse_git.constants import HUB_AGENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from synapse_git.cli.call import Call

    Message = Mapping[str, Any]


def run(call: Call) -> int:
    """Exit 0. ``--json``: ``{messages, pending}``; with ``--follow`` a message a line, as they come. Spec: INV-DG-3"""
    agent = call.agent()
    if call.flag("sent") or call.flag("all"):
        return _letters(call, "" if call.flag("all") else agent)
    messages, page = _waiting(call.hub, agent)
    if call.flag("follow"):
        for message in messages if call.json else _once(messages):
            _tell(call, agent, message, page["now"])
        _follow(call, agent, page["seq"])
    elif call.json:
        output.structure({"messages": messages, "pending": page["pending"]})
    elif messages:
        lines = [_told(message, agent, page["now"]) for message in _once(messages)]
        output.result("\n".join([*lines, f"when read: {phrase.command(call, 'ack')}"]))
    else:
        output.result(f"nothing waits for {agent}")
    if messages:
        shown.note(call.hub, agent, messages[-1]["seq"])
    return 0


def _letters(call: Call, sender: str) -> int:
    """What ``sender`` ('' for anybody) sent and nobody has acknowledged. ``--json``: ``{letters, total}``."""
    letters: list[dict[str, Any]] = []
    while True:
        since = str(letters[-1]["seq"]) if letters else ""
        page = client.query(call.hub, "/v2/letters", sender=sender, since_seq=since).document
        letters += page["letters"]
        if not page["letters"]:
            break
    if call.json:
        output.structure({"letters": letters, "total": len(letters)})
        return 0
    lines = [f"{_told(one, '', page['now'])}{'' if one['delivered'] else '  (was not there)'}" for one in letters]
    output.result("\n".join(lines) or f"everything {sender or 'anybody'} sent was acknowledged")
    return 0


def _waiting(env: Mapping[str, str], agent: str) -> tuple[list[dict[str, Any]], Mapping[str, Any]]:
    """All that waits, and the hub's last answer about it."""
    found: list[dict[str, Any]] = []
    while True:
        since = str(found[-1]["seq"]) if found else ""
        page = client.query(env, "/v2/messages", agent=agent, since_seq=since).document
        found += page["messages"]
        if not page["messages"] or len(found) >= page["pending"]:
            return found, page


def _once(messages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Without the copies that a sender's retry made. Spec: INV-DG-1"""
    seen: set[tuple[str, str]] = set()
    for message in messages:
        mark = (message["sender"], message["client_msg_id"] or f"#{message['seq']}")
        if mark not in seen:
            seen.add(mark)
            yield message


def _follow(call: Call, agent: str, seq: int) -> None:
    """Go on with what comes after event ``seq``."""
    output.settle()
    for event in trail.onwards(call.hub, str(seq)):
        if event["kind"] == "message_sent" and event["sender"] != agent and event["to"] in (None, agent):
            message = _message(event)
            _tell(call, agent, message, message["timestamp"])
            output.settle()


def _message(event: Mapping[str, Any]) -> dict[str, Any]:
    """An event of the journal as the message that it is."""
    kept = ("sender", "to", "body", "client_msg_id", "client_timestamp")
    seq = int(event["id"].rpartition(":")[2])
    return {"seq": seq, "timestamp": event["at"], **{name: event[name] for name in kept}}


def _tell(call: Call, agent: str, message: Message, now: float) -> None:
    if call.json:
        output.structure(message)
    else:
        output.result(_told(message, agent, now))
    shown.note(call.hub, agent, message["seq"])


def _told(message: Message, agent: str, now: float) -> str:
    """``14:05:00  ana to you: …``; the lines after the first are set in."""
    moment = explain.moment(time.time() + message["timestamp"] - now)
    sender = "the hub" if message["sender"] == HUB_AGENT else message["sender"]
    to = "you" if message["to"] == agent else message["to"] or "everyone"
    lines = [scope.show(line) if line else "" for line in message["body"].splitlines()]
    return "\n    ".join([f"{moment}  {sender} to {to}: {lines[0]}", *lines[1:]])


VERBS = (
    Verb(
        "inbox",
        run,
        summary="What waits for you to read it.",
        help="Show the messages that wait for you: what was sent to you and you have not acknowledged, and what was "
        "said to everyone. They are shown again until you acknowledge them.",
        examples=(
            ("inbox", "all that waits"),
            ("inbox && synapse-git ack", "and be done with it"),
            ("inbox --follow --json", "for programs: one message a line, as they come"),
            ("inbox --sent", "has ben read it?"),
        ),
        options=(
            Option("follow", "--follow", "-f", help="Go on as messages come, until interrupted."),
            Option("sent", "--sent", help="What you sent to others instead, and they have not acknowledged."),
            Option("all", "--all", help="What waits for whom, whoever sent it; also for agents that never come back."),
        ),
    ),
)
