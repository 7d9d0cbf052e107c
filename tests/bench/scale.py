"""What a hub costs that has seen much and holds much: restart, memory, a verdict."""

from __future__ import annotations

import queue
import statistics
import time
from pathlib import Path

from synapse_hub.clock import open_clock
from synapse_hub.core.commands.claims import TakeClaim
from synapse_hub.core.guard import Question, Verdict
from synapse_hub.core.state import State
from synapse_hub.hub import Answered, Hub
from synapse_hub.journal.journal import Journal
from tests.bench.measure import Row
from tests.box import Box

LIVE = 100_000
EVENTS = 1_000_000
FEW = 1_000
PATHS = 1_000
ROUNDS = 7
TTL_S = 86_400.0
CLAIMS_PER_PRINCIPAL = 100
_IN_FLIGHT = 4_000


def rows(box: Box) -> list[Row]:
    """Limits instead of floors: the ratio is the share of the limit that was used."""
    found = [Row("memory of an idle hub; limit", _memory(box), 60, 1, "MB")]
    box.stop_hub()
    state = _fill(box.state, LIVE, LIVE)
    free = statistics.median(_verdict(state, "new") for _ in range(ROUNDS)) * 1e3
    held = statistics.median(_verdict(state, "held") for _ in range(ROUNDS)) * 1e3
    found.append(Row(f"verdict on {PATHS:,} free paths, {LIVE:,} live claims; limit", free, 5, 1))
    found.append(Row(f"the same where all {PATHS:,} are held; limit", held, 5, 1))
    found.append(Row(f"memory with {LIVE:,} live claims; limit", _memory(box), 400, 1, "MB"))
    box.stop_hub()
    for name in ("journal.db", "journal.mark"):
        (box.state / name).unlink()
    _fill(box.state, FEW, EVENTS)
    found.append(Row(f"restart after {EVENTS:,} events to the first grant; limit", _restart(box), 2, 1, "s"))
    return found


def _memory(box: Box) -> float:
    """Resident megabytes of the box's hub, started if need be and left alone for a moment."""
    box.done("synapse-git", "hub", "start", timeout_s=120)
    time.sleep(1)
    pages = int(Path(f"/proc/{box.hub_pid()}/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def _restart(box: Box) -> float:
    """Seconds from nothing to an acknowledged claim, command line included."""
    root = box.init()
    start = time.perf_counter()
    box.done("synapse-git", "claim", "src", cwd=root, timeout_s=120)
    return time.perf_counter() - start


def _fill(directory: Path, live: int, events: int) -> State:
    """A journal of ``events`` grants on ``live`` tasks; the state it tells."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    journal = Journal(str(directory))
    hub = Hub(journal, open_clock(str(directory), 0.0), state=journal.replay())
    hub.start()
    answers: queue.SimpleQueue[Answered] = queue.SimpleQueue()
    for number in range(events):
        hub.submit(_claim(number % live), answers.put)
        if number >= _IN_FLIGHT:
            answers.get()
    for _ in range(min(events, _IN_FLIGHT)):
        answers.get()
    time.sleep(1)  # for the snapshot that is due
    state = hub.state
    hub.stop()
    return state


def _claim(number: int) -> TakeClaim:
    name = f"crowd-{number // CLAIMS_PER_PRINCIPAL}"
    paths = (f"src/{number // 500}/held-{number}",)
    return TakeClaim(
        agent=name, principal=name, namespace="", task_id=f"t{number}", worktree="w", paths=paths, ttl_s=TTL_S
    )


def _verdict(state: State, name: str) -> float:
    """Seconds for one look at many paths, in directories full of others' claims."""
    paths = [f"src/{number // 500}/{name}-{number}" for number in range(0, LIVE, LIVE // PATHS)]
    start = time.perf_counter()
    verdict = Verdict(state, Question("ana", "", "w", "commit"), 0.0)
    verdict.judge(paths)
    verdict.document()
    return time.perf_counter() - start
