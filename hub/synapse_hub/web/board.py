"""Routes of the blackboard: notes on progress, and resources on offer."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from synapse_git.constants import DEFAULT_RESOURCE_TTL_SECONDS
from synapse_git.protocol.talk import NoteBody, ResourceBody, WithdrawBody
from synapse_hub.core.board import offer_document
from synapse_hub.core.commands.talk import AddNote, OfferResource, WithdrawResource
from synapse_hub.core.lease import clamp_ttl
from synapse_hub.web import answer
from synapse_hub.web.desk import Desk, Rejected, agent_name, label, read, remark, session, task_name


async def add_note(desk: Desk, request: Request) -> Response:
    """``POST /v2/notes``"""
    _, body = await read(request, NoteBody)
    text = remark(body.text, "text") or ""
    if not text.strip():
        raise Rejected("INVALID_REQUEST", "text is blank", "Say how far you are")
    command = AddNote(
        agent=agent_name(body.agent),
        session=session(request),
        namespace=label(body.namespace, "namespace"),
        task_id=task_name(body.task_id) if body.task_id else "",
        text=text,
    )
    return answer.of(await desk.transact(command))


async def notes(desk: Desk, request: Request) -> Response:
    """``GET /v2/notes``: filters ``namespace``, ``agent``, ``task_id``."""
    filters = _filters(request, ("namespace", "agent", "task_id"))
    state, now = desk.hub.state, desk.hub.now()
    documents = [note.document() for note in state.board.notes]
    return answer.document({"notes": [one for one in documents if filters.items() <= one.items()]}, state.seq, now)


async def offer(desk: Desk, request: Request) -> Response:
    """``POST /v2/resources``"""
    _, body = await read(request, ResourceBody)
    command = OfferResource(
        agent=agent_name(body.agent),
        session=session(request),
        namespace=label(body.namespace, "namespace"),
        name=_resource_name(body.name),
        note=remark(body.note) or "",
        ttl_s=clamp_ttl(body.ttl_s, DEFAULT_RESOURCE_TTL_SECONDS),
    )
    return answer.of(await desk.transact(command))


async def withdraw(desk: Desk, request: Request) -> Response:
    """``POST /v2/resources/withdraw``"""
    _, body = await read(request, WithdrawBody)
    command = WithdrawResource(
        agent=agent_name(body.agent),
        session=session(request),
        namespace=label(body.namespace, "namespace"),
        name=_resource_name(body.name),
    )
    return answer.of(await desk.transact(command))


def _resource_name(name: str) -> str:
    if not name:
        raise Rejected("INVALID_REQUEST", "name is empty", "Say what is offered")
    return label(name, "name")


async def resources(desk: Desk, request: Request) -> Response:
    """``GET /v2/resources``: filters ``namespace``, ``agent``, ``name``."""
    filters = _filters(request, ("namespace", "agent", "name"))
    state, now = desk.hub.state, desk.hub.now()
    documents = [offer_document(one) for one in state.board.open_offers(now)]
    return answer.document({"resources": [one for one in documents if filters.items() <= one.items()]}, state.seq, now)


def _filters(request: Request, known: tuple[str, ...]) -> dict[str, str]:
    """What a listing is narrowed by; an absent filter matches everything. Raises: Rejected."""
    given = dict(request.query_params)
    if unknown := set(given) - set(known):
        raise Rejected("INVALID_REQUEST", f"unknown filter {min(unknown)}", f"Filters are {', '.join(known)}")
    return given
