"""status and the guard: told as it stands now, also where it was remembered from an earlier look."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.box import Box
from tests.hooking import GIT


def _layers(box: Box) -> list[str]:
    (worktree,) = box.synapse("status", "--json").json()["worktrees"]
    layers: list[str] = worktree["layers"]
    return layers


def test_a_displaced_guard_is_said_plainly(repo: Path, box: Box) -> None:
    """Where core.hooksPath leads now, and the command that puts the guard back, which works."""
    box.done("git", "config", "core.hooksPath", "/nonexistent")
    out = box.synapse("status").out
    assert "none: displaced" in out
    assert f"the guard in {repo} does not run: core.hooksPath leads past it, to /nonexistent" in out
    still = GIT >= (2, 54)
    assert ("has commits judged all the same" if still else "; nothing is judged") in out
    assert f"synapse-git -C {repo} install" in out
    (worktree,) = box.synapse("status", "--json").json()["worktrees"]
    assert "/nonexistent" in worktree["displaced"]
    box.done("synapse-git", "-C", repo, "install")
    assert _layers(box) == ["guard"]
    assert "none: displaced" not in box.synapse("status").out


@pytest.mark.parametrize("hurt", ["remove", "replace", "close", "path", "uninstall"])
def test_what_was_remembered_is_forgotten_when_anything_moves(repo: Path, box: Box, hurt: str) -> None:
    """A hook that is gone, another's, or not executable; another directory; none at all: each is seen at once."""
    assert _layers(box) == ["guard"] == _layers(box)
    hook = repo / ".git/hooks/prepare-commit-msg"
    match hurt:
        case "remove":
            hook.unlink()
        case "replace":
            hook.write_text("#!/bin/sh\n")
        case "close":
            hook.chmod(0o644)
        case "path":
            box.done("git", "config", "core.hooksPath", ".githooks")
        case "uninstall":
            box.done("synapse-git", "uninstall")
    assert _layers(box) == []


def test_hooks_that_start_a_program_which_is_gone_cover_nothing(repo: Path, box: Box) -> None:
    """The files are as they were, what they start is not: what was remembered does not count."""
    assert _layers(box) == ["guard"]
    known = box.state / "standings"
    remembered = json.loads(known.read_text())
    remembered[str(repo)]["interpreter"] = "/gone/python"
    known.write_text(json.dumps(remembered))
    assert _layers(box) == ["guard"]
    assert json.loads(known.read_text())[str(repo)]["interpreter"] != "/gone/python"


@pytest.mark.parametrize("broken", ["", "{", "[1]", '{"x": 1}'])
def test_a_memory_that_cannot_be_read_is_made_anew(repo: Path, box: Box, broken: str) -> None:
    """It is a convenience and no truth; closed to others."""
    known = box.state / "standings"
    known.write_text(broken)
    assert _layers(box) == ["guard"]
    assert str(repo) in json.loads(known.read_text())
    assert known.stat().st_mode & 0o777 == 0o600 or broken


def test_a_worktree_that_is_gone_is_no_trouble(repo: Path, box: Box) -> None:
    """Deleted since: listed as gone as long as somebody holds something there, and then no more."""
    _layers(box)
    box.done("synapse-git", "claim", "-t", "t", "src", "--agent", "ana", cwd=repo)
    shutil.rmtree(repo)
    ended = box.synapse("status", cwd=box.home)
    assert ended.code == 0
    assert "(gone)" in ended.out and "synapse-git release -t TASK" in ended.out and "none: " not in ended.out
    box.done("synapse-git", "release", "-t", "t", "--agent", "ana", cwd=box.home)
    assert "(gone)" not in box.synapse("status", cwd=box.home).out


def test_a_second_look_starts_no_interpreter_for_the_hooks(repo: Path, box: Box) -> None:
    """Nothing moved since: Git alone is asked."""
    _layers(box)
    program = (
        "import os, sys\n"
        "from synapse_git.cli import edge\n"
        "status = edge.run(['synapse-git', 'status'], os.environ)\n"
        "print('subprocess' in sys.modules, file=sys.stderr)\n"
        "sys.exit(status)\n"
    )
    assert box.run("python", "-c", program).err == "False\n"
