"""``watch``: see who writes what others hold, in the foreground."""

from __future__ import annotations

import os
import sys

from synapse_git.cli import output, register
from synapse_git.cli.verb import Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse_git.cli.call import Call


def run(call: Call) -> int:
    """Become the watcher of this checkout. Comes back only where that fails."""
    here = call.checkout().outer
    register.announce(call, here, call.agent())
    output.settle()
    words = [sys.executable, "-I", "-m", "synapse_watch", "here", here.root, *(["--json"] if call.json else [])]
    os.execve(sys.executable, words, dict(call.hub))  # noqa: S606 - argv of our own


VERBS = (
    Verb(
        "watch",
        run,
        summary="See who writes what others hold, as it happens.",
        help="Watch the files of this checkout until interrupted, and tell of each change inside somebody's live scope "
        "that its holder did not make. It goes on record, whoever made it. Where the guard is installed and somebody "
        "holds something, the hub does the same by itself.",
        examples=(("watch", "until Ctrl-C"), ("watch --json", "one document a line, for programs")),
    ),
)
