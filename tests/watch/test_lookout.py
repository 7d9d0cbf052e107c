"""The hub's own watcher: there when somebody holds something, and only then."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.box import Box
from tests.hooking import claim
from tests.watch.watching import watching, worktree

PATIENCE_S = 20.0


def children(box: Box) -> list[int]:
    """The hub's watchers."""
    listed = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(box.hub_pid())], capture_output=True, text=True)
    return [int(line.split()[0]) for line in listed.stdout.splitlines() if "synapse_watch" in line]


def until(holds: Callable[[], Any], patience_s: float = PATIENCE_S) -> Any:
    """The first true value of ``holds``."""
    deadline = time.monotonic() + patience_s
    while not (found := holds()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def live(box: Box, cwd: Path | None = None) -> bool:
    return bool(worktree(box, cwd)["watch"]["state"] == "live")


def foreign(box: Box, cwd: Path | None = None) -> list[str]:
    return [path for edit in worktree(box, cwd)["foreign_edits"] for path in edit["paths"]]


def test_the_hub_watches_where_somebody_is_and_stops_when_nobody_is(box: Box, repo: Path) -> None:
    """A claim starts it, also for what was written before; its release ends it; killed, it comes again."""
    claim(box, "ana", "src", task="t1")
    claim(box, "bo", "docs", task="t2")
    box.write("src/a.py", cwd=repo)
    until(lambda: live(box))
    assert "watcher" in worktree(box)["layers"]
    until(lambda: foreign(box) == ["src/a.py"])
    (child,) = children(box)
    os.kill(child, signal.SIGKILL)
    until(lambda: children(box) not in ([], [child]) and live(box))
    box.write("src/b.py", cwd=repo)
    until(lambda: "src/b.py" in foreign(box))
    for agent in ("ana", "bo"):
        assert box.synapse("release", "--all", agent=agent).code == 0
    until(lambda: worktree(box)["watch"]["state"] == "off")
    assert worktree(box)["layers"] == ["guard"]


def test_a_watcher_ends_with_its_hub_however_that_ends(box: Box, repo: Path) -> None:
    """Also where the hub had no time to say so."""
    claim(box, "ana", "src", task="t1")
    (child,) = until(lambda: children(box))
    os.kill(box.hub_pid(), signal.SIGKILL)
    until(lambda: not Path(f"/proc/{child}/cmdline").exists() or not Path(f"/proc/{child}/cmdline").read_bytes())


def test_a_worktree_without_the_guard_is_watched_on_request_only(box: Box) -> None:
    """Nobody asked for it there; in a terminal it is welcome all the same, and takes the place of the hub's own."""
    box.cwd = box.init()
    claim(box, "ana", "src", task="t1")
    time.sleep(1)
    assert children(box) == [] and worktree(box)["watch"]["state"] == "off"
    box.done("synapse-git", "install")
    until(lambda: live(box))
    with watching(box):
        until(lambda: worktree(box)["watch"]["foreground"])
    until(lambda: live(box) and not worktree(box)["watch"]["foreground"])


def test_doctor_and_status_tell_what_covers_a_worktree_now(box: Box, repo: Path) -> None:
    """A watcher at work, one that is gone, tool hooks that start nothing any more, a guard that was taken out."""
    box.done("synapse-git", "agents", "install", "claude")
    claim(box, "ana", "src", task="t1")
    until(lambda: live(box))
    assert worktree(box)["layers"] == ["guard", "tools", "watcher"]
    assert f"the watcher sees every change in {repo}" in box.synapse("doctor").out
    launcher = box.home / ".local/share/synapse-git/agent-hook"
    text = launcher.read_text()
    launcher.write_text(text.replace("python='", "python='/gone"))
    assert "tools" not in worktree(box)["layers"]
    assert "claude may edit unasked" in box.synapse("doctor").out

    def told_of_its_end() -> bool:
        for child in children(box):  # started again the later the more often it ends
            os.kill(child, signal.SIGKILL)
        return "no watcher: the watcher ended (-9)" in box.synapse("status").out

    until(told_of_its_end)
    box.done("synapse-git", "uninstall")
    until(lambda: worktree(box)["layers"] == [])
