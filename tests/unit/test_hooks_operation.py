"""Which operation a hook interrupts, and how its author gets on, told by processes and what Git leaves in files."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from synapse_hooks import operation, process


@contextmanager
def _git(*words: str) -> Iterator[tuple[int, int]]:
    """The pids of a process that is called ``git WORDS`` and of one that it has started."""
    script = "sleep 60 & echo $!; read end; kill $!"
    command = ["git", "-c", script, *words]
    with subprocess.Popen(command, executable="/bin/sh", stdin=-1, stdout=-1, text=True) as running:
        assert running.stdin and running.stdout
        yield running.pid, int(running.stdout.readline())
        running.stdin.write("\n")


def test_who_has_started_git_is_known(tmp_path: Path) -> None:
    """A step of that command, and of no other; what Git did not start serves nothing."""
    with _git("rebase", "--continue") as (pid, child):
        assert process.serves(child, "rebase", os.environ)
        assert not process.serves(child, "am", os.environ)
        assert not process.serves(pid, "rebase", os.environ)


@pytest.mark.parametrize(
    ("done", "again"),
    [
        ("pick 1 a\nsquash 2 b\n", "git commit --amend --no-edit && git rebase --continue"),
        ("f 2 b\n\n", "git commit --amend --no-edit && git rebase --continue"),
        ("squash 1 a\npick 2 b\n", "git commit && git rebase --continue"),
        ("fix 1 a", "git commit && git rebase --continue"),
        (None, "git commit && git rebase --continue"),
    ],
)
def test_a_step_that_joins_another_goes_on_as_it_was_begun(tmp_path: Path, done: str | None, again: str) -> None:
    """By amending, whatever was done before it."""
    (tmp_path / "rebase-merge").mkdir()
    if done is not None:
        (tmp_path / "rebase-merge/done").write_text(done)
    with _git("rebase", "main") as (pid, _):
        found = operation.under_way(str(tmp_path), "prepare-commit-msg", pid, os.environ)
    assert (found.name, found.way_out, found.again) == ("rebase", "git rebase --abort", again)
