"""How a refusal tells the way on without what is held, word for word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from synapse_hooks import omission, operation, refusal
from tests.box import Box

FREE = ["free", "many/free"]


@pytest.fixture
def staged(box: Box) -> Path:
    """A repository in which files are staged that others hold, in a directory and one by one, and two that are free."""
    box.cwd = box.init()
    for name in [*FREE, *(f"{place}/f{number:02}" for place in ("held/deep", "many") for number in range(30))]:
        box.write(name)
    box.done("git", "add", "-A")
    return box.cwd


def conflict(*paths: str, worktree: str = "wt:1") -> dict[str, Any]:
    """A claim in the way, of which the hub names the first paths."""
    return {"owner": "bob", "task_id": "t", "worktree": worktree, "paths": list(paths), "changed": list(paths)[:10]}


def advised(box: Box, *conflicts: dict[str, Any], index: str = "index", total: int = 0, unborn: bool = False) -> str:
    """What is said of all that is staged."""
    listed = box.done("git", "diff", "--cached", "--name-only", "-z").encode()
    around = refusal.Circumstances(
        operation.Operation("commit", "", "git commit …"), listed, listed, f"{box.cwd}/.git/{index}"
    )
    around.unborn = unborn
    return omission.advice(conflicts, total, around)


@pytest.mark.parametrize("worktree", ["wt:1", ""])
def test_a_directory_with_many_files_is_left_out_as_one(box: Box, staged: Path, worktree: str) -> None:
    """Whoever types what is said is left with all that is free, and nothing else."""
    said = advised(box, conflict("held", worktree=worktree), total=30)
    assert said == "Leave it out:  git restore --staged -- held"


@pytest.mark.parametrize("unborn", [False, True])
def test_many_files_that_are_held_one_by_one_are_left_out_at_once(box: Box, staged: Path, unborn: bool) -> None:
    """A list of them stands in a file, so that there is one command and no limit."""
    if unborn:
        box.done("git", "update-ref", "-d", "HEAD")
        box.done("git", "rm", "-rq", "--cached", "src", "docs")
    (staged / ".git/synapse").mkdir()
    said = advised(box, conflict("held"), conflict(*(f"many/f{number:02}" for number in range(30))), unborn=unborn)
    assert said.startswith("Leave it out:  git --literal-pathspecs ") and len(said) < 300
    box.done("sh", "-c", said.partition(":  ")[2])
    assert box.done("git", "diff", "--cached", "--name-only").splitlines() == FREE


def test_more_holders_than_a_refusal_names_are_not_hidden(box: Box, staged: Path) -> None:
    """What the hub did not list is counted."""
    said = advised(box, conflict("held/deep/f01"), total=3)
    assert said == "Leave it out:  git restore --staged -- held/deep/f01\n2 more are held: commit again to see them."


@pytest.mark.parametrize("index", ["index.lock", "next-index-7.lock"])
def test_of_a_commit_that_names_what_it_takes_the_free_ones_are_named(box: Box, staged: Path, index: str) -> None:
    """There is nothing to unstage: what can be committed is said, if there is anything."""
    said = advised(box, conflict("held"), conflict("many/f01", "many/f02"), index=index)
    assert said.endswith("git commit -- PATH…")
    said = advised(box, conflict("held"), conflict(*(f"many/f{number:02}" for number in range(30))), index=index)
    assert said == "Leave it out: name the paths to commit:  git commit -- free many/free"
    assert "nothing to commit without it" in advised(box, conflict(), index=index)


def test_where_all_is_held_nothing_is_said_to_be_left(box: Box, staged: Path) -> None:
    """The whole tree is claimed: nothing would be left to commit."""
    said = advised(box, conflict(), total=62)
    assert said == "Nothing else is staged.\nLeave it out:  git restore --staged -- ."
