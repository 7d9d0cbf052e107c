"""Routes of the claim family."""

from __future__ import annotations

import base64
import binascii
import heapq
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from synapse_git import scope
from synapse_git.constants import MAX_WAIT_SECONDS
from synapse_git.errors import InvalidScope
from synapse_git.protocol.body import finite
from synapse_git.protocol.claims import (
    CheckpointBody,
    ClaimBody,
    HandoffBody,
    HeartbeatBody,
    ReleaseBody,
    TaskBody,
    UpdateBody,
)
from synapse_git.protocol.path import WirePath, from_wire
from synapse_hub.core import overlap
from synapse_hub.core.claim import TaskKey
from synapse_hub.core.commands.claims import (
    FamilyCommand,
    HandOff,
    Heartbeat,
    ReleaseClaim,
    SaveCheckpoint,
    TakeClaim,
    UpdateTask,
)
from synapse_hub.core.lease import clamp_ttl
from synapse_hub.core.outcome import Refusal, claim_document
from synapse_hub.core.state import State
from synapse_hub.hub import Answered
from synapse_hub.web import answer
from synapse_hub.web.acquaintance import stranger
from synapse_hub.web.closing import closing
from synapse_hub.web.desk import Desk, Rejected, label, read, remark, session, task_name
from synapse_hub.web.key import keyed
from synapse_hub.web.party import in_order, named, owner, peer, principal, recipient
from synapse_hub.web.team.errand import Errand, extended, forwarded

_DEFAULT_PAGE = 100
_LARGEST_PAGE = 1000


async def claim(desk: Desk, request: Request) -> Response:
    """``POST /v2/claim``"""
    raw, body = await read(request, ClaimBody)
    command = TakeClaim(
        agent=named(desk, request, body.agent),
        session=session(request),
        principal=principal(request),
        namespace=label(body.namespace, "namespace"),
        task_id=task_name(body.task_id),
        worktree=None if body.worktree is None else label(body.worktree, "worktree"),
        paths=None if body.paths is None else declared(body.paths),
        ttl_s=None if body.ttl_s is msgspec.UNSET else clamp_ttl(body.ttl_s),
        epoch=body.epoch,
        add=body.add,
        note=remark(body.note),
    )
    wait_s = min(max(finite(body.wait_s, 0.0), 0.0), MAX_WAIT_SECONDS)
    once = keyed(request, "claim", raw, command)
    errand = Errand("claim", raw, command, command.principal, wait_s=wait_s)
    await desk.embassy.oriented(command.namespace)
    with closing(desk, request, (command.namespace, command.task_id), command.paths or ()):
        if abroad := owner(desk, request, command.namespace):
            return await forwarded(desk, request, abroad, errand)
        in_order(desk, request, (command.namespace, command.task_id))
        answered = await (desk.transact_patiently(once, request, wait_s) if wait_s else desk.transact(once))
    if abroad := _gone(desk, request, answered, command):
        return await forwarded(desk, request, abroad, errand)
    tree = command.worktree or ""
    unknown = tree.startswith("wt:") and tree not in desk.hub.state.worktrees
    return answer.of(answered, {"Synapse-Worktree": "unknown"} if unknown else None, hub_id=desk.hub.hub_id)


async def release(desk: Desk, request: Request) -> Response:
    """``POST /v2/release``"""
    raw, body = await read(request, ReleaseBody)
    reason = remark(body.reason_text, "reason_text") or ""
    if body.force and not reason.strip():
        raise Rejected("INVALID_REQUEST", "a forced release needs a reason", "Give reason_text: the holder is told it")
    command = ReleaseClaim(**_task(desk, request, body), force=body.force, reason_text=reason)
    with closing(desk, request, (command.namespace, command.task_id), ()):
        return await _decided(desk, request, "release", raw, command)


async def update(desk: Desk, request: Request) -> Response:
    """``POST /v2/task_update``"""
    raw, body = await read(request, UpdateBody)
    command = UpdateTask(
        **_task(desk, request, body),
        expected_version=body.expected_version,
        status=None if body.status is None else label(body.status, "status"),
        note=remark(body.note),
    )
    return await _decided(desk, request, "task_update", raw, command)


async def handoff(desk: Desk, request: Request) -> Response:
    """``POST /v2/handoff``"""
    raw, body = await read(request, HandoffBody)
    command = HandOff(**_task(desk, request, body), to=recipient(desk, request, body.to))
    return await _decided(desk, request, "handoff", raw, command, stranger(desk, command.to))


async def checkpoint(desk: Desk, request: Request) -> Response:
    """``POST /v2/checkpoint``"""
    raw, body = await read(request, CheckpointBody)
    command = SaveCheckpoint(**_task(desk, request, body), data=_storable(body.data))
    return await _decided(desk, request, "checkpoint", raw, command)


def _storable(data: Any) -> Any:
    """``data`` if the journal gives it back as it came: no NaN, no infinity. Raises: Rejected."""
    try:
        if msgspec.json.decode(msgspec.json.encode(data)) == data:
            return data
    except (ValueError, OverflowError):
        pass
    raise Rejected("INVALID_REQUEST", "data holds a number that is not finite or too large", "Send it as text")


