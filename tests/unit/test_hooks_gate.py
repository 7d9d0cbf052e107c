"""What becomes of a change that is refused, or that nobody can judge."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from synapse_git import identity
from synapse_git.checkout import Checkout
from synapse_git.errors import HubUnreachable
from synapse_hooks import gate, operation, process, refusal
from synapse_hooks.verdict import Change


@contextmanager
def hanging_up(path: Path) -> Iterator[list[str]]:
    """Somebody listens at ``path`` and hangs up on whoever comes; the requests that came."""
    came: list[str] = []
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    path.chmod(0o600)
    listener.listen()

    def serve() -> None:
        while True:
            try:
                line, _ = listener.accept()
            except OSError:
                return
            with line:
                came.append(line.recv(65536).decode().partition(" HTTP")[0])

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield came
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        listener.close()


def test_whoever_asked_in_vain_is_not_told_of_the_override(tmp_path: Path) -> None:
    """It waits in a file, without a second wait for the same silence."""
    here = Checkout(str(tmp_path), str(tmp_path), str(tmp_path), {})
    env = {
        "HOME": str(tmp_path),
        "SYNAPSE_HUB": str(tmp_path / "s"),
        "SYNAPSE_OVERRIDE": "it burns",
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    change = Change("ana", "n", "wt:1", "commit", b"a\0", b"a\0")
    with hanging_up(tmp_path / "s") as came:
        assert gate.objection(change, None, env, here) is None
    assert set(came) == {"POST /v2/guard"}
    (left,) = (tmp_path / "state/synapse-git/overrides").iterdir()
    assert json.loads(left.read_text())["reason_text"] == "it burns"


def test_an_operation_is_let_through_once_and_another_for_the_same_reason_once_more(tmp_path: Path) -> None:
    """Later hooks of one Git process add what it has not been let through with, and nothing else."""
    here = Checkout(str(tmp_path), str(tmp_path), str(tmp_path), {})
    env = {"HOME": str(tmp_path), "SYNAPSE_HUB": str(tmp_path / "s"), "SYNAPSE_OVERRIDE": "it burns"}
    waiting = tmp_path / ".local/state/synapse-git/overrides"

    def pass_through(parent: int, paths: bytes) -> int:
        assert gate.objection(Change("ana", "n", "wt:1", "commit", paths, paths), None, env, here, parent) is None
        return len(list(waiting.iterdir()))

    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        own = os.getpid()
        counts = [pass_through(own, paths) for paths in (b"a\0b\0", b"a\0", b"a\0c\0", b"a\0b\0c\0")]
        assert counts == [1, 1, 2, 2]
        assert pass_through(other.pid, b"a\0") == 3
        other.communicate(b"\n")


def test_whose_hooks_a_tool_runs_is_told_through_the_tool(tmp_path: Path) -> None:
    """A Git process is found above those that it started; where there is none, a process stands for itself."""
    git = tmp_path / "git"
    git.symlink_to(sys.executable)
    inner = "import os; print(os.getpid(), os.getppid()); input()"
    outer = f"import subprocess, sys; subprocess.run([{sys.executable!r}, '-c', {inner!r}])"
    with subprocess.Popen([git, "-c", outer], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as made:
        assert made.stdout
        tool, above = map(int, made.stdout.readline().split())
        assert (process.of_git(tool, {}), process.of_git(above, {}), above) == (made.pid, made.pid, made.pid)
        made.communicate(b"\n")
    assert process.of_git(os.getpid(), {}) in (os.getpid(), process.of_git(os.getppid(), {}))


@pytest.mark.parametrize("mark", identity.AGENTS)
def test_an_agent_is_not_told_how_to_override(mark: str) -> None:
    """That is for people to ask for: an agent hears whom to ask, a person what to type, once."""
    around = refusal.Circumstances(operation.Operation("commit", "", "git commit …"), b"a\0", b"a\0")
    nowhere = {"HOME": "/nowhere"}
    persons, agents, again = (
        refusal.denied({"reason": "SCOPE_CONFLICT"}, around, env)
        + refusal.unknown(HubUnreachable("it hangs"), around, env)
        for env in (nowhere, nowhere | {mark: "1"}, nowhere | {"SYNAPSE_OVERRIDE": "it burns"})
    )
    assert persons.count('on record:  SYNAPSE_OVERRIDE="why" git commit …') == 2
    assert "SYNAPSE_OVERRIDE" not in agents and agents.count("the person you work for") == 2
    assert "on record" not in again
