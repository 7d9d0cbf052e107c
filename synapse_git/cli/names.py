"""``names``: which names belong to sessions, and taking one back."""

from __future__ import annotations

import time

from synapse_git import client, explain, scope
from synapse_git.cli import output
from synapse_git.cli.verb import Argument, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from synapse_git.cli.call import Call


def listed(call: Call) -> int:
    """Exit 0. ``--json``: ``{names: […]}``."""
    call.agent()
    reply = client.query(call.env, "/v2/names")
    if call.json:
        output.raw(reply.raw)
        return 0
    now = reply.document["now"]
    lines = [f"{scope.show(one['agent'])}: {_standing(one, now)}" for one in reply.document["names"]]
    output.result("\n".join(lines) or "no name is bound to a session")
    return 0


def _standing(one: Mapping[str, Any], now: float) -> str:
    words = "bound to no session"
    if one["connected"]:
        words = "bound to a session that is connected"
    elif one["free_at"] is not None:
        words = f"bound to a session that may come back until {explain.moment(time.time() + one['free_at'] - now)}"
    return f"{words}, key {one['key']}" if one["key"] else words


def reclaim(call: Call) -> int:
    """Exit 0: the name is free, and whoever was connected under it is cut off. 1: it belonged to nobody."""
    name = call.text("name")
    call.agent()
    reply = client.command(call.env, "/v2/names/reclaim", {"agent": name})
    if call.json:
        output.raw(reply.raw)
        return 0
    cut = " Its session was cut off" if reply.document["was_connected"] else ""
    output.result(f"the name {name} is free.{cut}")
    return 0


VERBS = (
    Verb(
        "names list",
        listed,
        summary="Which names belong to sessions?",
        help="List the names that are bound to a session, connected or expected back, and the keys pinned to names.",
        examples=(("names list", "for people"), ("names list --json", "connected, bound_at, free_at and key of each")),
    ),
    Verb(
        "names reclaim",
        reclaim,
        summary="Take a name back from the session it is bound to.",
        help="Free a name of yours whose session hangs, or whose secret or key is lost. The session is cut off, a "
        "pinned key is forgotten, and it is on record. Claims under the name stay.",
        examples=(("names reclaim ana", "whoever has your account may act as ana again"),),
        argument=Argument("name", "NAME"),
    ),
)
