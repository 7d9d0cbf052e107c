"""``note add`` and ``note list``: the blackboard of how far everyone is."""

from __future__ import annotations

import time

from synapse_git import client, explain, scope
from synapse_git.cli import output
from synapse_git.cli.verb import Argument, Option, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from synapse_git.cli.call import Call


def add(call: Call) -> int:
    """Exit 0: it is on the board."""
    here = call.checkout_if_any()
    body: dict[str, object] = {
        "agent": call.agent(),
        "text": " ".join(call.texts("words")),
        "task_id": call.text("task"),
        "namespace": here.namespace() if here else "",
    }
    reply = client.command(call.hub, "/v2/notes", body)
    if call.json:
        output.raw(reply.raw)
    else:
        output.result("noted")
    return 0


def show(call: Call) -> int:
    """Exit 0: the notes of this project; outside of any checkout, all."""
    here = call.checkout_if_any()
    call.agent()
    namespace = here.namespace() if here else ""
    reply = client.query(call.hub, "/v2/notes", namespace=namespace, task_id=call.text("task"))
    if call.json:
        output.raw(reply.raw)
        return 0
    notes, now = reply.document["notes"], reply.document["now"]
    output.result("\n".join(_told(note, now) for note in notes) or "no notes. Leave one: synapse-git note add TEXT")
    return 0


def _told(note: Mapping[str, Any], now: float) -> str:
    moment = explain.moment(time.time() + note["at"] - now)
    task = f" ({note['task_id']})" if note["task_id"] else ""
    return f"{moment}  {note['agent']}{task}: {scope.show(note['text'])}"


_TASK = Option("task", "-t", "--task", metavar="TASK", help="The task it is about.", completes="task")

VERBS = (
    Verb(
        "note add",
        add,
        summary="Say how far you are, for whoever wants to know.",
        help="Put a note on progress on the board, where everyone can read it and nobody has to. The newest ones are "
        "kept.",
        examples=(
            ("note add -t login 'routes done, tests next'", "about a task"),
            ("note add 'CI is red'", "about none"),
        ),
        options=(_TASK,),
        argument=Argument("words", "TEXT", many=True),
    ),
    Verb(
        "note list",
        show,
        summary="How far everyone is.",
        help="Show the notes of this project, oldest first; outside of any checkout, those of all projects.",
        examples=(("note list", "of this project"), ("note list -t login", "on one task")),
        options=(_TASK,),
    ),
)
