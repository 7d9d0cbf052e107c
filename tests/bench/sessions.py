"""Many agents with a session open: what a claim then takes beside one with nobody there, and memory a session."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from websockets.asyncio.client import unix_connect

from synapse_git.exchange import Line
from tests.bench.measure import Row
from tests.box import Box

AGENTS = 500
CLAIMS = 1000
GOAL = 20.0
LIMIT_KB = 100.0
_AT_ONCE = 50
_PATIENCE_S = 120.0


def rows(box: Box) -> list[Row]:
    """The slowest of a hundred claims beside the usual one of an idle hub; memory beside its limit."""
    box.done("synapse-git", "hub", "start")
    path = box.address()
    idle = statistics.median(_claims(path))
    before = _resident_kb(box)
    p99, after = asyncio.run(_crowded(box, path))
    what = f"claim, 99th percentile, {AGENTS} sessions open; floor: median with none"
    return [
        Row(what, p99 * 1e3, idle * 1e3, GOAL),
        Row("memory of an open session; limit", (after - before) / AGENTS, LIMIT_KB, 1, "kB"),
    ]


async def _crowded(box: Box, path: str) -> tuple[float, float]:
    async with AsyncExitStack() as stack:
        for first in range(0, AGENTS, _AT_ONCE):
            async with asyncio.TaskGroup() as group:
                for number in range(first, min(first + _AT_ONCE, AGENTS)):
                    group.create_task(stack.enter_async_context(_session(path, f"agent-{number}")))
        taken = await asyncio.to_thread(_claims, path)
        return statistics.quantiles(taken, n=100)[-1], _resident_kb(box)


@asynccontextmanager
async def _session(path: str, agent: str) -> AsyncIterator[None]:
    async with unix_connect(path, "ws://hub/v2/session", compression=None) as connection:
        await connection.send(json.dumps({"type": "register", "agent": agent}))
        if json.loads(await connection.recv())["type"] != "welcome":
            raise RuntimeError(f"{agent} got no session")
        yield


def _claims(path: str) -> list[float]:
    """Seconds that each of many claims took, one after another on one connection."""
    taken = []
    with Line(path, time.monotonic() + _PATIENCE_S) as line:
        for number in range(CLAIMS):
            body = {"task_id": f"t{number % 50}", "agent": "ana", "worktree": "w", "paths": [f"src/{number}"]}
            start = time.perf_counter()
            answer = line.ask("POST", "/v2/claim", [("Content-Type", "application/json")], json.dumps(body).encode())
            taken.append(time.perf_counter() - start)
            if answer.status != 200:
                raise RuntimeError(f"the hub answered {answer.body[:500]!r}")
    return taken


def _resident_kb(box: Box) -> float:
    return int(Path(f"/proc/{box.hub_pid()}/statm").read_text().split()[1]) * 4.096
