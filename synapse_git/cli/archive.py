"""``hub verify|export|import``: look at the journal, carry it elsewhere, start again from one."""

from __future__ import annotations

import os
import subprocess
import sys

from synapse_git import document
from synapse_git.cli import output
from synapse_git.cli.verb import Argument, Verb, raw
from synapse_git.errors import EXIT_BUG, EXIT_REFUSED, CheckoutError, SynapseError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from synapse_git.cli.call import Call


def verify(call: Call) -> int:
    """Exit 0: sound. 1: damaged, and how."""
    found = _ask(call, "verify")
    if call.json:
        output.structure(found)
    else:
        output.result(f"{found['events']} events, highest epoch {found['epoch']}: {found['detail']}")
    return 0 if found["ok"] else EXIT_REFUSED


def export(call: Call) -> int:
    """Exit 0: written."""
    done = _ask(call, "export", _file(call))
    if call.json:
        output.structure(done)
    else:
        output.result(f"{done['events']} events are in {done['file']} (SHA-256 {done['sha256']})")
    return 0


def take(call: Call) -> int:
    """Exit 0: the journal starts again from there, above every epoch ever issued."""
    done = _ask(call, "import", *([_file(call)] if call.text("file") else []))
    if call.json:
        output.structure(done)
        return 0
    output.result(f"incarnation {done['incarnation']} of the journal goes on from event {done['events']}")
    output.result(f"what was there before is kept in {done['kept']}")
    if done["detail"]:
        output.message(f"not all of it was intact: {done['detail']}. Whoever held something then claims it again")
    if not done["same_hub"]:
        output.message(
            "the hub has a new id, since nobody can tell the old one. In each repository: synapse-git install"
        )
    return 0


def _file(call: Call) -> str:
    return os.path.join(call.directory(), call.text("file"))


def _ask(call: Call, *words: str) -> dict[str, Any]:
    """Have the hub's program do it. Raises: CheckoutError, with its reason; SynapseError, where that is a bug."""
    ended = subprocess.run(
        [sys.executable, "-I", "-m", "synapse_hub", *words],
        env=dict(call.env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=False,
    )
    found: dict[str, Any] = document.read(ended.stdout)
    if "error" in found:
        raise (SynapseError if ended.returncode == EXIT_BUG else CheckoutError)(found["error"])
    return found


VERBS = (
    Verb(
        "hub verify",
        verify,
        summary="Check every event of the journal.",
        help="Check that every event of the journal is in its place and unaltered, and that none is missing at the "
        "end. Works beside a running hub.",
        examples=(("hub verify", "exit status 1 if anything is wrong"),),
    ),
    Verb(
        "hub export",
        export,
        summary="Write the journal to a file.",
        help="Write the whole journal to a new file, as lines of JSON with a checksum. Works beside a running hub.",
        examples=(("hub export backup.jsonl", "a backup"),),
        argument=Argument("file", "FILE", convert=raw, completes="file"),
    ),
    Verb(
        "hub import",
        take,
        summary="Start the journal again from a file.",
        help="Start a new incarnation of the journal from an export or a copy of journal.db; without FILE, from what "
        "is intact of the present one and of copies beside it, or from nothing where nothing is. Epochs go on above "
        "every one ever issued. What was there is kept, and named. The hub must be stopped.",
        examples=(
            ("hub import backup.jsonl", "go back to a backup"),
            ("hub import", "after damage: go on from what is intact"),
        ),
        argument=Argument("file", "FILE", required=False, convert=raw, completes="file"),
    ),
)
