"""The power goes at any moment: what was acknowledged is there, and the hub starts."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import mutations, power, tree
from tests.faults.scale import times

STRACE = shutil.which("strace") or ""
SHARES = 2
pytestmark = pytest.mark.skipif(not STRACE, reason="strace is not installed")


@pytest.fixture
def memory() -> Iterator[Path]:
    """A directory in memory where there is one: images are many and nobody keeps them."""
    shm = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="power-", dir=shm if shm.is_dir() else None) as made:
        yield Path(made)


def findings(tmp_path: Path, memory: Path, root: Path, images: int, seed: int) -> list[str]:
    before, steps = power.logged(tmp_path / "run", STRACE, root, 40)
    moments = list(power.cuts(before, steps))
    assert len(moments[-1].said) == 40 and len(moments) > 150
    assert {step.file for step in steps if step.kind == "sync"} == set(power.FILES)
    chance = random.Random(seed)
    found = []
    for _ in range(images):
        moment = chance.choice(moments)
        if wrong := power.judged(memory, power.image(moment, chance), moment.said):
            found.append(wrong)
    return found


@pytest.mark.parametrize("share", range(SHARES))
def test_a_power_cut_loses_nothing_acknowledged(tmp_path: Path, memory: Path, share: int) -> None:
    """Whatever part of the unsynced writes reached the disk."""
    assert findings(tmp_path, memory, tree.ROOT, times(2000, 50_000) // SHARES, share) == []


def test_a_hub_that_does_not_sync_is_caught(tmp_path: Path, memory: Path) -> None:
    """synchronous=NORMAL syncs the WAL at checkpoints only."""
    with tree.copy(mutations.named("synchronous=NORMAL")) as root:
        assert any("lost" in wrong or "acknowledged" in wrong for wrong in findings(tmp_path, memory, root, 150, 1))
