"""``ack``: be done with messages that were read."""

from __future__ import annotations

from synapse_git import client
from synapse_git.cli import output, phrase, shown
from synapse_git.cli.verb import Argument, Verb, count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse_git.cli.call import Call


def run(call: Call) -> int:
    """Exit 0: they are not shown again. What came after the last ``inbox`` still waits. Spec: INV-DG-3"""
    agent = call.agent()
    given = call.number("seq")
    seq = shown.last(call.hub, agent) if given is None else int(given)
    reply = client.command(call.hub, "/v2/ack", {"agent": agent, "seq": seq})
    if call.json:
        output.raw(reply.raw)
        return 0
    left = reply.document["pending"]
    rest = f"; not read yet: {left}. Read on: {phrase.command(call, 'inbox')}" if left else ""
    done = "what was read" if given is None else f"messages up to {seq}"
    output.result(f"done with {done}{rest}")
    return 0


VERBS = (
    Verb(
        "ack",
        run,
        summary="Be done with what you have read.",
        help="Acknowledge messages: those up to number SEQ, or, without it, those that inbox has shown you. They do "
        "not come back; what came later still waits.",
        examples=(("ack", "all that inbox has shown"), ("ack 42", "up to message 42")),
        argument=Argument("seq", "SEQ", required=False, convert=count),
    ),
)
