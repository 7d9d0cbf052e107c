"""A newer program drains and replaces an older hub, and nothing that was acknowledged is lost by it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

from synapse_git import __version__
from tests.box import Box

OTHER_VERSION = """
import sys, synapse_git
synapse_git.__version__ = sys.argv[1]
from synapse_hub.__main__ import main
sys.exit(main(["run"]))
"""


def start(box: Box, version: str) -> int:
    """A hub that says it is of ``version``; its pid."""
    before = box.hub_pid()
    # Started in the background of a shell that ends: the hub is nobody's child, as in real life.
    script = 'exec >/dev/null 2>&1; "$0" -c "$1" "$2" &'
    subprocess.run(["sh", "-c", script, sys.executable, OTHER_VERSION, version], env=box.env, check=True)
    for _ in range(100):
        if box.hub_pid() not in (0, before):
            return box.hub_pid()
        time.sleep(0.02)
    raise AssertionError("the hub did not start")


def test_an_older_hub_makes_way_and_its_claims_stay(box: Box) -> None:
    """One line says so; the next command finds the new one, with everything."""
    box.cwd = box.init()
    old = start(box, "0.0.9")
    done = box.synapse("claim", "src", "-t", "login", agent="ana")
    assert done.code == 0 and "makes way" in done.err
    assert box.hub_pid() != old
    listed = box.synapse("status", "--json")
    assert listed.json()["claims"][0]["task_id"] == "login" and "makes way" not in listed.err
    assert box.hub_pid() not in (0, old)


def test_a_look_at_an_older_hub_is_answered_by_the_new_one(box: Box) -> None:
    """What was asked is asked again: it may be more than the older one knows."""
    old = start(box, "0.0.9")
    started = box.synapse("hub", "start", "--json")
    assert started.code == 0 and "makes way" in started.err
    assert (started.json()["version"], started.json()["pid"]) == (__version__, box.hub_pid())
    assert box.hub_pid() not in (0, old)


def test_hub_status_only_looks(box: Box) -> None:
    """It tells the version of an older hub, which goes on running."""
    old = start(box, "0.0.9")
    assert box.synapse("hub", "status", "--json").json()["version"] == "0.0.9"
    assert box.hub_pid() == old


@pytest.mark.parametrize("version", ["99.0", "not a version at all 1"])
def test_a_newer_hub_is_left_alone(box: Box, version: str) -> None:
    """As is one that this program cannot place."""
    box.cwd = box.init()
    pid = start(box, version)
    assert "makes way" not in box.synapse("claim", "src", agent="ana").err
    assert box.hub_pid() == pid


def test_a_hub_named_by_the_environment_is_left_alone(box: Box) -> None:
    """SYNAPSE_HUB is somebody else's business."""
    box.cwd = box.init()
    pid = start(box, "0.0.9")
    box.env["SYNAPSE_HUB"] = os.fsdecode((box.state / "address").read_bytes().strip())
    assert box.synapse("claim", "src", agent="ana").code == 0
    assert box.hub_pid() == pid


def test_swapping_versions_under_load_loses_nothing(box: Box) -> None:
    """Clients of the new version meet an old hub again and again; each acknowledged claim is there at the end."""
    box.cwd = box.init()
    granted: list[str] = []

    def work(name: str) -> None:
        for number in range(6):
            task = f"{name}-{number}"
            done = box.synapse("claim", f"{name}/{number}", "-t", task, agent=name)
            if done.code == 0:
                granted.append(task)

    start(box, "0.0.1")
    workers = [threading.Thread(target=work, args=(f"w{number}",)) for number in range(3)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        time.sleep(0.2)
        if box.hub_pid():
            box.stop_hub()
            try:
                start(box, "0.0.1")
            except AssertionError:
                continue  # a worker's own hub was quicker
    for worker in workers:
        worker.join()
    held = {claim["task_id"] for claim in box.synapse("status", "--json").json()["claims"]}
    assert len(granted) == 18 and set(granted) <= held
