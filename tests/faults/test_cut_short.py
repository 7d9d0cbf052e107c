"""Installing and uninstalling the guard, killed before any change to a file: hooks run, and the next run ends well."""

from __future__ import annotations

import signal
import sys
from itertools import count
from pathlib import Path

import pytest

from tests.box import Box
from tests.faults.scale import LONG
from tests.hooking import act, log, picture, script

# Quick runs take a step here and there, the long form every one.
STRIDE = 1 if LONG else 11

_KILLED = """
import os, signal, sys

left = int(sys.argv[1])
changes = {"os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "os.symlink", "os.chmod"}

def before(event, arguments):
    global left
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if event in changes or writes:
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

from synapse_hooks.__main__ import main
sys.addaudithook(before)
sys.exit(main(sys.argv[2:]))
"""


def _cut(box: Box, verb: str, step: int) -> bool:
    """Do ``verb``, and be killed before the change number ``step``; did it get as far?"""
    ended = box.run(sys.executable, "-I", "-B", "-c", _KILLED, str(step), verb, "--cwd", box.cwd)
    assert ended.code in (0, -signal.SIGKILL), ended.text
    return ended.code != 0


def _hooks(repository: Path) -> dict[str, tuple[str, str]]:
    found = picture(repository / ".git")
    return {path: entry for path, entry in found.items() if path.startswith(("hooks", "config", "synapse/made"))}


def _theirs_runs_once(box: Box) -> None:
    log(box)
    box.done("git", "commit", "-q", "--allow-empty", "-m", "x")
    assert log(box) == ["theirs"]


@pytest.mark.parametrize("mode", ["beside", "include"])
def test_killed_between_any_two_steps_it_is_completed(box: Box, mode: str) -> None:
    """Their hook runs once at every instant; installed again all is as it should be, uninstalled as it was."""
    box.cwd = box.init()
    where = ".git/hooks" if mode == "beside" else ".githooks"
    script(box.cwd / where / "pre-commit", "echo theirs >>$HOME/log")
    if mode == "include":
        box.done("git", "config", "core.hooksPath", where)
    bare = _hooks(box.cwd)
    act(box, "install")
    whole = _hooks(box.cwd)
    act(box, "uninstall")
    assert _hooks(box.cwd) == bare
    steps = 0
    for step in count(1, STRIDE):
        installing = _cut(box, "install", step)
        _theirs_runs_once(box)
        act(box, "install")
        assert _hooks(box.cwd) == whole, step
        uninstalling = _cut(box, "uninstall", step)
        _theirs_runs_once(box)
        act(box, "uninstall")
        assert _hooks(box.cwd) == bare, step
        steps += installing + uninstalling
        if not installing and not uninstalling:
            break
    assert steps > 2
