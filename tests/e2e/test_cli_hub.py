"""hub start, stop, status and run."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from tests.box import PROGRAMS, Box


def test_start_comes_back_when_the_hub_grants(box: Box) -> None:
    """Exit 0, also when it runs already, and it is the same hub then."""
    first = box.synapse("hub", "start", "--json").json()
    again = box.synapse("hub", "start", "--json").json()
    assert first["pid"] == again["pid"] == box.hub_pid()


def test_status_json_has_the_members_of_the_contract(box: Box) -> None:
    """socket, pid, version, hub_id, seq, journal; the socket and the journal are really there."""
    box.done("synapse-git", "hub", "start")
    found = box.synapse("hub", "status", "--json").json()
    assert set(found) == {"socket", "pid", "version", "hub_id", "seq", "journal"}
    assert Path(found["socket"]).is_socket()
    assert Path(found["journal"]).is_file()
    out = box.synapse("hub", "status").out
    assert f"pid {found['pid']}" in out
    assert found["socket"] in out


def test_status_starts_nothing(box: Box) -> None:
    """Without a hub: HUB_UNREACHABLE, exit 3, how to start one; and still none runs."""
    ended = box.synapse("hub", "status")
    assert ended.code == 3
    assert "HUB_UNREACHABLE" in ended.err
    assert "synapse-git hub start" in ended.err
    assert box.hub_pid() == 0
    assert box.synapse("hub", "status", "--json").json()["reason"] == "HUB_UNREACHABLE"


def test_stop_waits_until_the_hub_is_gone(box: Box) -> None:
    """Exit 0 with and without a hub; claims survive it."""
    assert box.synapse("hub", "stop").out == "no hub was running\n"
    box.cwd = box.init()
    box.done("synapse-git", "claim", "-t", "t", "src", agent="ana")
    pid = box.hub_pid()
    ended = box.synapse("hub", "stop")
    assert ended.code == 0
    assert f"pid {pid}" in ended.out
    assert box.hub_pid() == 0
    assert box.synapse("hub", "stop", "--json").json() == {"stopped": False, "pid": None}
    assert [claim["task_id"] for claim in box.synapse("status", "--json").json()["claims"]] == ["t"]


def test_run_is_the_hub_in_the_foreground(box: Box) -> None:
    """It serves, and ends cleanly on SIGTERM."""
    with subprocess.Popen(
        [PROGRAMS / "synapse-git", "hub", "run"], env=box.env, cwd=box.cwd, stderr=subprocess.PIPE
    ) as hub:
        patience = time.monotonic() + 10
        while not box.hub_pid() and time.monotonic() < patience:
            time.sleep(0.02)
        assert box.hub_pid() == hub.pid
        hub.send_signal(signal.SIGTERM)
        assert hub.wait(10) == 0


def test_a_configured_hub_is_used_and_never_started(box: Box) -> None:
    """SYNAPSE_HUB names the socket; where nobody answers, no hub is started in its stead."""
    elsewhere = {"SYNAPSE_HUB": str(box.home / "none.sock")}
    ended = box.synapse("status", env=elsewhere)
    assert ended.code == 3
    assert "SYNAPSE_HUB" in ended.err
    assert box.synapse("hub", "stop", env=elsewhere).code == 0
    box.done("synapse-git", "hub", "start")
    real = box.synapse("hub", "status", "--json").json()["socket"]
    assert box.synapse("status", env={"SYNAPSE_HUB": real}).code == 0


def test_stop_works_although_the_socket_is_open_to_others(box: Box) -> None:
    """A socket that clients must not use is mended by a restart, so stopping must work."""
    box.done("synapse-git", "hub", "start")
    found = box.synapse("hub", "status", "--json").json()
    Path(found["socket"]).chmod(0o666)
    ended = box.synapse("status")
    assert ended.code == 3
    assert "synapse-git hub stop" in ended.err
    assert box.synapse("hub", "stop").code == 0
    assert box.synapse("status").code == 0


def test_stop_ends_a_hub_that_hangs(box: Box) -> None:
    """A process behind the socket that never answers is found by the kernel's word, and ended."""
    box.state.mkdir(parents=True, mode=0o700)
    path = os.path.join(box.env["XDG_RUNTIME_DIR"], "hung.sock")
    (box.state / "address").write_text(path + "\n")
    child = os.fork()
    if child == 0:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        os.chmod(path, 0o600)
        listener.listen()
        signal.pause()
        os._exit(0)
    try:
        patience = time.monotonic() + 5
        while not os.path.exists(path) and time.monotonic() < patience:
            time.sleep(0.01)
        time.sleep(0.1)
        ended = box.synapse("hub", "stop")
        assert ended.code == 0
        assert f"pid {child}" in ended.out
    finally:
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
