"""A short script of requests to a bare writer: ``python -m tests.faults.session run|check DIRECTORY``.

``run`` prints a line for each answer the moment it is there, so that whatever ends the process leaves what was
acknowledged. ``check`` reads such lines, starts a hub on the same directory, retries what was left open by its key,
and prints what is wrong.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from synapse_hub.clock import open_clock
from synapse_hub.core.commands import Keyed
from synapse_hub.core.commands.claims import FamilyCommand, HandOff, ReleaseClaim, SaveCheckpoint, TakeClaim, UpdateTask
from synapse_hub.core.outcome import Decided, Refusal
from synapse_hub.hub import Hub
from synapse_hub.journal.journal import Journal, JournalBroken
from synapse_hub.journal.store import StoreError

UNKNOWN = "JOURNAL_UNAVAILABLE"
# A hub must grant again within this time of a restart.
PROMISE_S = 2.0
_RECOVERY_S = 0.7


def _claim(agent: str, task: str, path: str) -> TakeClaim:
    return TakeClaim(agent=agent, principal="uid:1", namespace="", task_id=task, worktree="wt:1", paths=(path,))


def _own(task: str) -> dict[str, Any]:
    return {"agent": "ana", "namespace": "", "task_id": task}


# Each would be granted whatever became of those before it, but for the claims they are about.
SCRIPT: tuple[tuple[str, FamilyCommand], ...] = (
    ("claim", _claim("ana", "t1", "a")),
    ("claim", _claim("ana", "t2", "b")),
    ("claim", _claim("ana", "t1", "a")),
    ("task_update", UpdateTask(**_own("t1"), status="half")),
    ("checkpoint", SaveCheckpoint(**_own("t1"), data={"at": 1})),
    ("handoff", HandOff(**_own("t1"), to="ben")),
    ("release", ReleaseClaim(**_own("t2"))),
    ("claim", _claim("cyd", "t3", "b")),
)


def main(arguments: Sequence[str]) -> int:
    verb, directory = arguments
    if verb == "run":
        return _run(directory)
    print(json.dumps({"findings": _check(directory, [json.loads(line) for line in sys.stdin])}))
    return 0


def _start(directory: str) -> Hub:
    journal = Journal(directory)
    state = journal.replay()
    hub = Hub(journal, open_clock(directory, state.last_at), state=state)
    hub.start()
    return hub


def _keyed(number: int) -> Keyed:
    verb, command = SCRIPT[number]
    return Keyed(sender=command.agent, verb=verb, key=f"k{number}", digest="d", command=command)


def _run(directory: str) -> int:
    """An error before the first answer is a hub that would not start, which is no loss."""
    try:
        hub = _start(directory)
    except (StoreError, JournalBroken, OSError):
        return 3
    for number in range(len(SCRIPT)):
        outcome = hub.transact(_keyed(number)).outcome
        said = outcome.answer.get("epoch") if isinstance(outcome, Decided) else outcome.reason
        os.write(1, json.dumps([number, said]).encode() + b"\n")
        if said == UNKNOWN and not _granting(hub, _RECOVERY_S):
            break
    if hub.granting:
        hub.stop()
    return 0


def _granting(hub: Hub, patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    while not hub.granting and time.monotonic() < deadline:
        time.sleep(0.005)
    return hub.granting


def _check(directory: str, lines: Sequence[Sequence[Any]]) -> list[str]:
    Path(directory).mkdir(exist_ok=True)
    told = {int(number): said for number, said in lines}
    # What a request comes to when an earlier one was left unknown and did not happen; never a word about itself.
    blamed = any(said == UNKNOWN for said in told.values())
    findings = [
        f"request {number} was refused with {said}"
        for number, said in told.items()
        if isinstance(said, str) and said != UNKNOWN and not (blamed and said in ("NOT_HELD", "SCOPE_CONFLICT"))
    ]
    begun = time.monotonic()
    hub = _start(directory)
    answers = hub.state.answers
    for number, said in told.items():
        sent = _keyed(number)
        known = answers.get((sent.sender, sent.verb, sent.key))
        if isinstance(said, int) and (known is None or known[1][1]["epoch"] != said):
            findings.append(f"request {number} was acknowledged with epoch {said} and is lost")
    outcome = hub.transact(_claim("dee", "t9", "elsewhere")).outcome
    if isinstance(outcome, Refusal):
        findings.append(f"not granting after a restart: {outcome.detail}")
    elif outcome.answer["epoch"] <= max([said for said in told.values() if isinstance(said, int)], default=0):
        findings.append("an epoch is given again")
    if time.monotonic() - begun > PROMISE_S:
        findings.append(f"granting took {time.monotonic() - begun:.1f} s after a restart")
    findings += _retried(hub, told)
    hub.stop()
    return findings


def _retried(hub: Hub, told: dict[int, Any]) -> list[str]:
    """Settle what is unknown by its key: applied once, whether it had happened or not."""
    findings = []
    for number in [number for number, said in told.items() if said == UNKNOWN]:
        sent = _keyed(number)
        first = hub.transact(sent).outcome
        again = hub.transact(sent).outcome
        if isinstance(first, Decided) and again != Decided([], {**first.answer, "replayed": True}):
            findings.append(f"request {number} was applied twice")
    return findings


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
