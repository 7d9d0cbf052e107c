"""Routes by which a hub comes into a team: it joins, and the owner admits it."""

from __future__ import annotations

import base64
import time
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from synapse_git.protocol.team import TeamAdmitBody, TeamJoinBody, TeamLeaveBody
from synapse_hub import hubfile
from synapse_hub.core.claim import Claim
from synapse_hub.core.commands.claims import YieldClaims
from synapse_hub.federation import tickets
from synapse_hub.federation.team import Team
from synapse_hub.hubfile import HubFile, Peer
from synapse_hub.web import answer
from synapse_hub.web.desk import Desk, Rejected, read
from synapse_hub.web.team.departure import told
from synapse_hub.web.team.ownership import change, listening, named, own_client, part, url_of

if TYPE_CHECKING:
    from synapse_hub.federation.joining import Admission

_CONVERTS = "have the owner take it over: synapse-git team join --convert"


async def join(desk: Desk, request: Request) -> Response:
    """``POST /v2/team/join``: be let into a namespace by the hub at ``url``: `{owner, namespace, id, converted}`.

    Refuses with LEASE_LIVE where agents hold something here that the namespace takes in, unless it is converted.
    """
    _, body = await read(request, TeamJoinBody)
    own_client(request)
    from synapse_hub.federation import conversion, joining
    from synapse_hub.federation.identity import fingerprint

    try:
        expected, secret = tickets.read(body.token.strip())
    except ValueError as error:
        raise Rejected("INVALID_REQUEST", f"that is no token: {error}", "Give it as team init printed it") from None
    if expected == fingerprint(desk.team.identity.certificate):
        raise Rejected(
            "INVALID_REQUEST",
            f"the token was made by this hub, {desk.team.id}, and lets another one in",
            f"Type it on the other machine: synapse-git team join {body.url}",
        )
    before = await _prepared(desk, body)
    application = _application(desk.team, before, secret)
    try:
        certificate = await joining.certificate_at(body.url, expected)
        offered = await joining.apply_at(body.url, certificate, msgspec.structs.replace(application, look=True))
        joining.timely(offered, body.url, time.time())
        held = conversion.concerned(desk.hub.state, desk.hub.now(), offered, body.repositories)
        if refusal := conversion.in_the_way(held, "nobody has joined", _CONVERTS, convert=body.convert):
            return answer.problem(refusal, desk.hub.state.seq, desk.hub.now())
        gone = await _gone(desk, before, offered)
        _compatible(before, offered, gone)
        admission = await joining.apply_at(body.url, certificate, application)
    except joining.CannotJoin as error:
        raise Rejected(error.reason, str(error)) from None
    async with desk.team.turn:
        _compatible(file := named(desk, body.name), admission, gone)
        await change(desk, joining.joined(file, body.url, certificate, admission))
    # Who did not know of the namespace until now may have claimed meanwhile.
    held = conversion.concerned(desk.hub.state, desk.hub.now(), admission, body.repositories)
    await _convert(desk, admission, held, known=admission.namespace in before.namespaces)
    converted = [claim.task_id for claim in held]
    document = {"owner": admission.id, "namespace": admission.namespace, "id": desk.team.id, "converted": converted}
    return answer.document(document, desk.hub.state.seq, desk.hub.now())


async def _prepared(desk: Desk, body: TeamJoinBody) -> HubFile:
    """The file with this hub's name in it. Raises: Rejected.

    The listener, if there is to be one, is open by now: the others are told where it is.
    """
    async with desk.team.turn:
        file = named(desk, body.name)
        if body.listen:
            await change(desk, msgspec.structs.replace(file, listen=listening(file, body.listen)))
            await desk.open_for_peers()
            file = desk.team.settled
        return file


def _application(team: Team, file: HubFile, secret: bytes) -> TeamAdmitBody:
    listens = file.listen is not None and file.listen.port
    return TeamAdmitBody(
        secret=base64.b64encode(secret).decode(),
        id=file.id,
        key=team.identity.public,
        url=url_of(file.listen) if file.listen and listens else "",
        certificate=base64.b64encode(team.identity.certificate).decode() if listens else "",
    )


