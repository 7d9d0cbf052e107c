"""A watcher in the foreground, as a test sees it: what it has said so far, as documents."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from synapse_git import address, client
from tests.box import PROGRAMS, Box

PATIENCE_S = 30.0

# The same watcher with less patience: what it waits for is there sooner in a test than at people's hands.
HASTY = """
import sys
from synapse_watch import __main__, patrol, terminal
patrol.GRACE_S, patrol._TRAILING_S, patrol._DEGRADED_S = 1.0, 0.8, 1.5
terminal._PATIENCE_S = 15.0
sys.exit(__main__.main(sys.argv[1:]))
"""
# Long enough for it to have told of whatever it will tell of.
SETTLED_S = 1.7


class Watching:
    """``said``: every document it printed, oldest first."""

    def __init__(self, box: Box, cwd: Path, prefix: Sequence[str], *, patient: bool) -> None:
        plain = [str(PROGRAMS / "synapse-git"), "watch", "--json"]
        self.process = subprocess.Popen(
            [*prefix, *(plain if patient else [sys.executable, "-c", HASTY, "here", str(cwd), "--json"])],
            cwd=cwd,
            env=box.env if patient else box.env | {"SYNAPSE_HUB": address.recorded(str(box.state))},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.said: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.said.append(json.loads(line))

    def edits(self) -> dict[str, str]:
        """Path → by whom, of every edit told of."""
        return {
            one["path"] if isinstance(one["path"], str) else one["path"]["b64"]: one["agent"]
            for one in list(self.said)
            if one["kind"] == "foreign_edit"
        }

    def states(self) -> list[str]:
        return [one["state"] for one in list(self.said) if one["kind"] == "state"]

    def until(self, holds: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
        """Wait until ``holds``; fail with all that was said."""
        deadline = time.monotonic() + patience_s
        while not holds():
            assert self.process.poll() is None, self.process.stderr and self.process.stderr.read()
            assert time.monotonic() < deadline, self.said[-20:]
            time.sleep(0.02)

    def end(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join(10)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()


@contextmanager
def watching(
    box: Box, cwd: Path | None = None, prefix: Sequence[str] = (), *, patient: bool = False
) -> Iterator[Watching]:
    """`synapse-git watch` until the block ends, from the moment on at which it sees. ``patient``: as people have it."""
    watch = Watching(box, cwd or box.cwd, prefix, patient=patient)
    try:
        watch.until(watch.states)
        yield watch
    finally:
        watch.end()


def worktree(box: Box, cwd: Path | None = None) -> dict[str, Any]:
    """What `status` knows of a worktree."""
    root = os.fspath(cwd or box.cwd)
    (found,) = (one for one in box.synapse("status", "--json").json()["worktrees"] if one["root"] == root)
    return dict(found)


def announce(box: Box, agent: str, path: str, sha256: str | None, cwd: Path | None = None) -> None:
    """What an agent's own tool says after an edit."""
    here = worktree(box, cwd)
    body = {
        "agent": agent,
        "namespace": here["namespace"],
        "worktree": here["worktree"],
        "edits": [{"path": path, "sha256": sha256}],
    }
    client.command(box.env, "/v2/edits", body)


def settled(box: Box, watch: Watching, cwd: Path | None = None) -> dict[str, str]:
    """What was told, once everything before is settled: a change that nobody owns up to comes last."""
    marker = f"src/marker-{time.monotonic_ns()}"
    box.write(marker, cwd=cwd)
    watch.until(lambda: marker in watch.edits())
    return {path: by for path, by in watch.edits().items() if "marker" not in path}
