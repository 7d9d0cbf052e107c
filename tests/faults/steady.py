"""Claims one after another on a bare hub, for a log of its writes.

``python -m tests.faults.steady DIRECTORY FIRST COUNT``.
Each answer is printed the moment it is there. Ends without folding the journal, as a power cut would have it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

from synapse_hub.core.commands import Keyed
from synapse_hub.core.commands.claims import TakeClaim
from synapse_hub.core.outcome import Decided
from synapse_hub.hub import Hub
from synapse_hub.journal.journal import Journal
from synapse_hub.journal.sqlite import SqliteStore

_TASKS = 6
_SYNC_MARK_EVERY = 4
# Small, so that a short log shows checkpoints and a WAL that starts again.
_CHECKPOINT_PAGES = 24


class Steps:
    """A clock that goes on by a second at each look, so that every run is the same."""

    def __init__(self) -> None:
        self._at = 1_800_000_000.0

    def now(self) -> float:
        self._at += 1.0
        return self._at


def open_store(path: str) -> SqliteStore:
    store = SqliteStore(path)
    store._connection.execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_PAGES}")
    return store


def main(arguments: Sequence[str]) -> int:
    directory, first, count = arguments[0], int(arguments[1]), int(arguments[2])
    journal = Journal(directory, open_store)
    hub = Hub(journal, Steps(), state=journal.replay())
    hub.start()
    for number in range(first, first + count):
        task = f"t{number % _TASKS}"
        command = TakeClaim(
            agent="ana", principal="uid:1", namespace="", task_id=task, worktree="wt:1", paths=(f"d/{number}",)
        )
        sent = Keyed(sender="ana", verb="claim", key=f"k{number}", digest="d", command=command)
        outcome = hub.transact(sent).outcome
        assert isinstance(outcome, Decided)
        os.write(1, json.dumps([f"k{number}", outcome.answer["epoch"]]).encode() + b"\n")
        if number % _SYNC_MARK_EVERY == 0:
            journal.sync_mark()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
