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
        try:
            yield
        finally:
            (box.home / "begun").unlink()
    assert running.returncode == 0


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="there is no /proc")
def test_a_commit_that_waits_for_its_first_hook_is_under_way(box: Box, repo: Path) -> None:
    """In that checkout and in what it lies in; not beside it, not while another hook runs, not for another program."""
    link = repo.with_name("link")
    link.symlink_to(repo)
    places = (repo, link, repo.parent, repo.with_name(repo.name[:2]), box.home)
    with _commit(box, repo, "pre-commit"):
        assert [attempt.under_way(str(place)) for place in places] == [True, True, True, False, False]
    (repo / ".git/hooks/pre-commit").unlink()
    with _commit(box, repo, "post-commit"):
        assert not attempt.under_way(str(repo))
    child = 'sh -c "echo; read end; :" pre-commit; :'
    with subprocess.Popen(["sh", "-c", child], cwd=repo, stdin=-1, stdout=-1) as other:
        assert other.stdin and other.stdout
        other.stdout.readline()
        assert not attempt.under_way(str(repo))
        other.stdin.close()
