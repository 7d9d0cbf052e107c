"""A hub is one process on a machine: started by whoever comes first, found by everyone, and worth a kill -9."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from synapse_git import address
from synapse_git.errors import HubUnreachable, SynapseError
from synapse_git.exchange import Line
from synapse_git.starter import connect
from tests.box import Box

JSON = (("Content-Type", "application/json"),)
CLIENT = """
import sys, time, os
from synapse_git.starter import connect
end = time.monotonic() + 30
with connect(os.environ, deadline=end, start_deadline=end) as line:
    sys.stdout.buffer.write(line.ask("GET", "/v2/health").body)
"""


def ask(
    box: Box, method: str, target: str, body: dict[str, Any] | None = None, seconds: float = 15.0
) -> dict[str, Any]:
    """One exchange with the box's hub, which is started if need be."""
    end = time.monotonic() + seconds
    with connect(box.env, deadline=end, start_deadline=end) as line:
        answer = line.ask(method, target, JSON, json.dumps(body).encode() if body is not None else b"")
    return {**json.loads(answer.body), "http": answer.status}


def claim(box: Box, task: str, agent: str = "ana", **more: Any) -> dict[str, Any]:
    """Claim a path named after the task."""
    return ask(box, "POST", "/v2/claim", {"task_id": task, "agent": agent, "paths": [task], "worktree": "wt:x"} | more)


def kill(box: Box, number: signal.Signals = signal.SIGKILL) -> None:
    """Signal the box's hub and wait until nobody answers."""
    pid = box.hub_pid()
    assert pid
    os.kill(pid, number)
    while box.hub_pid() == pid:
        time.sleep(0.01)


def test_a_hundred_first_clients_start_one_hub_and_are_all_served(box: Box) -> None:
    """However many race, one process grants and nobody is turned away."""
    command = [sys.executable, "-c", CLIENT]
    clients = [
        subprocess.Popen(command, env=box.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(100)
    ]
    answers = []
    for client in clients:
        out, err = client.communicate(timeout=60)
        assert client.returncode == 0, err.decode()
        answers.append(json.loads(out))
    assert {answer["pid"] for answer in answers} == {box.hub_pid()}


def test_after_kill_9_the_next_client_finds_every_claim(box: Box) -> None:
    """A dead hub leaves a socket file and a journal; both are taken over."""
    first = claim(box, "t1")
    kill(box)
    again = claim(box, "t1", agent="ben")
    assert again["reason"] == "LEASE_LIVE" and again["conflicts"][0]["owner"] == "ana"
    assert claim(box, "t2")["epoch"] > first["epoch"]


def test_sigterm_folds_the_journal_and_takes_the_socket_away(box: Box) -> None:
    """A stopped hub leaves one file to copy and nothing to stumble over."""
    claim(box, "t1")
    path = ask(box, "GET", "/v2/health")["socket"]
    kill(box, signal.SIGTERM)
    wal = box.state / "journal.db-wal"
    for _ in range(200):
        if not os.path.exists(path) and not wal.exists():
            break
        time.sleep(0.02)
    assert not os.path.exists(path) and not wal.exists()


def test_the_socket_is_0600_and_its_directories_0700(box: Box) -> None:
    """Other users have no way in."""
    path = Path(ask(box, "GET", "/v2/health")["socket"])
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700 and box.state.stat().st_mode & 0o777 == 0o700
    assert {file.name: file.stat().st_mode & 0o077 for file in box.state.iterdir() if file.stat().st_mode & 0o077} == {}


def test_another_runtime_directory_finds_the_same_hub(box: Box, tmp_path: Path) -> None:
    """A missing or different XDG_RUNTIME_DIR changes nothing, before and after a restart."""
    first = ask(box, "GET", "/v2/health")
    del box.env["XDG_RUNTIME_DIR"]
    assert ask(box, "GET", "/v2/health")["pid"] == first["pid"]
    kill(box)
    other = tmp_path / "run"
    other.mkdir(mode=0o700)
    box.env["XDG_RUNTIME_DIR"] = str(other)
    assert ask(box, "GET", "/v2/health")["socket"] == first["socket"]


def test_a_long_home_gets_a_short_socket(box: Box, tmp_path: Path) -> None:
    """A path over the limit of sockaddr_un is replaced by a private short one."""
    home = tmp_path / ("h" * 120)
    home.mkdir()
    box.env |= {"HOME": str(home), "XDG_STATE_HOME": ""}
    del box.env["XDG_RUNTIME_DIR"]
    box.state = home / ".local/state/synapse-git"
    path = ask(box, "GET", "/v2/health")["socket"]
    assert len(path) <= 103
    kill(box, signal.SIGTERM)
    shutil.rmtree(os.path.dirname(path), ignore_errors=True)


def test_without_home_the_state_directory_is_still_found(box: Box) -> None:
    """HOME unset is no reason to fail where XDG_STATE_HOME or the password database tells."""
    del box.env["HOME"]
    assert ask(box, "GET", "/v2/health")["granting"]


def test_a_dead_socket_and_a_false_address_are_replaced(box: Box) -> None:
    """What a crash or a curious user left behind does not keep a hub from starting."""
    box.state.mkdir(parents=True, mode=0o700)
    stale = Path(address.candidates(str(box.state), box.env)[0])
    stale.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(stale))
        os.chmod(stale, 0o600)
    (box.state / "address").write_text("/proc/nowhere/hub.sock\n")
    assert ask(box, "GET", "/v2/health")["socket"] == str(stale)


