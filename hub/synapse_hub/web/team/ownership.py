"""Routes by which this hub owns a namespace, and says who is in which."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from synapse_git.governed import canonical
from synapse_git.protocol.team import TeamInitBody
from synapse_hub import hubfile
from synapse_hub.core.claim import Claim
from synapse_hub.core.commands.claims import AdoptClaims
from synapse_hub.core.commands.team import FreeNamespace
from synapse_hub.core.outcome import Refusal
from synapse_hub.hub import Answered
from synapse_hub.hubfile import HubFile, Namespace, Place
from synapse_hub.web import answer
from synapse_hub.web.desk import Desk, Rejected, read
from synapse_hub.web.party import peer
from synapse_hub.web.team.observed import standing

_CONVERTS = "have it go on in the namespace: synapse-git team init --convert"
_ANYWHERE = ("0.0.0.0", "::")  # noqa: S104 - told apart, not bound


async def init(desk: Desk, request: Request) -> Response:
    """``POST /v2/team/init``: own a namespace: `{url, token, id, converted}`. The token lets one hub in.

    Refuses with LEASE_LIVE where agents hold something here that the namespace takes in, unless it is converted.
    """
    _, body = await read(request, TeamInitBody)
    own_client(request)
    from synapse_hub.federation.identity import fingerprint

    namespace = body.namespace
    async with desk.team.turn:
        before = named(desk, body.name)
        file = _owning(before, body)
        _left_behind(desk, body, file, before)
        async with _or_as_before(desk, desk.team.settled, namespace):
            await change(desk, file)
            place = await desk.open_for_peers()
            # Only from here on does every client know the namespace: who did not may have claimed meanwhile.
            converted = await _adopt(desk, namespace, _left_behind(desk, body, file, before))
    identity = desk.team.identity
    token = desk.team.tickets.issue(namespace, fingerprint(identity.certificate), desk.hub.now())
    document = {
        "url": url_of(place),
        "token": token,
        "id": desk.team.id,
        "namespace": namespace,
        "converted": converted,
    }
    return answer.document(document, desk.hub.state.seq, desk.hub.now())


def _left_behind(desk: Desk, body: TeamInitBody, file: HubFile, before: HubFile) -> list[Claim]:
    """What agents hold that is to go on in the namespace. Raises: Rejected, where it is in the way."""
    from synapse_hub.federation.conversion import in_the_way, left_behind

    name = body.namespace
    held = left_behind(desk.hub.state, desk.hub.now(), name, file, before, body.repositories)
    if refusal := in_the_way(held, f"{name} is as it was", f"{_CONVERTS} {name}", convert=body.convert):
        raise Rejected.of(refusal)
    return held


@asynccontextmanager
async def _or_as_before(desk: Desk, file: HubFile, namespace: str) -> AsyncIterator[None]:
    """Where the block cannot be gone through with, ``file`` stays in place, and the namespace as free as it was."""
    governed = namespace in desk.hub.state.team.governed
    try:
        yield
    except Rejected:
        await change(desk, file)
        if not governed:
            await desk.transact(FreeNamespace(namespace=namespace))
            desk.team.tell_clients()
        raise


async def _adopt(desk: Desk, namespace: str, held: Sequence[Claim]) -> list[str]:
    """Have claims of before go on in the namespace; their tasks. Raises: Rejected."""
    shared = desk.team.exclusion(namespace) == "repository"
    command = AdoptClaims(namespace=namespace, shared=shared, tasks=tuple(claim.key for claim in held))
    outcome = (await desk.transact(command)).outcome
    if isinstance(outcome, Refusal):
        raise Rejected.of(outcome)
    return [claim.task_id for claim in held]


def _owning(file: HubFile, body: TeamInitBody) -> HubFile:
    """``file`` with this hub as the owner of what is asked for. Raises: Rejected."""
    known = file.namespaces.get(body.namespace)
    if known is not None and known.owner != file.id:
        raise Rejected("INVALID_REQUEST", f"{body.namespace} is owned by {known.owner}", "Ask its owner for a token")
    for name, entry in file.namespaces.items():
        if name != body.namespace and (taken := {*map(canonical, entry.remotes)} & {*map(canonical, body.remotes)}):
            raise Rejected(
                "INVALID_REQUEST",
                f"the repository {min(taken)} belongs to {name} already, and a repository belongs to one namespace",
                f"Another hub joins with: synapse-git team init {name}. Or say whose remotes these are: --remote URL",
            )
    remotes = tuple(dict.fromkeys((*(known.remotes if known else ()), *body.remotes)))
    exclusion = body.exclusion or (known.exclusion if known else "repository")
    entry = Namespace(owner=file.id, remotes=remotes, exclusion=exclusion, members=known.members if known else ())
    listen = listening(file, body.listen) or Place(_ANYWHERE[0], 0)
    return msgspec.structs.replace(file, listen=listen, namespaces={**file.namespaces, body.namespace: entry})


def listening(file: HubFile, given: str) -> Place | None:
    """Where to listen for peers: as ``given``, but where the file says so already it stays. Raises: Rejected."""
    wanted, known = _place(given), file.listen
    if known is None or wanted is None:
        return known or wanted
    if wanted.host != known.host or wanted.port not in (0, known.port):
        raise Rejected(
            "INVALID_REQUEST",
            f"this hub listens at {known} already",
            "Leave out --listen, or change hub.toml and restart the hub",
        )
    return known


async def part(desk: Desk, namespace: str) -> Answered:
    """Have no part in a namespace any more. Raises: Rejected."""
    file = desk.team.settled
    left = {name: entry for name, entry in file.namespaces.items() if name != namespace}
    named = {hub for entry in left.values() for hub in (entry.owner, *entry.members)}
    peers = {name: entry for name, entry in file.peers.items() if name in named}
    await change(desk, msgspec.structs.replace(file, namespaces=left, peers=peers))
    answered = await desk.transact(FreeNamespace(namespace=namespace))
    desk.team.tell_clients()
    return answered


async def team(desk: Desk, request: Request) -> Response:
    """``GET /v2/team``: `{id, listen, shut, broken, peers, namespaces, receipts}`."""
    own_client(request)
    file, known = desk.team.settled, desk.hub.state.team
    names = sorted({*file.namespaces, *known.governed})
    now = desk.hub.now()
    document = {
        "id": file.id,
        "listen": str(file.listen) if file.listen else "",
        "shut": desk.team.shut.get("listen", ""),
        "broken": desk.team.broken,
        "peers": [{"id": name, "url": entry.url, **standing(desk, name)} for name, entry in file.peers.items()],
        "namespaces": [_namespace(desk, name) for name in names],
        "receipts": sum(receipt.claim.live(now) for receipt in known.receipts.values()),
    }
    return answer.document(document, desk.hub.state.seq, now)


def _namespace(desk: Desk, name: str) -> dict[str, Any]:
    entry, found = desk.team.settled.namespaces.get(name), desk.team.resolve(name)
    known = desk.hub.state.team.governed.get(name)
    return {
        "namespace": name,
        "ownership": found.kind,
        "owner": found.owner or (known.owner if known else ""),
        "exclusion": desk.team.exclusion(name),
        "remotes": list(entry.remotes if entry else known.remotes if known else ()),
        "members": list(entry.members) if entry else [],
        "detail": found.refusal.detail if found.refusal else "",
    }


def own_client(request: Request) -> None:
    """These are for whoever owns this hub. Raises: Rejected."""
    if peer(request):
        raise Rejected("NOT_AUTHORISED", "teams are changed by this hub's own user")


def named(desk: Desk, name: str) -> HubFile:
    """The file as it is, with a name for this hub in it. Raises: Rejected."""
    from synapse_hub.federation.joining import own_name

    if desk.team.broken:
        raise Rejected("INVALID_REQUEST", desk.team.broken)
    if name and not hubfile.names_a_hub(name):
        raise Rejected(
            "INVALID_REQUEST", f"{name!r} is no name of a hub", f"Name it with {hubfile.ID_FORM}: --name NAME"
        )
    file = desk.team.settled
    if name and name != file.id and (file.peers or file.namespaces):
        raise Rejected("INVALID_REQUEST", f"this hub is called {file.id} already", "Leave out --name")
    return msgspec.structs.replace(file, id=name or file.id or own_name(desk.hub.hub_id))


def _place(text: str) -> Place | None:
    if not text:
        return None
    try:
        return hubfile.place(text)
    except ValueError as error:
        raise Rejected("INVALID_REQUEST", f"listen: {error}") from None


async def change(desk: Desk, file: HubFile) -> None:
    """Write the file and go by it. Raises: Rejected."""
    try:
        hubfile.parse(hubfile.render(file))
        await asyncio.to_thread(desk.team.change, file, desk.hub.transact)
        desk.embassy.keep_up()
    except hubfile.Wrong as error:
        raise Rejected("INVALID_REQUEST", str(error)) from None
    except OSError as error:
        raise Rejected("INVALID_REQUEST", f"hub.toml cannot be written: {error}") from None


def url_of(place: Place) -> str:
    """Where others reach a listener at ``place``: by this machine's name if it listens everywhere."""
    host = socket.getfqdn() if place.host in _ANYWHERE else place.host
    return f"https://{Place(host, place.port)}"