async def _gone(desk: Desk, file: HubFile, offered: Admission) -> str:
    """The owner so far, if it does not answer and whoever offers has taken over from one; else ''.

    That it is gone for good only a person knows, who has been given the other's token.
    """
    known = file.namespaces.get(offered.namespace)
    if known is None or known.owner in (file.id, offered.id) or offered.term <= known.term:
        return ""
    return "" if await desk.embassy.succession.answers(known.owner) else known.owner


def _compatible(file: HubFile, admission: Admission, gone: str) -> None:
    """Raises: Rejected, where somebody else owns what this hub is let into."""
    known = file.namespaces.get(admission.namespace)
    if known is not None and known.owner not in (admission.id, gone):
        raise Rejected(
            "CONTESTED",
            f"{admission.namespace} is owned by {known.owner} as far as this hub knows, not by {admission.id}",
            f"Join the team of {known.owner}, or leave it before: synapse-git team leave {admission.namespace}",
        )


async def _convert(desk: Desk, admission: Admission, held: list[Claim], *, known: bool) -> None:
    """Have the owner take over what is held; else be as before, unless this hub was in the team. Raises: Rejected."""
    from synapse_hub.federation import conversion

    carry = partial(desk.embassy.forward, admission.id)
    failed = await conversion.convert(carry, held, admission.namespace, admission.exclusion)
    if not failed:
        await desk.transact(YieldClaims(tasks=tuple(claim.key for claim in held)))
        return
    if not known:
        await told(desk, admission.id, TeamLeaveBody(namespace=admission.namespace))
        await part(desk, admission.namespace)
    raise Rejected(
        "SCOPE_CONFLICT",
        f"nothing was converted{'' if known else ', and this hub has not joined'}. {admission.id} did not take over "
        + "; ".join(failed),
        "Release these, or settle it with who holds it there; then join with a fresh token",
    )


async def admit(desk: Desk, request: Request) -> Response:
    """``POST /v2/team/admit``: a hub that does not sign yet proves itself by the secret of a token."""
    _, body = await read(request, TeamAdmitBody)
    from synapse_hub.federation.identity import public_key

    try:
        secret = base64.b64decode(body.secret, validate=True)
        public_key(body.key)
    except ValueError as error:
        raise Rejected("INVALID_REQUEST", f"secret or key: {error}") from None
    open_door = desk.team.tickets.look if body.look else desk.team.tickets.redeem
    async with desk.team.turn:
        return await _admit(desk, body, open_door(secret, desk.hub.now()))


async def _admit(desk: Desk, body: TeamAdmitBody, namespace: str) -> Response:
    from synapse_hub.federation import joining

    entry = desk.team.settled.namespaces.get(namespace)
    if entry is None or entry.owner != desk.team.id:
        raise Rejected(
            "NOT_AUTHORISED",
            "the token is used up, too old, not of this hub, or from before it was restarted",
            "Have a fresh one made, on the owner: synapse-git team init NAMESPACE",
        )
    try:
        file = joining.admitted(
            desk.team.settled, namespace, body.id, Peer(key=body.key, url=body.url, certificate=body.certificate)
        )
        hubfile.parse(hubfile.render(file))
    except joining.CannotJoin as error:
        raise Rejected("INVALID_REQUEST", str(error)) from None
    except hubfile.Wrong as error:
        raise Rejected("INVALID_REQUEST", str(error)) from None
    if not body.look:
        await change(desk, file)
    document = {
        "id": desk.team.id,
        "key": desk.team.identity.public,
        "namespace": namespace,
        "remotes": list(entry.remotes),
        "exclusion": entry.exclusion,
        "wall": time.time(),
        "term": entry.term,
    }
    return answer.document(document, desk.hub.state.seq, desk.hub.now())
