"""The id of a checkout, which all its claims hang on: kept twice, and never made anew because it cannot be read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from synapse_git import identity, record
from synapse_git.errors import CheckoutError

DAMAGED = [b"", b"0\n1 2\n/", b"\0" * 9000]


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    """A git dir that has an id."""
    made = tmp_path / "git"
    made.mkdir()
    record.ensure(str(made), "worktree")
    return made


def _copies(git_dir: Path) -> tuple[Path, Path]:
    return git_dir / "synapse/worktree", git_dir / "synapse.worktree"


@pytest.mark.parametrize("left", [b"", b"an", b"\xff\n", b"\n", b"\0\n", b"a" * 500 + b"\n"])
def test_a_default_name_that_cannot_be_read_is_nobody_else(git_dir: Path, left: bytes) -> None:
    """The other copy is read; with neither, nobody acts under another name, and the way out is said."""
    identity.set_default_agent(str(git_dir), "ana")
    copies = [git_dir / "synapse/agent", git_dir / "synapse.agent"]
    for lost in copies:
        lost.write_bytes(left)
        if lost is copies[0]:
            assert identity.who(None, {}, str(git_dir)) == "ana"
            lost.write_bytes(left)
    with pytest.raises(CheckoutError, match="install --agent NAME"):
        identity.who(None, {}, str(git_dir))
    assert identity.who(None, {"SYNAPSE_AGENT": "ben"}, str(git_dir)) == "ben"
    identity.forget_default_agent(str(git_dir))
    assert "@" in identity.who(None, {}, str(git_dir)) and not any(copy.exists() for copy in copies)


@pytest.mark.parametrize("left", [None, *DAMAGED])
@pytest.mark.parametrize("lost", [0, 1])
def test_an_id_survives_the_loss_of_either_copy(git_dir: Path, lost: int, left: bytes | None) -> None:
    """The other one is read, and both are whole again once something is claimed."""
    mine = record.lookup(str(git_dir), "worktree")
    if left is None:
        _copies(git_dir)[lost].unlink()
    else:
        _copies(git_dir)[lost].write_bytes(left)
    assert record.lookup(str(git_dir), "worktree") == mine != ""
    assert record.ensure(str(git_dir), "worktree") == mine
    first, second = _copies(git_dir)
    assert first.read_bytes() == second.read_bytes()


def test_a_copy_that_has_the_second_one_only_gets_an_id_of_its_own(git_dir: Path) -> None:
    """It says whose it is, as the first one does."""
    copy = git_dir.with_name("copy")
    shutil.copytree(git_dir, copy)
    _copies(copy)[0].unlink()
    assert record.lookup(str(copy), "worktree") == ""
    assert record.ensure(str(copy), "worktree") not in ("", record.lookup(str(git_dir), "worktree"))


@pytest.mark.parametrize("left", DAMAGED)
def test_an_id_that_nobody_can_read_is_no_fresh_start(git_dir: Path, left: bytes) -> None:
    """Neither a query nor a claim takes the checkout for one where nothing is held."""
    for copy in _copies(git_dir):
        copy.write_bytes(left)
    for act in (record.lookup, record.ensure):
        with pytest.raises(CheckoutError, match="doctor --fix"):
            act(str(git_dir), "worktree")
    record.put(str(git_dir), "worktree", "ab" * 10)
    assert record.lookup(str(git_dir), "worktree") == "ab" * 10
