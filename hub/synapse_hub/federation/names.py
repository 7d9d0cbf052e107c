"""What agents of several hubs are called: plainly at home, ``HUB/NAME`` everywhere else.

At the hub that owns a namespace, a name belongs to the peer it came through, so that one name from two hosts is two
agents.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any


def from_peer(peer: str, name: str) -> str:
    """An agent of ``peer`` as it is called here."""
    return f"{peer}/{name}"


def addressed(peer: str, me: str, peers: Collection[str], name: str) -> str:
    """Whom an agent of ``peer`` means by ``name``: a colleague of its own, unless it names another hub."""
    own = at_home(me, name)
    if own != name:
        return own
    hub, _, rest = name.partition("/")
    return name if rest and hub in peers else from_peer(peer, name)


def at_home(me: str, name: str) -> str:
    """An agent as it is called on its own machine, where somebody there calls it as others do."""
    hub, _, rest = name.partition("/")
    return rest if rest and hub == me else name


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
    for member in ("claims", "conflicts", "besides", "revoked"):
        if isinstance(told.get(member), list):
            told[member] = [translate(item, say) for item in told[member]]
    return told


def retold(document: dict[str, Any], hub: str, say: Callable[[str], str], spoken: Collection[str]) -> dict[str, Any]:
    """As `translate`, for ``hub``, and the words of a refusal likewise.

    ``spoken``: whom the request named, as they are called here.
    """
    owners = [str(one.get("owner")) for one in document.get("conflicts", ())]
    told = translate(document, say)
    # What a holder on another machine is to type names the asker as it is called there.
    typed_there = bool(owners) and not owners[0].startswith(f"{hub}/")
    for member, named in (("detail", spoken), ("fix", () if typed_there else spoken)):
        if isinstance(told.get(member), str):
            told[member] = _reworded(told[member], {name: say(name) for name in (*owners, *named) if name})
    return told


def _reworded(text: str, called: dict[str, str]) -> str:
    if not called:
        return text
    names = "|".join(re.escape(name) for name in sorted(called, key=len, reverse=True))
    return re.sub(rf"(?<![\w/-])({names})(?![\w/-])", lambda found: called[found[0]], text)
