"""``checkpoint``: keep a word with a claim for whoever goes on with the task."""

from __future__ import annotations

import os
import sys

from synapse_git import document
from synapse_git.cli import held, output, target
from synapse_git.cli.verb import EPOCH, TASK, Option, Verb, raw
from synapse_git.constants import MAX_CHECKPOINT_BYTES
from synapse_git.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from synapse_git.cli.call import Call


def run(call: Call) -> int:
    """Exit 0: kept, or shown. Refusals: NOT_HELD, NOT_OWNER, STALE_EPOCH, TOO_LARGE. Spec: INV-CR-3"""
    given = [key for key in ("data", "file", "show") if call.flag(key) or call.text(key)]
    if len(given) != 1:
        raise UsageError("say what to keep, with --data JSON or --file FILE, or look at what is kept: --show")
    if call.flag("show"):
        output.structure(target.chosen(call, call.agent())["checkpoint"])
        return 0
    done = held.command(call, "/v2/checkpoint", {"data": _data(call)})
    return held.tell(call, done, "kept with task {task_id}; whoever claims it next gets it")


def _data(call: Call) -> Any:
    source = "--data" if call.text("data") else call.text("file")
    text = call.text("data").encode() if call.text("data") else _read(call)
    try:
        return document.read(text)
    except ValueError as error:
        raise UsageError(f"{source} is not JSON: {error}. A plain text is JSON in double quotes") from None


def _read(call: Call) -> bytes:
    name = call.text("file")
    try:
        if name == "-":
            return sys.stdin.buffer.read(2 * MAX_CHECKPOINT_BYTES)
        with open(os.path.join(call.directory(), name), "rb") as file:
            return file.read(2 * MAX_CHECKPOINT_BYTES)
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from None


VERBS = (
    Verb(
        "checkpoint",
        run,
        summary="Keep a word with a claim for whoever goes on.",
        help="Keep any JSON value with a claim you hold. It survives the end of the lease and a takeover, and is part "
        "of what the next claimant of the task is given. Releasing the task drops it.",
        examples=(
            ("""checkpoint --data '{"next": "tests"}'""", "with the only claim you hold in this worktree"),
            ("checkpoint -t login --file state.json", "from a file; - is standard input"),
            ("checkpoint -t login --show", "what is kept"),
        ),
        options=(
            TASK,
            EPOCH,
            Option("data", "--data", metavar="JSON", help="What to keep."),
            Option("file", "--file", metavar="FILE", help="A file that holds it.", convert=raw, completes="file"),
            Option("show", "--show", help="Print what is kept."),
        ),
    ),
)
