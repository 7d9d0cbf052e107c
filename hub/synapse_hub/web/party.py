"""Who is asking, on behalf of whom, and whether this hub is the one to decide.

At the owner a name belongs to the hub it came through, and a principal is that hub's word.
"""

from __future__ import annotations

from starlette.requests import HTTPConnection

from synapse_git.constants import MAX_NAME_BYTES
from synapse_hub.core.claim import TaskKey
from synapse_hub.core.outcome import Refusal
from synapse_hub.web.desk import HUB, PEER, Desk, Rejected, agent_name, header

_SPOKEN = "synapse.spoken_names"
_DIGITS = 18


def peer(request: HTTPConnection) -> str:
    """The hub that asks, '' for a client of this machine."""
    return str(request.scope.get(HUB, ""))


def principal(request: HTTPConnection) -> str:
    """What the asker's quota is charged to: the uid that the kernel names, or what its hub says. Spec: INV-ME-5."""
    if hub := peer(request):
        said = request.headers.get("synapse-principal", "")
        if not said or "/" in said or not said.isprintable() or len(said) > MAX_NAME_BYTES:
            raise Rejected("INVALID_REQUEST", "Synapse-Principal says on whose behalf a hub asks")
        return _spoken(request, f"{hub}/{said}")
    uid = request.scope.get(PEER)
    if uid is None:
        raise Rejected("NOT_AUTHORISED", "the connection does not say who is asking", "Use the hub's Unix socket")
    return of_user(uid)


def of_user(uid: int) -> str:
    """The principal of a user of this machine."""
    return f"uid:{uid}"


def named(desk: Desk, request: HTTPConnection, name: str) -> str:
    """An agent that the asker speaks for, as it is called here. Raises: Rejected."""
    agent_name(name)
    if hub := peer(request):
        return _spoken(request, desk.team.from_peer(hub, name))
    if desk.team.foreign(name):
        raise Rejected(
            "NAME_OWNED",
            f"{name} is how another hub, or an agent of one, is called here",
            "Act under a name of your own",
        )
    return name


def recipient(desk: Desk, request: HTTPConnection, name: str) -> str:
    """An agent that the asker means, as it is called here. Raises: Rejected."""
    meant = desk.team.addressed(peer(request), name)
    agent_name(min(name, meant, key=len))  # without the name of its hub it has to be one as well
    return _spoken(request, meant)


def spoken(request: HTTPConnection) -> list[str]:
    """Whom the request has named so far, as they are called here."""
    return list(request.scope.get(_SPOKEN, ()))


def _spoken(request: HTTPConnection, name: str) -> str:
    request.scope.setdefault(_SPOKEN, []).append(name)
    return name


def in_order(desk: Desk, request: HTTPConnection, task: TaskKey) -> None:
    """Raises: Rejected, where the hub that asks has asked something else for the task since, or is two."""
    number = header(request, b"synapse-order") or ""
    if not number.isascii() or not number.isdigit() or len(number) > _DIGITS:
        return
    hub, now = peer(request), desk.hub.now()
    if hub and desk.order.forked(hub, int(number), now):
        raise Rejected(
            "NOT_AUTHORISED",
            f"two hubs ask {desk.team.id} under the name of {hub}: its home was copied to another machine",
            "On the copy: synapse-git hub stop, move its state directory away, and synapse-git team join URL anew",
        )
    if hub and desk.order.overtaken(hub, task, int(number), now):
        raise Rejected(
            "EXPIRED",
            f"{hub} has asked something else for task {task[1]} since this was sent",
            "See what came of it: synapse-git status",
        )


def owner(desk: Desk, request: HTTPConnection, namespace: str) -> str:
    """The peer that decides in ``namespace``, '' where this hub does.

    Raises:
        Rejected: UNGOVERNED or CONTESTED; to another hub NOT_AUTHORISED, unless it is a member where this one owns.

    Spec: INV-MH-1, INV-MH-3, INV-CR-4
    """
    found = desk.team.resolve(namespace)
    if found.refusal:
        raise Rejected.of(found.refusal)
    hub = peer(request)
    if hub and (deed := desk.team.deed(namespace)):
        raise Rejected.of(Refusal("UNGOVERNED", f"{namespace} went to {found.owner}", "Ask there", deed=deed))
    if hub and not desk.team.member(hub, namespace):
        raise Rejected(
            "NOT_AUTHORISED",
            f"{hub} may not ask here for claims in {namespace or 'no namespace'}",
            "Ask the hub that owns it, or join its team",
        )
    return found.owner if found.kind == "remote" else ""
