"""``update``: say how the work on a claim stands."""

from __future__ import annotations

from synapse_git.cli import held
from synapse_git.cli.verb import EPOCH, TASK, Option, Verb, count
from synapse_git.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse_git.cli.call import Call


def run(call: Call) -> int:
    """Exit 0: changed. Refusals: NOT_HELD, NOT_OWNER, STALE_EPOCH, VERSION_MISMATCH. Spec: INV-EF-3"""
    status, note, version = call.text("status"), call.text("note"), call.number("version")
    if not status and not note:
        raise UsageError("say what to change: --status TEXT or --note TEXT")
    fields: dict[str, object] = {"status": status} if status else {}
    if note:
        fields["note"] = note
    if version is not None:
        fields["expected_version"] = version
    done = held.command(call, "/v2/task_update", fields)
    return held.tell(call, done, "task {task_id} is {status}, version {version}")


VERBS = (
    Verb(
        "update",
        run,
        summary="Say how the work on a claim stands.",
        help="Change the status or the note of a claim you hold; others see them in status, show and refusals. Each "
        "change counts the claim's version up, so two writers cannot overwrite each other unseen.",
        examples=(
            ("update --status review", "the only claim you hold in this worktree"),
            ("update -t login --note 'tests are missing'", "this one"),
            ("update -t login --status done --expected-version 3", "only if nobody changed it since"),
        ),
        options=(
            TASK,
            EPOCH,
            Option("status", "--status", metavar="TEXT", help="One or two words: how it stands."),
            Option("note", "--note", metavar="TEXT", help="What it is for."),
            Option("version", "--expected-version", metavar="N", help="Only if the version is still N.", convert=count),
        ),
    ),
)