@pytest.mark.parametrize("damage", [b"a\0b", b"", b"relative/path\n", b"\xff" * 5000])
def test_a_damaged_address_file_is_written_anew(box: Box, damage: bytes) -> None:
    """What cannot be a path is no address."""
    first = ask(box, "GET", "/v2/health")
    kill(box, signal.SIGTERM)
    (box.state / "address").write_bytes(damage)
    assert ask(box, "GET", "/v2/health")["socket"] == first["socket"]


def test_a_socket_that_another_hub_serves_is_left_alone(box: Box, tmp_path: Path) -> None:
    """Two hubs may share a runtime directory, and even a recorded address: each keeps a socket of its own."""
    first = ask(box, "GET", "/v2/health")
    other = {**box.env, "XDG_STATE_HOME": str(tmp_path / "other")}
    (tmp_path / "other/synapse-git").mkdir(parents=True, mode=0o700)
    shutil.copy(box.state / "address", tmp_path / "other/synapse-git/address")
    with subprocess.Popen([sys.executable, "-I", "-m", "synapse_hub", "run"], env=other) as second:
        recorded = tmp_path / "other/synapse-git/address"
        patience = time.monotonic() + 20
        while recorded.read_text().strip() == first["socket"] and time.monotonic() < patience:
            time.sleep(0.02)
        assert recorded.read_text().strip() != first["socket"]
        assert ask(box, "GET", "/v2/health")["hub_id"] == first["hub_id"]
        second.terminate()


def test_a_file_where_the_socket_belongs_is_left_alone(box: Box) -> None:
    """Nothing of a user's is deleted: another place is taken."""
    taken = Path(address.candidates(str(box.state), box.env)[0])
    taken.parent.mkdir(mode=0o700)
    taken.write_text("precious")
    assert ask(box, "GET", "/v2/health")["socket"] != str(taken)
    assert taken.read_text() == "precious"


def test_a_second_hub_on_one_journal_is_impossible(box: Box) -> None:
    """The lock refuses it, and says so."""
    ask(box, "GET", "/v2/health")
    second = box.run(sys.executable, "-I", "-m", "synapse_hub", "run", timeout_s=30)
    assert second.code == 3 and "another hub runs" in second.err


def test_a_hub_whose_socket_was_removed_makes_way(box: Box) -> None:
    """A runtime directory may be cleaned at logout; the next client gets a hub all the same, and no claim is lost."""
    claim(box, "t1")
    os.unlink(ask(box, "GET", "/v2/health")["socket"])
    assert claim(box, "t1", agent="ben")["reason"] == "LEASE_LIVE"


