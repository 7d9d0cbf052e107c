"""Clocks that are set, machines that sleep and start again: no lease ends early, none more than a second late."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from synapse_hub import clock
from synapse_hub.clock import LeaseClock, open_clock
from synapse_hub.core.outcome import Refusal
from synapse_hub.hub import Hub
from synapse_hub.journal.journal import Journal
from tests.faults.scale import LONG, times
from tests.faults.served import Served, ask
from tests.hub.desk import take

HOUR, DAY = 3600.0, 86_400.0
SHIFTS = (HOUR, -HOUR, DAY, -DAY)


class Machine:
    """True time, and what the clocks of a machine make of it."""

    def __init__(self) -> None:
        self.true = 1_800_000_000.0
        self.shift = 0.0
        self.booted = self.true - 5000.0
        self.boots = 1

    def wall(self) -> float:
        return self.true + self.shift

    def boot_seconds(self) -> float:
        return self.true - self.booted

    def boot_id(self) -> str:
        return f"boot {self.boots}"


class Bench:
    """A hub on a machine that things happen to."""

    def __init__(self, directory: Path, machine: Machine) -> None:
        self.directory = directory
        self.machine = machine
        self.hub = self._started()

    def _started(self) -> Hub:
        log = Journal(str(self.directory))
        state = log.replay()
        hub = Hub(log, open_clock(str(self.directory), state.last_at), state=state)
        hub.start()
        return hub

    def happen(self, what: str, seconds: float, chance: random.Random) -> None:
        """``seconds`` pass in one of the ways in which they can."""
        machine = self.machine
        match what:
            case "set":
                machine.shift += chance.choice(SHIFTS)
            case "restart":
                self.hub.stop()
                self.hub = self._started()
            case "reboot":
                # The wall clock is right after a boot; what it was set to before is nobody's to know.
                self.hub.stop()
                machine.shift = 0.0
                machine.boots += 1
                machine.true += seconds
                machine.booted = machine.true - 20.0
                self.hub = self._started()
                return
        # A suspended machine or a paused process: time passes, and nobody looked.
        machine.true += seconds

    def refused(self, agent: str, number: int) -> bool:
        outcome = self.hub.transact(take(f"probe {number}", agent, ("src",), ttl_s=30.0)).outcome
        return isinstance(outcome, Refusal)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Its clocks are the ones that the hub reads."""
    made = Machine()
    monkeypatch.setattr(clock, "boot_seconds", made.boot_seconds)
    monkeypatch.setattr(clock, "boot_id", made.boot_id)
    monkeypatch.setattr(time, "time", made.wall)
    return made


def story(directory: Path, machine: Machine, seed: int) -> str:
    """One lease, with something happening a few times before and at its end; what is wrong with how it ended."""
    chance = random.Random(seed)
    directory.mkdir()
    machine.shift = 0.0
    bench = Bench(directory, machine)
    try:
        ttl = chance.choice([30.0, 600.0, DAY])
        bench.hub.transact(take("lease", "ana", ("src",), ttl_s=ttl))
        end = machine.true + ttl
        told = []
        for _ in range(chance.randrange(1, 5)):
            what = chance.choice(["set", "restart", "reboot", "suspend"])
            told.append(what)
            bench.happen(what, (end - machine.true) * chance.uniform(0, 0.6), chance)
            if machine.true < end - 0.5 and not bench.refused("ben", 0):
                return f"{seed} {told}: over {end - machine.true:.0f} s early"
        overslept = chance.choice([1.0, 1.0, 3 * ttl])
        bench.happen(chance.choice(["set", "suspend"]), end - machine.true + overslept, chance)
        return f"{seed} {told}: still live {overslept:.0f} s late" if bench.refused("ben", 1) else ""
    finally:
        bench.hub.stop()


def test_no_lease_ends_early_or_late(tmp_path: Path, machine: Machine) -> None:
    """Whatever is done to the clocks."""
    found = [story(tmp_path / str(seed), machine, seed) for seed in range(times(100, 2000))]
    assert [one for one in found if one] == []


def test_leases_on_the_wall_clock_are_caught(tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """They end with the hour that somebody set."""
    monkeypatch.setattr(LeaseClock, "now", lambda _: machine.wall())
    found = [story(tmp_path / str(seed), machine, seed) for seed in range(40)]
    assert any("early" in one for one in found) and any("late" in one for one in found)


def _in_boot_time(seconds: int) -> list[str]:
    """A command's beginning that puts it ``seconds`` further into the machine's life."""
    return [shutil.which("unshare") or "unshare", "-T", "--boottime", str(seconds), "--fork", "--kill-child"]


def _may_unshare() -> bool:
    if sys.platform != "linux":
        return False
    try:
        asked = [*_in_boot_time(1), sys.executable, "-c", ""]
        return subprocess.run(asked, capture_output=True, timeout=20, check=False).returncode == 0
    except OSError:
        return False


CLAIM: dict[str, Any] = {"task_id": "t1", "agent": "ana", "worktree": "wt:1", "paths": ["a"], "ttl_s": 3600}


@pytest.mark.skipif(not _may_unshare(), reason="time namespaces cannot be made here")
@pytest.mark.parametrize(("slept", "reason"), [(1800, "SCOPE_CONFLICT"), (3601, "")])
def test_a_machine_that_slept_lets_leases_run_out(tmp_path: Path, slept: int, reason: str) -> None:
    """By the kernel's own clock, which a time namespace moves on as a suspend does."""
    with Served(tmp_path) as hub:
        with hub.line(10.0) as line:
            assert ask(line, "/v2/claim", CLAIM)["http"] == 200
    with Served(tmp_path, before=_in_boot_time(slept)) as hub:
        with hub.line(10.0) as line:
            assert ask(line, "/v2/claim", CLAIM | {"task_id": "t2", "agent": "ben"}).get("reason", "") == reason


@pytest.mark.skipif(not LONG, reason="waits for real; run by nox -s faults")
def test_a_process_that_was_paused_lets_leases_run_out(tmp_path: Path) -> None:
    """SIGSTOP for three times the lease: the first answer after it knows."""
    with Served(tmp_path) as hub:
        with hub.line(10.0) as line:
            assert ask(line, "/v2/claim", CLAIM | {"ttl_s": 30})["http"] == 200
            assert ask(line, "/v2/claim", CLAIM | {"task_id": "t2", "agent": "ben"})["reason"] == "SCOPE_CONFLICT"
        hub.signal(signal.SIGSTOP)
        time.sleep(90)
        hub.signal(signal.SIGCONT)
        with hub.line(10.0) as line:
            assert ask(line, "/v2/claim", CLAIM | {"task_id": "t2", "agent": "ben"})["http"] == 200
