"""Whether a hook before a commit is at work in a checkout, by what runs there."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from synapse_watch import attempt
from tests.box import Box
from tests.hooking import script


@contextmanager
def _commit(box: Box, root: Path, hook: str) -> Iterator[None]:
    """While ``hook`` runs in a commit at ``root``."""
    script(root / ".git/hooks" / hook, "cd / && touch $HOME/begun && while [ -e $HOME/begun ]; do sleep 0.02; done")
    box.write("docs/guide.md", f"for {hook}\n", cwd=root)
    with subprocess.Popen(["git", "commit", "-qam", "x"], cwd=root, env=box.env) as running:
        while not (box.home / "begun").exists():
            time.sleep(0.01)
        yield
        (box.home / "begun").unlink()
    assert running.returncode == 0


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="there is no /proc")
def test_a_commit_that_waits_for_its_first_hook_is_under_way(box: Box, repo: Path) -> None:
    """In that checkout and in what it lies in; not beside it, and not while another hook runs."""
    beside = repo.with_name(repo.name + "-2")
    beside.mkdir()
    link = repo.with_name("link")
    link.symlink_to(repo)
    with _commit(box, repo, "pre-commit"):
        under = [attempt.under_way(str(place)) for place in (repo, link, repo.parent, beside)]
        with subprocess.Popen(["sh", "-c", "sleep 60; :", "pre-commit"], cwd=beside) as other:
            by_git = attempt.under_way(str(beside))
            other.kill()
    assert (under, by_git) == ([True, True, True, False], False)
    (repo / ".git/hooks/pre-commit").unlink()
    with _commit(box, repo, "post-commit"):
        assert not attempt.under_way(str(repo))
