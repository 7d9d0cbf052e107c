"""A watcher that is killed, at whatever point, and the one that comes after it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from synapse_git import address, quarantine, scope
from tests.box import Box
from tests.faults import scale
from tests.hooking import claim
from tests.watch.watching import PATIENCE_S, announce, worktree

# A hub's watcher that is killed once it has run so many lines of what puts a content back; 0: never.
VICTIM = """
import os, signal, sys, threading
from synapse_git import quarantine, swap
from synapse_watch import __main__, kept, restore
files = {module.__file__ for module in (quarantine, swap, restore, kept)}
left = int(sys.argv[1])
armed = False

def trace(frame, event, argument):
    global left, armed
    if frame.f_code.co_filename not in files:
        return None
    armed = armed or frame.f_code.co_name == "settle"
    if event == "line" and armed:
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
    return trace

if left:
    threading.settrace(trace)
sys.exit(__main__.main(["serve"]))
"""


@pytest.fixture
def held(box: Box) -> Path:
    """Ana holds src and bo docs, without the guard, so that nobody else watches; the policy is to restore."""
    box.cwd = box.init()
    claim(box, "ana", "src", task="t1")
    claim(box, "bo", "docs", task="t2")
    box.done("git", "config", "synapse.watch.onConflict", "restore")
    return box.cwd


def write(box: Box, agent: str, text: str) -> None:
    announce(box, agent, "src/a.py", hashlib.sha256(text.encode()).hexdigest())
    (box.write("draft", text)).rename(box.cwd / "src/a.py")


class Life:
    """One watcher, from the instant on that it is to know of."""

    def __init__(self, box: Box, since: float, lines: int = 0) -> None:
        hub = address.recorded(str(box.state))
        self._process = subprocess.Popen(
            [sys.executable, "-c", VICTIM, str(lines)],
            cwd="/",
            env=box.env | {"SYNAPSE_HUB": hub},
            stdin=subprocess.PIPE,
        )
        here = worktree(box)
        order = {"worktree": here["worktree"], "root": scope.to_wire(str(box.cwd)), "since": since}
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"worktrees": [order]}).encode() + b"\n")
        self._process.stdin.flush()

    def until(self, holds: Any) -> bool:
        """Does it come true before the process ends?"""
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            if self._process.poll() is not None:
                return bool(holds())
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return True

    def end(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(10)


def live(box: Box) -> bool:
    return bool(worktree(box)["watch"]["state"] == "live")


def standing(box: Box) -> str:
    return (box.cwd / "src/a.py").read_text()


def restored(box: Box) -> bool:
    """Is the holder's content there, and bo's kept and on record?"""
    found = quarantine.entries(str(box.cwd / ".git"))
    return standing(box) == "ana's\n" and any(entry.replaced and entry.reported for entry in found)


def told(box: Box) -> set[str]:
    """The paths of which it is on record that others changed them."""
    return {path for edit in worktree(box)["foreign_edits"] for path in edit["paths"]}


@pytest.mark.parametrize("lines", range(1, 190, 4) if scale.LONG else (1, 100, 125))
def test_what_a_killed_watcher_had_begun_the_next_one_ends(box: Box, held: Path, lines: int) -> None:
    """The holder's last content is back, and the foreign one kept once and named; all is left where nothing was begun,
    since nobody knows what its holder did meanwhile.
    """
    start = time.time()
    first = Life(box, start, lines)
    first.until(lambda: live(box))
    write(box, "ana", "ana's\n")
    time.sleep(0.6)
    write(box, "bo", "bo's\n")
    first.until(lambda: restored(box))
    first.end()
    begun = quarantine.entries(str(held / ".git"))
    second = Life(box, start)
    try:
        if not begun:
            assert second.until(lambda: live(box) and told(box) == {"src/a.py"})
            assert standing(box) == "bo's\n" and not quarantine.entries(str(held / ".git"))
            return
        assert second.until(lambda: restored(box))
        (entry,) = (one for one in quarantine.entries(str(held / ".git")) if one.replaced)
        assert (entry.found(), entry.about["agent"], entry.about["owner"]) == (b"bo's\n", "bo", "ana")
        assert len(quarantine.entries(str(held / ".git"))) == 1
    finally:
        second.end()
    assert f"kept as {entry.name}" in box.synapse("log").out


def test_what_happened_while_nobody_watched_is_found(box: Box, held: Path) -> None:
    """Edits, new files and deletions between the end of one watcher and the begin of the next."""
    start = time.time()
    first = Life(box, start)
    first.until(lambda: live(box))
    first.end()
    box.write("src/b.py", "by whom?\n")
    box.write("src/new/c.py", "by whom?\n")
    os.unlink(held / "src/a.py")
    second = Life(box, start)
    try:
        assert second.until(lambda: told(box) == {"src/a.py", "src/b.py", "src/new/c.py"}), told(box)
    finally:
        second.end()


def test_a_holders_work_while_nobody_watched_is_left_as_it_is(box: Box, held: Path) -> None:
    """It may lie beneath what another's tool wrote meanwhile, also where that is all that is found."""
    start = time.time()
    first = Life(box, start)
    first.until(lambda: live(box))
    write(box, "ana", "ana's\n")
    time.sleep(0.6)
    first.end()
    box.write("src/a.py", "by hand\n")
    write(box, "bo", "by hand\nbo's\n")
    second = Life(box, start)
    try:
        assert second.until(lambda: live(box) and told(box) == {"src/a.py"})
        assert standing(box) == "by hand\nbo's\n"
    finally:
        second.end()