def test_a_hub_whose_address_was_lost_writes_it_down_again(box: Box) -> None:
    """Nobody finds it meanwhile, and nobody can start another one: whoever waits is served by the one that runs."""
    claim(box, "t1")
    first = ask(box, "GET", "/v2/health")
    (box.state / "address").write_bytes(b"")
    assert claim(box, "t1", agent="ben")["reason"] == "LEASE_LIVE"
    assert ask(box, "GET", "/v2/health")["pid"] == first["pid"]


def test_a_hub_whose_state_was_removed_ends(box: Box) -> None:
    """Another one starts on what stands in its place, and must not be led to the socket of the old."""
    first = ask(box, "GET", "/v2/health")
    shutil.rmtree(box.state)
    assert ask(box, "GET", "/v2/health")["pid"] != first["pid"]
    gone = time.monotonic() + 10
    while Path(first["socket"]).exists() and time.monotonic() < gone:
        time.sleep(0.05)
    assert not Path(first["socket"]).exists()


def test_a_broken_journal_gives_a_clear_error_and_no_grant(box: Box) -> None:
    """Fail closed: no hub rather than one that forgot."""
    claim(box, "t1")
    box.stop_hub()
    os.unlink(box.state / "journal.db")
    with pytest.raises(HubUnreachable, match=r"the hub ended at once: [^:]*journal\.db is gone"):
        claim(box, "t1", agent="ben")


def test_twenty_kills_under_load_lose_nothing_and_reuse_no_epoch(box: Box) -> None:
    """Every acknowledged grant is there afterwards, and no epoch was given twice."""
    acknowledged: dict[str, dict[str, Any]] = {}
    stop = threading.Event()

    def work(name: str) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            task = f"{name}-{number % 20}"
            try:
                answer = claim(box, task, agent=name)
            except (SynapseError, OSError):
                continue
            if answer["http"] == 200:
                acknowledged[f"{task} {answer['epoch']}"] = answer

    workers = [threading.Thread(target=work, args=(f"w{number}",)) for number in range(4)]
    chance = random.Random(7)
    ask(box, "GET", "/v2/health")
    for worker in workers:
        worker.start()
    for _ in range(20):
        time.sleep(chance.uniform(0.02, 0.15))
        if box.hub_pid():
            kill(box)
        ask(box, "GET", "/v2/health", seconds=30)
    stop.set()
    for worker in workers:
        worker.join(60)
    epochs = [answer["epoch"] for answer in acknowledged.values()]
    assert len(epochs) > 50 and len(set(epochs)) == len(epochs)
    latest: dict[str, int] = {}
    for answer in acknowledged.values():
        latest[answer["task_id"]] = max(latest.get(answer["task_id"], 0), answer["epoch"])
    live = {one["task_id"]: one["epoch"] for one in ask(box, "GET", "/v2/claims?limit=1000")["claims"]}
    # An unacknowledged renewal may have come later; an acknowledged one is never missing.
    assert {task for task, epoch in latest.items() if live.get(task, 0) < epoch} == set()


def test_an_idle_hub_uses_no_processor(box: Box) -> None:
    """Two rounds of looking after itself cost less than a hundredth of a second."""
    ask(box, "GET", "/v2/health")
    pid = box.hub_pid()
    time.sleep(0.5)
    before = os.times()
    used = [ticks(pid)]
    time.sleep(4.2)
    used.append(ticks(pid))
    assert before and used[1] - used[0] <= 2


def ticks(pid: int) -> int:
    """Clock ticks that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_the_client_refuses_a_socket_that_others_can_use(box: Box) -> None:
    """Mode and owner are checked before a byte is sent."""
    path = ask(box, "GET", "/v2/health")["socket"]
    os.chmod(path, 0o666)
    with pytest.raises(HubUnreachable, match="open to other users"):
        Line(path, time.monotonic() + 5)
