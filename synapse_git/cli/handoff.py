"""``handoff``: give a claim to another agent, with no instant in between."""

from __future__ import annotations

from synapse_git.cli import acquaintance, held, phrase
from synapse_git.cli.verb import EPOCH, TASK, Argument, Verb
from synapse_git.identity import checked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse_git.cli.call import Call


def run(call: Call) -> int:
    """Exit 0: moved. Refusals: NOT_HELD, NOT_OWNER, STALE_EPOCH, SCOPE_CONFLICT, QUOTA_EXCEEDED. Spec: INV-CR-2"""
    to = checked(call.text("to"), "AGENT")
    done = held.command(call, "/v2/handoff", {"to": to})
    status = held.tell(call, done, "task {task_id} ({paths}) is held by {owner} now, until {until}")
    if not call.json:
        again = f"-t {phrase.shell(done.document['task_id'])} --agent {phrase.shell(to)}"
        acquaintance.doubt(done, to, lambda name: f"synapse-git handoff {name} {again}")
    return status


VERBS = (
    Verb(
        "handoff",
        run,
        summary="Give a claim to another agent.",
        help="Give a claim you hold to another agent: paths, status and checkpoint go along, the lease starts anew, "
        "and nobody can step in between. Refused where the paths overlap what a third one holds.",
        examples=(
            ("handoff ben", "the only claim you hold in this worktree"),
            ("handoff ben -t login", "this one"),
        ),
        options=(TASK, EPOCH),
        argument=Argument("to", "AGENT"),
    ),
)
