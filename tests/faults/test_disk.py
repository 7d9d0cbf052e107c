"""Every write and sync of a run fails once, for good, for want of space, or is the last thing the process does."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.faults import child, mutations, tree
from tests.faults.scale import LONG

STRACE = shutil.which("strace") or ""
CALLS = ("pwrite64", "fdatasync", "fsync", "ftruncate")
MODULE = "tests.faults.session"
pytestmark = pytest.mark.skipif(not STRACE, reason="strace is not installed")


class Fault(NamedTuple):
    """The ``nth`` time a thread makes ``call``; with ``+`` in ``kind``, from then on."""

    call: str
    nth: int
    kind: str

    def injection(self) -> str:
        what = "signal=KILL" if self.kind == "KILL" else f"error={self.kind.rstrip('+')}"
        return f"inject={self.call}:{what}:when={self.nth}{'+' if '+' in self.kind else ''}"


def traced(directory: Path, root: Path, extra: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """A run of the script with its calls logged to ``DIRECTORY.log``."""
    directory.mkdir()
    calls = ",".join(CALLS)
    command = [STRACE, "-f", "--seccomp-bpf", "-qq", "-o", f"{directory}.log", "-e", f"trace={calls}"]
    command += [part for one in extra for part in ("-e", one)]
    command += [sys.executable, "-m", MODULE, "run", str(directory)]
    where = child.environment(root, directory)
    return subprocess.run(command, cwd=root, env=where, capture_output=True, text=True, timeout=60, check=False)


def faults(log: str) -> Iterator[Fault]:
    """One of each kind at every position that a thread of a run without faults reaches."""
    reached: Counter[tuple[str, str]] = Counter()
    for line in log.splitlines():
        thread, _, rest = line.partition(" ")
        reached[thread, rest.strip().split("(")[0]] += 1
    for call in CALLS:
        most = max((times for (_, name), times in reached.items() if name == call), default=0)
        for nth in range(1, most + 1):
            for kind in ("EIO", "EIO+", "ENOSPC", "ENOSPC+", "KILL"):
                yield Fault(call, nth, kind)


def suffered(fault: Fault, directory: Path, root: Path = tree.ROOT) -> list[str]:
    """What is wrong after a run with ``fault`` and a restart without."""
    ended = traced(directory, root, [fault.injection()])
    if ended.returncode not in (0, 3, -9, 137):
        return [f"{fault}: ended with {ended.returncode}: {ended.stderr[-600:]}"]
    command = [sys.executable, "-m", MODULE, "check", str(directory)]
    where = child.environment(root, directory)
    checked = subprocess.run(
        command, cwd=root, env=where, input=ended.stdout, capture_output=True, text=True, timeout=60, check=False
    )
    if checked.returncode != 0:
        return [f"{fault}: no restart: {checked.stderr.strip()[-600:]}"]
    return [f"{fault}: {finding}" for finding in json.loads(checked.stdout)["findings"]]


def all_faults(tmp_path: Path) -> list[Fault]:
    clean = traced(tmp_path / "clean", tree.ROOT)
    answers = [json.loads(line) for line in clean.stdout.splitlines()]
    assert len(answers) == 8 and all(isinstance(said, int) for _, said in answers), clean.stderr
    return list(faults((tmp_path / "clean.log").read_text()))


def test_a_fault_at_any_write_or_sync_loses_nothing_and_answers_unknown(tmp_path: Path) -> None:
    """503, then what the disk says; granting again within two seconds of a restart."""
    chosen = all_faults(tmp_path)
    assert len(chosen) > 150
    if not LONG:
        chosen = random.Random(3).sample(chosen, 24)
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda one: suffered(one[1], tmp_path / str(one[0])), enumerate(chosen))
    assert [finding for findings in found for finding in findings] == []


def test_a_hub_that_goes_on_after_an_error_is_caught(tmp_path: Path) -> None:
    """It acknowledges what the disk never took."""
    with tree.copy(mutations.named("a failed append is a grant all the same")) as root:
        syncs = [Fault("fdatasync", nth, "EIO") for nth in (4, 5, 6)]
        found = [suffered(fault, tmp_path / str(fault.nth), root) for fault in syncs]
    assert any(found)
