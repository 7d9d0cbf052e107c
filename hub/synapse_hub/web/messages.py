"""Routes of messages: send, read, acknowledge. No idempotency key counts here (Spec: INV-DG-1)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from synapse_git.constants import MAX_LISTED_MESSAGES, MAX_MESSAGE_BYTES
from synapse_git.protocol.body import finite
from synapse_git.protocol.talk import AckBody, MessageBody
from synapse_hub.core.commands.talk import Acknowledge, SendMessage
from synapse_hub.core.outcome import Refusal
from synapse_hub.web import answer
from synapse_hub.web.acquaintance import stranger
from synapse_hub.web.desk import Desk, Rejected, admit, agent_name, header, label, read, session
from synapse_hub.web.party import named, peer, recipient
from synapse_hub.web.team.errand import handed_on

_DIGITS = 18


async def send(desk: Desk, request: Request) -> Response:
    """``POST /v2/messages``; ``seq`` of the answer is the message's number."""
    raw, body = await read(request, MessageBody)
    sender = named(desk, request, body.agent)
    if not peer(request) and (host := host_of(desk, body.to)):
        admit(request, desk.hub.state, sender, desk.hub.now())
        found = await desk.embassy.ask(host, "/v2/messages", raw)
        if isinstance(found, Refusal):
            return answer.problem(found, desk.hub.state.seq, desk.hub.now())
        return handed_on(desk, found)
    to = None if body.to is None else recipient(desk, request, body.to)
    command = message_command(desk, msgspec.structs.replace(body, agent=sender, to=to), session(request))
    if to is None and (hub := peer(request)):
        return answer.of(await desk.transact(_carried(desk, command, hub, header(request, b"synapse-number") or "")))
    answered = await desk.transact(command)
    if command.abroad:
        desk.embassy.carry()
    return answer.of(answered, None if to is None else stranger(desk, to))


def _carried(desk: Desk, command: SendMessage, hub: str, number: str) -> SendMessage:
    """What an agent of ``hub`` said to everyone, for the other members of its teams to hear. Raises: Rejected."""
    from synapse_hub.federation.observation.post import origin

    if not number.isascii() or not number.isdigit() or not 0 < len(number) <= _DIGITS or not int(number):
        raise Rejected("INVALID_REQUEST", "Synapse-Number says under which number its hub has it")
    return msgspec.structs.replace(command, origin=origin(desk.team, hub), number=int(number), abroad=False)


def host_of(desk: Desk, to: str | None) -> str:
    """The hub that is to be given what is for ``to``, '' if this one keeps it until it is asked for or fetched.

    Members of a team reach each other by way of an owner, which knows them all.
    """
    hub, _, name = (to or "").partition("/")
    file = desk.team.settled
    if entry := file.peers.get(hub) if name else None:
        return hub if entry.url else ""
    if not name or hub == file.id or desk.hub.state.principal_of(to or ""):
        return ""
    owners = sorted({entry.owner for entry in file.namespaces.values()} - {file.id})
    return next((owner for owner in owners if _tells_of(desk, owner, hub)), owners[0] if owners else "")


def _tells_of(desk: Desk, owner: str, hub: str) -> bool:
    known = desk.embassy.observed.get(owner)
    return known is not None and any(claim.host == hub for claim in known.view.claims(desk.hub.now()))


def message_command(desk: Desk, body: MessageBody, proven: str) -> SendMessage:
    """``body`` as a command, with who is there to hear it now; ``proven``: the session's digest. Raises: Rejected."""
    sender = agent_name(body.agent)
    to = None if body.to is None else agent_name(body.to)
    stamped = finite(body.client_timestamp, math.nan)
    return SendMessage(
        agent=sender,
        session=proven,
        to=to,
        body=_text(body.body),
        client_msg_id=None if body.client_msg_id is None else label(body.client_msg_id, "client_msg_id"),
        client_timestamp=None if math.isnan(stamped) else stamped,
        reached=desk.roster.reaches(to, sender),
        abroad=to is None and bool(desk.team.settled.peers),
    )


def _text(body: str) -> str:
    if not body.strip():
        raise Rejected("INVALID_REQUEST", "body is blank", "Say something")
    if (size := len(body.encode())) > MAX_MESSAGE_BYTES:
        raise Rejected(
            "TOO_LARGE", f"a message is at most {MAX_MESSAGE_BYTES} bytes, this has {size}", "Send the name of a file"
        )
    return body


async def messages(desk: Desk, request: Request) -> Response:
    """``GET /v2/messages?agent=NAME&since_seq=SEQ``: what lies after the watermark, and after ``since_seq``."""
    given, since = _filters(request, "agent")
    agent = agent_name(given.get("agent", ""))
    state, now = desk.hub.state, desk.hub.now()
    admit(request, state, agent, now)
    found = state.mail.waiting(agent, now, since)[:MAX_LISTED_MESSAGES]
    if found:
        desk.mentions.note(agent, found[-1].seq)
    document = {
        "messages": [message.document() for message in found],
        "pending": state.mail.pending(agent, now),
        "watermark": state.mail.watermark(agent),
    }
    return answer.document(document, state.seq, now)


def _filters(request: Request, *known: str) -> tuple[Mapping[str, str], int]:
    """The filters of a listing, and the number it goes on after. Raises: Rejected."""
    given = request.query_params
    if unknown := set(given) - {*known, "since_seq"}:
        raise Rejected(
            "INVALID_REQUEST", f"unknown filter {min(unknown)}", f"Filters are {', '.join(known)}, since_seq"
        )
    since = given.get("since_seq", "0")
    if not since.isascii() or not since.isdigit() or len(since) > _DIGITS:
        raise Rejected("INVALID_REQUEST", "since_seq is the number of a message", "Give back the seq of the last one")
    return given, int(since)


async def letters(desk: Desk, request: Request) -> Response:
    """``GET /v2/letters``: what waits for one agent each, by ``sender`` and ``to``. Spec: INV-DG-3"""
    given, since = _filters(request, "sender", "to")
    wanted = [(name, given[name]) for name in ("sender", "to") if name in given]
    state, now = desk.hub.state, desk.hub.now()
    found = [one for one in state.mail.unread() if all(getattr(one.sent, name) == value for name, value in wanted)]
    listed = [one for one in found if one.seq > since][:MAX_LISTED_MESSAGES]
    documents = [one.document() | {"delivered": one.sent.delivered} for one in listed]
    return answer.document({"letters": documents, "total": len(found)}, state.seq, now)


async def acknowledge(desk: Desk, request: Request) -> Response:
    """``POST /v2/ack``"""
    _, body = await read(request, AckBody)
    if body.seq < 0:
        raise Rejected("INVALID_REQUEST", "seq is the number of a message", "Give back the seq of the last one")
    return answer.of(
        await desk.transact(Acknowledge(agent=named(desk, request, body.agent), session=session(request), seq=body.seq))
    )
