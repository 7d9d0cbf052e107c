"""Overrides of the guard: told by a hook at once, or found where it left them while no hub could be asked."""

from __future__ import annotations

import hashlib
import math

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from synapse_git import scope
from synapse_git.errors import InvalidScope
from synapse_git.protocol.body import finite
from synapse_git.protocol.guard import OverrideBody
from synapse_git.protocol.path import from_wire
from synapse_hub.core.commands import Keyed
from synapse_hub.core.commands.guard import RecordOverride
from synapse_hub.web import answer
from synapse_hub.web.desk import Desk, Rejected, label, read, remark
from synapse_hub.web.key import given_key
from synapse_hub.web.party import named, owner, peer, principal


async def override(desk: Desk, request: Request) -> Response:
    """``POST /v2/overrides``"""
    _, body = await read(request, OverrideBody)
    command = command_of(body, named(desk, request, body.agent), principal(request), given_key(request))
    if peer(request):
        owner(desk, request, body.namespace)
    answered = await desk.transact(command)
    # It went in whatever the owner says to it; those concerned hear of it from there.
    desk.embassy.report()
    return answer.of(answered)


def command_of(body: OverrideBody, agent: str, principal: str, key: str) -> Keyed | RecordOverride:
    """What ``body`` says of ``agent``, under ``key`` if there is one: the same whichever way it comes, and when.

    Raises: Rejected. Spec: INV-CR-1
    """
    command = _record(body, agent)
    if not key:
        return command
    digest = hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(body, spooled_at=None))).hexdigest()
    return Keyed(sender=f"{principal}/{agent}", verb="override", key=key, digest=digest, command=command)


def _record(body: OverrideBody, agent: str) -> RecordOverride:
    reason = remark(body.reason_text, "reason_text")
    if not reason or not reason.strip():
        raise Rejected("INVALID_REQUEST", "an override needs a reason", 'Give one: SYNAPSE_OVERRIDE="why" git commit …')
    spooled = finite(body.spooled_at, math.nan)
    try:
        paths = tuple(scope.normalise(from_wire(path)) for path in body.paths)
    except InvalidScope as error:
        raise Rejected("INVALID_SCOPE", str(error)) from None
    return RecordOverride(
        agent=agent,
        namespace=label(body.namespace, "namespace"),
        worktree=label(body.worktree, "worktree"),
        action=body.action,
        paths=paths,
        reason_text=reason,
        spooled_at=None if math.isnan(spooled) else spooled,
    )
