"""What is held on the other machines of a team, as their hubs told it, and how fresh that is."""

from __future__ import annotations

from synapse_git import client, explain, scope
from synapse_git.cli import output, phrase, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from synapse_git.cli.call import Call

    Document = Mapping[str, Any]


def hosts(call: Call) -> list[dict[str, Any]]:
    """Each peer of this hub as ``{host, url, standing, heard_at, age_s, detail, claims}``.

    ``claims``: what it says that others' agents hold in the namespaces the two share, each with the ``host`` whose
    agent it is. Advisory: whoever grants there may have gone on since.
    """
    reply = client.query(call.hub, "/v2/team").document
    found = [
        {
            "host": peer["id"],
            **{name: peer[name] for name in ("url", "standing", "heard_at", "detail")},
            "age_s": age(peer, reply["now"]),
            "claims": client.observed(call.hub, peer["id"]) if peer["claims"] else [],
        }
        for peer in reply["peers"]
    ]
    for host in found:
        host["claims"] = [claim for claim in host["claims"] if claim["host"] != reply["id"]]
    return found


def elsewhere(call: Call, task: str) -> list[dict[str, Any]]:
    """The claims on ``task`` that agents on other machines hold as far as their hubs told, one in each project."""
    told = {claim["namespace"]: claim for host in hosts(call) for claim in host["claims"] if claim["task_id"] == task}
    place = call.checkout_if_any()
    near = [claim for claim in told.values() if place and claim["namespace"] == place.namespace()]
    return near or list(told.values())


def age(peer: Document, now: float) -> float | None:
    """How long ago the peer was heard, in seconds; None: never."""
    return None if peer["heard_at"] is None else max(now - peer["heard_at"], 0.0)


def show(call: Call, found: Sequence[Document], now: float) -> None:
    """For people: what others hold, then how each peer stands."""
    told = {(claim["namespace"], claim["task_id"]): claim for host in found for claim in host["claims"]}
    rows = [
        (
            claim["host"],
            claim["task_id"],
            claim["owner"],
            phrase.paths(claim, most=3),
            phrase.until(claim, now),
            scope.show(claim["note"]) if claim["note"] else "",
        )
        for claim in told.values()
    ]
    output.result("")
    if rows:
        table.show(("HOST", "TASK", "AGENT", "PATHS", "UNTIL", "NOTE"), rows, call.env)
    elif found:
        output.result("nothing is held on other hosts, as far as they told")
    else:
        output.result("this hub knows no other: synapse-git team init NAMESPACE, or team join URL")
    for host in found:
        output.result(f"{host['host']} {stands(host, host['age_s'])}")


def stands(peer: Document, age_s: float | None) -> str:
    """How fresh what the peer told is, in words; ``peer`` has ``standing`` and ``detail``."""
    ago = "" if age_s is None else f"{explain.span(age_s)} ago"
    match peer["standing"]:
        case "following":
            return f"is followed, heard {ago}" + (f"; {peer['detail']}" if peer["detail"] else "")
        case "silent":
            return "has no address here: what its agents hold is known where they ask"
        case "starting":
            return "is being asked"
    return f"cannot be reached ({peer['detail']}), {f'last heard {ago}' if ago else 'never heard'}"
