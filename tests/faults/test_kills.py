"""kill -9 of the writer at any moment loses nothing that was acknowledged and grants nothing twice."""

from __future__ import annotations

from pathlib import Path

from tests.faults import child, mutations, tree
from tests.faults.scale import times


def test_a_killed_writer_loses_nothing_and_repeats_no_epoch(tmp_path: Path) -> None:
    """Every life finds what the lives before it acknowledged."""
    found = child.report("tests.faults.lives", tmp_path, times(150, 3000), 7, timeout_s=600)
    assert found["findings"] == [] and found["acknowledged"] > found["kills"]


def test_a_writer_that_answers_before_the_commit_is_caught(tmp_path: Path) -> None:
    """An acknowledgement that was not durable is missed in a later life."""
    # A kill hits the moment between answer and commit by chance alone.
    with tree.copy(mutations.named("answered before the commit")) as root:
        assert any(_lost(root, tmp_path / str(seed), seed) for seed in range(7, 12))


def _lost(root: Path, directory: Path, seed: int) -> bool:
    directory.mkdir()
    found = child.report("tests.faults.lives", directory, 40, seed, root=root)
    return any("is lost" in finding or "was granted" in finding for finding in found["findings"])
