"""What agents of several hubs are called: plainly at home, ``HUB/NAME`` everywhere else.

At the hub that owns a namespace, a name belongs to the peer it came through, so that one name from two hosts is two
agents.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any


def from_peer(peer: str, name: str) -> str:
    """An agent of ``peer`` as it is called here."""
    return f"{peer}/{name}"


def addressed(peer: str, me: str, peers: Collection[str], name: str) -> str:
    """Whom an agent of ``peer`` means by ``name``: a colleague of its own, unless it names another hub."""
    hub, _, rest = name.partition("/")
    if rest and hub == me:
        return rest
    return name if rest and hub in peers else from_peer(peer, name)


def seen_by(peer: str, me: str, peers: Collection[str], name: str) -> str:
    """An agent that is called ``name`` here, as ``peer`` calls it."""
    hub, _, rest = name.partition("/")
    if rest and hub == peer:
        return rest
    return name if rest and hub in peers else f"{me}/{name}"


def claimed_by_other(name: str, me: str, peers: Collection[str]) -> bool:
    """Would an agent of this hub that is called so be taken for one of another's, or for one that those work for?"""
    hub, _, rest = name.partition("/")
    return hub in peers or (hub == me and rest != "")


def translate(document: dict[str, Any], say: Callable[[str], str]) -> dict[str, Any]:
    """A document of the wire with every owner of a claim in it as ``say`` calls it."""
    told = dict(document)
    if isinstance(told.get("owner"), str):
        told["owner"] = say(told["owner"])
    if isinstance(told.get("claim"), dict):
        told["claim"] = translate(told["claim"], say)
    for member in ("claims", "conflicts", "revoked"):
        if isinstance(told.get(member), list):
            told[member] = [translate(item, say) for item in told[member]]
    return told
