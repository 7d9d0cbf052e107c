"""``heartbeat``: tell the hub that one is still at work."""

from __future__ import annotations

from synapse_git import client
from synapse_git.cli import output, phrase
from synapse_git.cli.verb import Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse_git.cli.call import Call


def run(call: Call) -> int:
    """Exit 0: every live claim of the agent was extended, in whatever worktree; epochs stay."""
    agent = call.agent()
    reply = client.command(call.hub, "/v2/heartbeat", {"agent": agent})
    if call.json:
        output.raw(reply.raw)
        return 0
    held = reply.document["claims"]
    now = reply.document["now"]
    lines = [f"{claim['task_id']}: {phrase.paths(claim)} until {phrase.until(claim, now)}" for claim in held]
    output.result("\n".join(lines) or f"{agent} holds nothing")
    return 0


VERBS = (
    Verb(
        "heartbeat",
        run,
        summary="Extend all you hold: you are still at work.",
        help="Extend the lease of every claim you hold, in all worktrees. Only the expiry moves: unlike renew it "
        "leaves epochs alone, so it never gets in the way of another process of yours.",
        examples=(("heartbeat", "say so every few minutes in a long silent job"),),
    ),
)
