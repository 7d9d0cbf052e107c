"""How soon a hub that starts knows what is held at a peer with very many claims."""

from __future__ import annotations

import queue
import time
from pathlib import Path

from synapse_git import client
from synapse_hub.clock import open_clock
from synapse_hub.core.commands.claims import TakeClaim
from synapse_hub.core.outcome import Refusal
from synapse_hub.hub import Answered, Hub
from synapse_hub.journal.journal import Journal
from tests.bench.measure import Row
from tests.box import Box
from tests.team.hosts import NAMESPACE, Host, pair

CLAIMS = 100_000
LIMIT_S = 10.0
LIMIT_MB = 400.0
TTL_S = 86_400.0
CLAIMS_PER_PRINCIPAL = 100
_STEP_S = 0.05


def rows(box: Box) -> list[Row]:
    """Limits instead of floors. Two hubs on one machine, over TLS on the loopback."""
    with pair(box, box.cwd) as (a, b):
        a.stop_hub()
        b.stop_hub()
        _fill(a.state)
        a.done("synapse-git", "hub", "start", timeout_s=120)
        start = time.perf_counter()
        b.done("synapse-git", "hub", "start", timeout_s=120)
        while _known(b) < CLAIMS:
            time.sleep(_STEP_S)
        taken = time.perf_counter() - start
        pages = int(Path(f"/proc/{b.hub_pid()}/statm").read_text().split()[1])
        return [
            Row(f"start of a hub until it knows {CLAIMS:,} claims of a peer; limit", taken, LIMIT_S, 1, "s"),
            Row("memory of that hub; limit", pages * 4096 / 1e6, LIMIT_MB, 1, "MB"),
        ]


def _known(host: Host) -> int:
    (peer,) = client.query(host.env, "/v2/team").document["peers"]
    return int(peer["claims"])


def _fill(directory: Path) -> None:
    """Have the hub of ``directory`` hold very many claims of the namespace that it owns."""
    journal = Journal(str(directory))
    state = journal.replay()
    hub = Hub(journal, open_clock(str(directory), state.last_at), state=state)
    hub.start()
    answers: queue.SimpleQueue[Answered] = queue.SimpleQueue()
    for number in range(CLAIMS):
        hub.submit(_claim(number), answers.put)
    refused = [
        answer.outcome for answer in (answers.get() for _ in range(CLAIMS)) if isinstance(answer.outcome, Refusal)
    ]
    hub.stop()
    if refused:
        raise RuntimeError(refused[0].detail)


def _claim(number: int) -> TakeClaim:
    name = f"crowd-{number // CLAIMS_PER_PRINCIPAL}"
    return TakeClaim(
        agent=name,
        principal=name,
        namespace=NAMESPACE,
        task_id=f"t{number}",
        worktree="",
        paths=(f"src/{number // 500}/held-{number}",),
        ttl_s=TTL_S,
    )
