"""``show``: one claim in full."""

from __future__ import annotations

from synapse_git import client, explain, scope
from synapse_git.cli import output, phrase
from synapse_git.cli.hosts import elsewhere
from synapse_git.cli.verb import Argument, Verb
from synapse_git.errors import Refused, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from synapse_git.cli.call import Call


def run(call: Call) -> int:
    """Exit 0: shown. NOT_HELD: nobody holds that task."""
    task = call.text("task")
    call.agent()
    reply = client.query(call.hub, "/v2/claims", task_id=task)
    found = reply.document["claims"]
    here = call.checkout_if_any()
    near = [claim for claim in found if here and claim["namespace"] == here.namespace()]
    fitting = near or found or elsewhere(call, task)
    if not fitting:
        raise Refused(
            {
                "reason": "NOT_HELD",
                "detail": f"nobody holds task {task}",
                "fix": "It was released, or its lease ran out. What became of it: synapse-git log",
            }
        )
    if len(fitting) > 1:
        raise UsageError(f"several projects have a task {task}. Go into one of them, or name it: -C DIR")
    if call.json:
        output.structure(fitting[0])
    else:
        output.result(_lines(fitting[0], reply.document["now"], where(call, fitting[0]["worktree"])))
    return 0


def where(call: Call, tree: str) -> str:
    """The checkout that a claim's tree is, for people."""
    known = client.query(call.hub, "/v2/worktrees").document["worktrees"] if tree else []
    found = [phrase.place(item["root"], call.env) for item in known if item["worktree"] == tree]
    return found[0] if found else tree or "shared by all worktrees of the project"


def _lines(claim: Mapping[str, Any], now: float, place: str) -> str:
    left = explain.span(claim["lease_expires_at"] - now)
    told = f", as {claim['host']} said" if "host" in claim else ""
    rows = [
        ("task", claim["task_id"]),
        ("held by", claim["owner"] + told),
        ("until", f"{phrase.until(claim, now)} ({left} left)"),
        ("status", claim["status"]),
        ("note", claim["note"]),
        ("project", claim["namespace"]),
        ("where", place),
        ("epoch", f"{claim['epoch']}, version {claim['version']}"),
    ]
    lines = [f"{name + ':':<9} {explain.said(value, most=None)}" for name, value in rows if value]
    held = [scope.show(explain.wire_path(path)) for path in claim["paths"]] or [phrase.everything(claim)]
    return "\n".join([*lines, "paths:", *(f"  {path}" for path in held)])


VERBS = (
    Verb(
        "show",
        run,
        summary="One claim in full.",
        help="Show one live claim: who holds it, until when, every path, and its note.",
        examples=(("show login", "the claim on task login"), ("show login --json", "as a document")),
        argument=Argument("task", "TASK", completes="task"),
    ),
)