def _task(desk: Desk, request: Request, body: TaskBody) -> dict[str, Any]:
    """Which claim a request is about and on whose behalf. Raises: Rejected."""
    return {
        "agent": named(desk, request, body.agent),
        "session": session(request),
        "namespace": label(body.namespace, "namespace"),
        "task_id": task_name(body.task_id),
        "epoch": body.epoch,
    }


async def _decided(
    desk: Desk,
    request: Request,
    verb: str,
    raw: bytes,
    command: FamilyCommand,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """``headers``: what a positive answer has besides, where this hub decides."""
    once = keyed(request, verb, raw, command)
    errand = Errand(verb, raw, command, principal(request))
    await desk.embassy.oriented(command.namespace)
    if abroad := owner(desk, request, command.namespace):
        return await forwarded(desk, request, abroad, errand)
    in_order(desk, request, (command.namespace, command.task_id))
    answered = await desk.transact(once)
    if abroad := _gone(desk, request, answered, command):
        return await forwarded(desk, request, abroad, errand)
    return answer.of(answered, headers, hub_id=desk.hub.hub_id)


def _gone(desk: Desk, request: Request, answered: Answered, command: FamilyCommand) -> str:
    """Who decides by now, where the namespace went to another hub while this waited to be decided; '' if it did not.

    Raises: Rejected, as `owner`.
    """
    outcome = answered.outcome
    refused = isinstance(outcome, Refusal) and outcome.reason == "UNGOVERNED"
    return owner(desk, request, command.namespace) if refused else ""


async def heartbeat(desk: Desk, request: Request) -> Response:
    """``POST /v2/heartbeat``"""
    _, body = await read(request, HeartbeatBody)
    agent = named(desk, request, body.agent)
    command = Heartbeat(agent=agent, session=session(request))
    return await extended(desk, request, agent, await desk.transact(command))


def declared(paths: Iterable[WirePath]) -> tuple[str, ...]:
    """The path set of a request. Raises: Rejected."""
    try:
        return scope.declare([from_wire(path) for path in paths])
    except InvalidScope as error:
        raise Rejected("INVALID_SCOPE", str(error)) from None


async def claims(desk: Desk, request: Request) -> Response:
    """``GET /v2/claims``"""
    known = {"namespace", "worktree", "agent", "task_id", "limit", "after"}
    if unknown := set(request.query_params) - known:
        raise Rejected("INVALID_REQUEST", f"unknown filter {min(unknown)}", f"Filters are {', '.join(sorted(known))}")
    filters = {name: request.query_params[name] for name in known - {"limit", "after"} if name in request.query_params}
    if peer(request):
        owner(desk, request, filters.get("namespace", ""))
    most = limit(request.query_params.get("limit"))
    after = cursor(request.query_params.get("after"))
    state, now = desk.hub.state, desk.hub.now()
    candidates = chain(_candidates(state, filters), () if peer(request) else state.team.receipts)
    wanted = {key for key in candidates if key > after and _matches(state, key, filters, now)}
    page = heapq.nsmallest(most + 1, wanted)
    documents = [_document(desk, state, key) for key in page[:most]]
    following = write_cursor(page[most - 1]) if len(page) > most else None
    return answer.document({"claims": documents, "next": following}, state.seq, now)


def _document(desk: Desk, state: State, key: TaskKey) -> dict[str, Any]:
    if (claim := state.claims.get(key)) is not None:
        return claim_document(claim) | {"hub_id": desk.hub.hub_id}
    receipt = state.team.receipts[key]
    return claim_document(receipt.claim) | {"hub_id": receipt.hub_id}


def _candidates(state: State, filters: dict[str, str]) -> Iterable[TaskKey]:
    """The smallest group of claims that the filters leave."""
    if "agent" in filters:
        return state.by_owner.get(filters["agent"], ())
    if filters.get("worktree"):
        return overlap.keys(state.tree(("", filters["worktree"])))
    if "task_id" in filters and "namespace" in filters:
        key = (filters["namespace"], filters["task_id"])
        return [key] if key in state.claims else []
    return state.claims


def _matches(state: State, key: TaskKey, filters: dict[str, str], now: float) -> bool:
    claim = state.live(key, now) or state.team.held(key, now)
    if claim is None:
        return False
    found: dict[str, Any] = {
        "namespace": claim.namespace,
        "worktree": claim.worktree,
        "agent": claim.owner,
        "task_id": claim.task_id,
    }
    return all(found[name] == value for name, value in filters.items())


def limit(text: str | None) -> int:
    """How many a page of a listing is to hold. Raises: Rejected."""
    if text is None:
        return _DEFAULT_PAGE
    if not text.isascii() or not text.isdigit() or not 0 < int(text) <= _LARGEST_PAGE:
        raise Rejected("INVALID_REQUEST", f"limit is a number from 1 to {_LARGEST_PAGE}")
    return int(text)


def cursor(text: str | None) -> TaskKey:
    """The key after which a page of a listing begins. Raises: Rejected."""
    if not text:
        return ("", "")
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text.encode()), type=TaskKey)
    except (ValueError, binascii.Error, msgspec.MsgspecError):
        raise Rejected(
            "INVALID_REQUEST", "after is not a cursor of this listing", "Give back 'next' as it came"
        ) from None


def write_cursor(key: TaskKey) -> str:
    """The inverse of `cursor`."""
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode()
