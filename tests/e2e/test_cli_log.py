"""log: its newest part, what a terminal gets of it, and following it over restarts of the hub."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.box import PROGRAMS, Box

RENEWALS = 60


@pytest.fixture
def busy(box: Box) -> Box:
    """Ana took src under the task login and renewed it again and again."""
    box.cwd = box.init()
    box.done("synapse-git", "claim", "src", "-t", "login", agent="ana")
    script = f"for i in $(seq {RENEWALS}); do synapse-git renew -t login || exit 1; done"
    box.done("sh", "-c", script, agent="ana")
    return box


def test_limit_gives_the_newest_lines(busy: Box) -> None:
    """Lines, not events: what makes no line does not count. More than there is gives all there is."""
    everything = busy.synapse("log").out.splitlines()
    assert busy.synapse("log", "--limit", "3").out.splitlines() == everything[-3:]
    assert busy.synapse("log", "--limit", "100000").out.splitlines() == everything
    assert busy.synapse("log", "--limit", "0").out == ""
    assert busy.synapse("log", "--limit", "-1").code == 2


def test_limit_counts_events_in_documents(busy: Box) -> None:
    """The newest two of all, bookkeeping included."""
    everything = busy.synapse("log", "--json").json()["events"]
    assert busy.synapse("log", "--json", "--limit", "2").json()["events"] == everything[-2:]


def test_a_terminal_gets_the_newest_screenful(busy: Box) -> None:
    """A person did not ask for all of it; a pipe gets everything."""
    assert len(busy.synapse("log").out.splitlines()) > RENEWALS
    ours, theirs = pty.openpty()
    env = busy.env | {"TERM": "xterm"}
    with subprocess.Popen([PROGRAMS / "synapse-git", "log"], cwd=busy.cwd, env=env, stdout=theirs) as process:
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:
            pass  # how a terminal ends whose other side is closed
    os.close(ours)
    assert process.returncode == 0
    assert shown.count(b"\n") == 50


@contextmanager
def followed(box: Box, *words: str) -> Iterator[subprocess.Popen[str]]:
    """``log --follow --json`` while the block runs, for half a minute at most."""
    argv = [str(PROGRAMS / "synapse-git"), "log", "--follow", "--json", *words]
    with subprocess.Popen(
        argv, cwd=box.cwd, env=box.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        patience = threading.Timer(30, process.kill)
        patience.start()
        try:
            yield process
        finally:
            patience.cancel()
            process.kill()


def until_release(process: subprocess.Popen[str]) -> list[int]:
    """The numbers of the events up to the next release."""
    assert process.stdout
    numbers = []
    for line in process.stdout:
        event = json.loads(line)
        numbers.append(int(event["id"].partition(":")[2]))
        if event["kind"] == "claim_released":
            return numbers
    raise AssertionError("the stream ended")


def test_following_begins_with_the_newest(busy: Box) -> None:
    """``--limit 1 --follow``: the last event there is, then what comes."""
    present = busy.synapse("hub", "status", "--json").json()["seq"]
    with followed(busy, "--limit", "1") as process:
        assert process.stdout
        assert json.loads(process.stdout.readline())["id"].endswith(f":{present}")
        busy.done("synapse-git", "release", "-t", "login", agent="ana")
        assert until_release(process)[0] == present + 1


@pytest.mark.parametrize("way", ["stop", "kill"])
def test_following_goes_on_without_a_gap_over_a_restart(busy: Box, way: str) -> None:
    """The hub is stopped or killed; what happens after the next start follows at once, nothing twice, and it is not
    the follower that starts it."""
    present = busy.synapse("hub", "status", "--json").json()["seq"]
    with followed(busy) as process:
        assert process.stdout and process.stderr
        seen = [json.loads(process.stdout.readline())["id"].partition(":")[2] for _ in range(present)]
        assert seen == [str(number) for number in range(1, present + 1)]
        if way == "stop":
            busy.done("synapse-git", "hub", "stop")
        else:
            os.kill(busy.synapse("hub", "status", "--json").json()["pid"], 9)
        assert "went away" in process.stderr.readline()
        time.sleep(0.5)
        assert busy.synapse("hub", "status").code == 3
        busy.done("synapse-git", "claim", "docs", "-t", "more", agent="ana")
        busy.done("synapse-git", "release", "-t", "login", agent="ana")
        numbers = until_release(process)
        assert numbers == list(range(present + 1, present + 1 + len(numbers)))
