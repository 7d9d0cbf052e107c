"""``send``: say something to another agent, or to all."""

from __future__ import annotations

import os
import time

from synapse_git import client
from synapse_git.cli import acquaintance, output
from synapse_git.cli.verb import Argument, Option, Verb
from synapse_git.identity import checked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse_git.cli.call import Call


def run(call: Call) -> int:
    """Exit 0: the hub has it. Refusals: TOO_LARGE, QUOTA_EXCEEDED, INVALID_REQUEST. Spec: INV-DG-1"""
    to = call.text("to")
    body: dict[str, object] = {
        "agent": call.agent(),
        "body": " ".join(call.texts("words")),
        # Should the answer get lost and this be sent again, whoever reads both copies can tell.
        "client_msg_id": os.urandom(8).hex(),
        "client_timestamp": time.time(),
    }
    if to:
        body["to"] = checked(to, "--to")
    reply = client.command(call.hub, "/v2/messages", body)
    if call.json:
        output.raw(reply.raw)
    elif to:
        output.result(f"sent to {to}; it waits there until {to} has read it")
        acquaintance.doubt(reply, to, lambda name: f"synapse-git send --to {name} TEXT")
    else:
        output.result("said to everyone")
    return 0


VERBS = (
    Verb(
        "send",
        run,
        summary="Say something to another agent, or to all.",
        help="Send a message. One to a single agent is kept until it acknowledges it, whether or not it is there now; "
        "one to everyone is shown for a day.",
        examples=(
            ("send --to ben 'src/api is yours when login is merged'", "to one agent"),
            ("send 'the schema changes at noon'", "to everyone"),
        ),
        options=(Option("to", "--to", metavar="AGENT", help="Whom to say it to. Everyone, if not given."),),
        argument=Argument("words", "TEXT", many=True),
    ),
)
