"""Installing into a configuration, killed at any point: what its owner wrote is there, and comes back to the byte."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults import scale, tree

# Acts again and again, each time killed some lines later in the code that does it; then takes all out again.
VICTIM = """
import json, os, shutil, signal, sys
from synapse_hooks.setup import whole
from synapse_hooks.tools import configuration, launcher
from synapse_hooks.tools.configuration import Configuration
scratch, act, name, before, step = sys.argv[1:]
env = {"HOME": scratch + "/home"}
project = scratch + "/project"

def trace(frame, event, argument):
    global left
    if frame.f_code.co_filename not in (configuration.__file__, whole.__file__, launcher.__file__):
        return None
    if event == "line":
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
    return trace

def found(top):
    return sorted(os.path.join(where, name) for where, _, names in os.walk(top) for name in names)

def content(path):
    return open(path, newline="").read() if os.path.lexists(path) else None

last, status = 0, 1
while status:
    last += int(step)
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(scratch + "/home")
    path = project + "/.codex/" + name
    made = Configuration("codex", path, env)
    if before:
        os.makedirs(os.path.dirname(path))
        open(path, "w", newline="").write(before)
    if act == "uninstall":
        made.install()
    child = os.fork()
    if not child:
        left = last
        sys.settrace(trace)
        getattr(made, act)()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    between = content(path)
    state = made.state()[0]
    if last % 4 in (0, 1):
        made.install()
    made.uninstall()
    made = os.path.isdir(project)
    line = {"made": made, "killed": bool(status), "state": state, "between": between, "after": content(path)}
    print(json.dumps(line | {"left": found(project) + found(env["HOME"] + "/.local/share/synapse-git")}))
"""
TEXTS = {
    "hooks.json": '{\r\n\t"a": 1 // mine\r\n}\r\n',
    "config.toml": '[[hooks.Stop]] # mine\n[[hooks.Stop.hooks]]\ncommand = "x"\n',
}
# Lines from one kill to the next.
STEP = scale.times(13, 1)


@pytest.mark.parametrize("before", [True, False], ids=["theirs", "none"])
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("act", ["install", "uninstall"])
def test_a_kill_at_any_line_leaves_what_was_there(act: str, name: str, before: bool, tmp_path: Path) -> None:
    """In between the file is whole, with our entries or without; afterwards it is as it was, and no draft is left."""
    text = TEXTS[name] if before else ""
    ended = subprocess.run(
        [sys.executable, "-S", "-c", VICTIM, str(tmp_path / "s"), act, name, text, str(STEP)],
        env={"PYTHONPATH": tree.python_path()},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    lives = [json.loads(line) for line in ended.stdout.splitlines()]
    for life in lives:
        assert life["state"] in ("installed", "missing", "outdated"), life
        assert life["after"] == (text or None), life
        left = [path for path in life["left"] if "/agents/" not in path]
        assert life["made"] == before, life
        assert left == ([str(tmp_path / f"s/project/.codex/{name}")] if before else []), life
    assert len(lives) > 40 // STEP and not lives[-1]["killed"]
    assert {life["between"] == (text or None) for life in lives} == {True, False}
