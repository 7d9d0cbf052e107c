"""How soon the watcher's verdict follows an edit, beside watchfiles alone, in a large tree; what an idle one costs."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import subprocess
import threading
import time
from pathlib import Path

from watchfiles._rust_notify import RustNotify

from synapse_git import client
from tests.bench.measure import Row, medians
from tests.box import PROGRAMS, Box

FILES = 50_000
ROUNDS = 25
# The goal is so much above the floor, and at most so much of a processor for an idle watcher.
MARGIN_MS = 20.0
IDLE_SHARE = 0.005
IDLE_S = 10.0


def rows(box: Box) -> list[Row]:
    """An edit in another's scope that its author's tool has announced, until the watcher tells of it."""
    box.cwd = box.init("watch")
    _fill(box)
    box.done("synapse-git", "claim", "-t", "t1", "src", agent="ana")
    box.done("synapse-git", "claim", "-t", "t2", "docs", agent="bo")
    command = [str(PROGRAMS / "synapse-git"), "watch", "--json"]
    with subprocess.Popen(command, cwd=box.cwd, env=box.env, stdout=subprocess.PIPE) as watcher:
        try:
            _until(watcher, "state")
            found = _measured(box, watcher)
            time.sleep(8)  # until it has looked at everything once more
            before = _ticks(watcher.pid)
            time.sleep(IDLE_S)
            idle = (_ticks(watcher.pid) - before) / os.sysconf("SC_CLK_TCK")
        finally:
            watcher.terminate()
    floor, told = found["floor"] * 1e3, found["verdict"] * 1e3
    return [
        Row(f"edit → verdict, {FILES:,} files; floor: watchfiles alone", told, floor, (floor + MARGIN_MS) / floor),
        Row("processor that an idle watcher uses, per second; limit", idle / IDLE_S * 1e3, IDLE_SHARE * 1e3, 1),
    ]


def _fill(box: Box) -> None:
    """A commit of many files, checked out."""
    files = "".join(f"M 100644 inline lib/{number % 500}/{number}\ndata 2\nx\n" for number in range(FILES))
    commit = f"commit refs/heads/main\ncommitter t <t@t> 1 +0000\ndata 4\nmany\nfrom refs/heads/main^0\n{files}\n"
    box.done("git", "fast-import", "--quiet", stdin=commit.encode())
    box.done("git", "reset", "-q", "--hard")


def _measured(box: Box, watcher: subprocess.Popen[bytes]) -> dict[str, float]:
    numbers = itertools.count()
    (here,) = box.synapse("status", "--json").json()["worktrees"]
    place = {"namespace": here["namespace"], "worktree": here["worktree"]}
    alone = RustNotify([str(box.cwd)], False, False, 0, True, True)
    waiting: list[threading.Thread] = []

    def announce() -> None:
        text = f"{next(numbers)}\n"
        digest = hashlib.sha256(text.encode()).hexdigest()
        edits = [{"path": "src/a.py", "sha256": digest}]
        client.command(box.env, "/v2/edits", {"agent": "bo", **place, "edits": edits})
        box.write(".git/next", text)

    def edit() -> None:
        os.replace(box.cwd / ".git/next", box.cwd / "src/a.py")
        _until(watcher, "foreign_edit")

    def listen() -> None:
        time.sleep(0.2)
        alone.watch(50, 10, 1, None)
        waiting.append(threading.Thread(target=alone.watch, args=(50, 10, 30_000, None)))
        waiting[-1].start()
        time.sleep(0.1)

    def touch() -> None:
        box.write("lib/free", f"{next(numbers)}\n")
        waiting[-1].join()

    return medians({"verdict": edit, "floor": touch}, ROUNDS, {"verdict": announce, "floor": listen})


def _until(watcher: subprocess.Popen[bytes], kind: str) -> None:
    assert watcher.stdout
    while json.loads(watcher.stdout.readline())["kind"] != kind:
        pass


def _ticks(pid: int) -> int:
    """Clock ticks that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
