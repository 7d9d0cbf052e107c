"""``renew``: a fresh lease on a claim that is held, its paths kept."""

from __future__ import annotations

from synapse_git.cli import held, span
from synapse_git.cli.verb import EPOCH, TASK, Option, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse_git.cli.call import Call


def run(call: Call) -> int:
    """Exit 0: renewed, with a fresh epoch. Refusals: NOT_HELD, NOT_OWNER, STALE_EPOCH. Spec: INV-LL-4"""
    ttl = call.number("ttl")
    done = held.command(call, "/v2/claim", {"ttl_s": ttl} if ttl else {})
    return held.tell(call, done, "renewed task {task_id} ({paths}) until {until}")


VERBS = (
    Verb(
        "renew",
        run,
        summary="Start the lease of a claim afresh.",
        help="Start the lease of a claim afresh; its paths stay as they are. Commits and edits of what you hold extend "
        "the lease by themselves, so this is for long silent work.",
        examples=(
            ("renew", "the only claim you hold in this worktree"),
            ("renew -t login --ttl 4h", "this one, for four hours from now"),
        ),
        options=(
            TASK,
            EPOCH,
            Option(
                "ttl",
                "--ttl",
                metavar="TIME",
                convert=span.seconds,
                help="How long from now: seconds, or 90m, 2h, 1d. As long as it was taken for, if not given.",
            ),
        ),
    ),
)
