"""Processes contend for one name, hang up, die, come back late: one has it at a time, and only with its secret."""

from __future__ import annotations

import itertools
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.faults import tree
from tests.faults.contender import NAME, TURN
from tests.faults.scale import times
from tests.faults.served import Served
from tests.faults.tree import Breakage, breakage

TTL_S = 0.4
BRIEF = breakage(
    "a name is kept for a moment",
    ("synapse_git/constants.py", "DEFAULT_LEASE_OFFLINE_TTL = 3600.0", f"DEFAULT_LEASE_OFFLINE_TTL = {TTL_S}"),
)
ANYBODY = breakage(
    "whoever comes gets the name",
    (
        "hub/synapse_hub/core/binding.py",
        "    if owner and (owner.secret_sha256, owner.principal) != (command.secret_sha256, command.principal):\n",
        "    if owner and not owner:\n",
    ),
    ("hub/synapse_hub/core/binding.py", "    if command.agent not in names.live:\n", "    if command.agent:\n"),
)


def contend(hub: Served, root: Path, processes: int, seconds: float) -> list[str]:
    """All that they say; who dies is replaced by another."""
    seeds, deadline = itertools.count(), time.monotonic() + seconds
    env = os.environ | {"PYTHONPATH": tree.python_path(root)}

    def start() -> subprocess.Popen[str]:
        left = max(deadline - time.monotonic(), 0.1)
        words = [hub.path(), str(hub.state / "mark"), f"{left}", f"{next(seeds)}"]
        command = [sys.executable, "-m", "tests.faults.contender", *words]
        return subprocess.Popen(command, cwd=root, env=env, stdout=subprocess.PIPE, text=True)

    said: list[str] = []
    running = [start() for _ in range(processes)]
    while running:
        ended = running.pop(0)
        said += ended.communicate(timeout=seconds + 60)[0].splitlines()
        if ended.returncode and time.monotonic() < deadline:
            running.append(start())
    return said


def taken_early(hub: Served) -> Iterator[str]:
    """Bindings to another session while the name was somebody's, by the journal."""
    owner, gone = "", -1e18
    with closing(sqlite3.connect(f"file:{hub.state / 'journal.db'}?mode=ro", uri=True)) as connection:
        for kind, body in connection.execute("SELECT kind, body FROM events ORDER BY seq"):
            event: dict[str, Any] = json.loads(body)
            if event.get("agent") != NAME:
                continue
            if kind == "name_bound":
                if event["secret_sha256"] != owner and event["at"] < gone + TTL_S:
                    yield f"taken {gone + TTL_S - event['at']} s early"
                owner, gone = event["secret_sha256"], 1e18
            elif kind == "name_disconnected":
                gone = event["at"]
            elif kind == "name_released":
                owner, gone = "", -1e18


def test_one_at_a_time_has_the_name(tmp_path: Path) -> None:
    """And the name comes back to whoever hung up, before anybody else can have it."""
    processes, seconds = times(12, 100), float(times(3, 60))
    with tree.copy(BRIEF) as root, Served(tmp_path, root) as hub:
        said = contend(hub, root, processes, seconds)
        assert set(said) == {TURN} and len(said) > processes / 2, said
        assert list(taken_early(hub)) == []


@pytest.mark.parametrize("broken", [ANYBODY], ids=lambda one: one.name)
def test_two_with_one_name_would_meet(tmp_path: Path, broken: Breakage) -> None:
    """A hub that gives the name to whoever comes is found out."""
    with tree.copy(BRIEF, broken) as root, Served(tmp_path, root) as hub:
        said = contend(hub, root, 5, 1.5)
        assert set(said) != {TURN} or list(taken_early(hub))
