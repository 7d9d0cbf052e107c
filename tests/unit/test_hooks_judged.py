"""The record that lets later hooks of one Git operation pass, and the processes it names."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from synapse_git import address
from synapse_git.checkout import Checkout
from synapse_hooks import judged, process
from synapse_hooks.run import Run
from synapse_hooks.setup import shims

NAMESPACE, TREE = "local:5", "wt:7"


class Place:
    """A git dir with an index, and a state directory."""

    def __init__(self, root: Path) -> None:
        self.git_dir = root / "git"
        self.git_dir.mkdir()
        self.index = self.git_dir / "index"
        self.index.write_text("one")
        self.env = {"HOME": str(root), "XDG_STATE_HOME": str(root / "state")}
        self.state = address.state_dir(self.env)
        self.record = self.git_dir / "synapse/judged"

    def pinned(self, *, tree: str = TREE, first: bool = True, parent: int | None = None) -> judged.Judgement:
        git_dir = str(self.git_dir)
        here, outer = (Checkout(str(self.git_dir.parent), git_dir, git_dir, {}) for _ in range(2))
        if not first:
            here.outer = outer
        judgement = judged.Judgement(git_dir, str(self.index), Run("", parent or os.getpid(), "", self.env))
        judgement.pin_index()
        judgement.pin_trees(here, NAMESPACE, tree)
        return judgement

    def grant(self, tree: str = TREE) -> None:
        """What the hub does when it grants."""
        os.unlink(address.generation_file(self.state, NAMESPACE, tree))

    def settled(self) -> bool:
        """Would a shim that this process starts pass?"""
        head, _, _ = shims.text("pre-commit").decode().partition("\nnext=")
        text = f"{head}\nsettled\n"
        env = {"PATH": os.defpath, "GIT_DIR": str(self.git_dir), "GIT_INDEX_FILE": str(self.index)}
        return subprocess.run(["sh", "-c", text], env=env, check=False).returncode == 0

    def generations(self) -> list[str]:
        return sorted(os.listdir(self.state + "/generations"))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_passed_check_settles_the_next_hook(place: Place) -> None:
    """The same process, index and grants: the shim passes."""
    place.pinned().write(math.inf)
    assert place.settled()


def test_nothing_is_settled_before_the_verdict(place: Place) -> None:
    """Pinning alone lets nobody pass."""
    place.pinned()
    assert not place.settled()


@pytest.mark.parametrize("tree", [TREE, ""])
def test_a_grant_unsettles(place: Place, tree: str) -> None:
    """A grant in the checkout's tree or in the shared one means that the hub must be asked again."""
    place.pinned().write(math.inf)
    place.grant(tree)
    assert not place.settled()


@pytest.mark.parametrize("tree", [TREE, ""])
def test_a_grant_while_the_hub_is_asked_unsettles(place: Place, tree: str) -> None:
    """What was granted after the pins and before the record is not missed."""
    judgement = place.pinned()
    place.grant(tree)
    judgement.write(math.inf)
    assert not place.settled()


def test_another_check_does_not_revive_an_older_record(place: Place) -> None:
    """A grant stays seen although somebody else has pinned the same tree since."""
    place.pinned().write(math.inf)
    place.grant()
    place.pinned()
    assert not place.settled()


def test_a_new_index_unsettles(place: Place) -> None:
    """A formatter that stages something replaces the index."""
    place.pinned().write(math.inf)
    fresh = place.git_dir / "index.lock"
    fresh.write_text("two")
    fresh.rename(place.index)
    assert not place.settled()


def test_another_file_is_not_the_index_that_was_judged(place: Place) -> None:
    """Of the same content, size and time, also in the very place of the one that is gone."""
    place.pinned().write(math.inf)
    judged_index = place.index
    place.index = place.git_dir / "other"
    shutil.copy2(judged_index, place.index)
    assert not place.settled()
    place.index = judged_index
    for _ in range(20):  # a file system gives a number again as soon as nobody has it
        place.index.unlink()
        shutil.copy2(place.git_dir / "other", place.index)
        assert not place.settled()


def test_another_process_is_not_settled(place: Place) -> None:
    """The record is for one Git process only."""
    with subprocess.Popen(["sleep", "60"]) as other:
        place.pinned(parent=other.pid).write(math.inf)
        other.kill()
    assert not place.settled()


@pytest.mark.parametrize(("ahead_s", "settled"), [(9, True), (0, False), (-9, False)])
def test_the_word_of_another_hub_has_an_end(place: Place, ahead_s: int, settled: bool) -> None:
    """Where it cannot be seen that a grant was made elsewhere, the shim goes by the time since the machine started."""
    place.pinned().write(math.inf)
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    lines = place.record.read_text().split("\n")
    stamp = place.record.stat().st_mtime_ns
    place.record.write_text("\n".join([f"{lines[0]} {int(uptime + ahead_s)}", *lines[1:]]))
    os.utime(place.record, ns=(stamp, stamp))
    assert place.settled() is settled


def test_a_pid_that_is_used_again_is_not_settled(place: Place) -> None:
    """The same pid with another start is another process."""
    place.pinned().write(math.inf)
    lines = place.record.read_text().split("\n")
    stamp = place.record.stat().st_mtime_ns
    place.record.write_text("\n".join([lines[0], lines[1] + "1", *lines[2:]]))
    os.utime(place.record, ns=(stamp, stamp))
    assert not place.settled()


def test_a_first_id_unsettles_a_checkout_without_one(place: Place) -> None:
    """Where nobody had ever claimed, the first claim makes the tree's id."""
    place.pinned(tree="").write(math.inf)
    assert place.settled()
    (place.git_dir / "synapse/worktree").touch()
    assert not place.settled()


def test_an_id_that_would_be_made_elsewhere_cannot_be_watched(place: Place) -> None:
    """Inside a submodule without a tree of its own nothing is recorded."""
    place.pinned(tree="", first=False).write(math.inf)
    assert not place.record.exists()


def test_a_linked_index_is_not_trusted(place: Place) -> None:
    """What a symlink leads to can change while the link stays."""
    place.index.rename(place.git_dir / "elsewhere")
    place.index.symlink_to(place.git_dir / "elsewhere")
    place.pinned().write(math.inf)
    assert not place.record.exists()


def test_a_hub_that_was_named_leaves_no_record(place: Place) -> None:
    """SYNAPSE_HUB may name one whose state is elsewhere, and then every hook asks."""
    place.env["SYNAPSE_HUB"] = "/somewhere"
    place.pinned().write(math.inf)
    assert not place.record.exists()


def test_pins_do_not_pile_up(place: Place) -> None:
    """However often is judged and granted, a checkout keeps one pin per tree."""
    for _ in range(5):
        place.pinned().write(math.inf)
        place.pinned()
        place.grant()
    place.pinned().write(math.inf)
    assert len(place.generations()) == 4
    assert sorted(os.listdir(place.git_dir / "synapse")) == ["judged", "judged-index"]


def test_pins_of_checkouts_that_are_gone_go_too(place: Place) -> None:
    """What nobody renewed for a week is removed in passing."""
    stale = Path(place.state, "generations/tree-wt-gone.gone.1")
    stale.parent.mkdir(parents=True)
    stale.touch()
    os.utime(stale, (time.time() - 8 * 86400, time.time() - 8 * 86400))
    place.pinned()
    assert not stale.exists()


def test_the_state_directory_is_private(place: Place) -> None:
    """A hook that comes before the first hub makes it as the hub would."""
    place.pinned()
    assert os.stat(place.state).st_mode & 0o777 == 0o700
    assert os.stat(place.state + "/generations").st_mode & 0o777 == 0o700


def test_forgetting_leaves_nothing(place: Place) -> None:
    """Taking the guard away removes record and pin of the index, and all that shims note but what is for people."""
    place.pinned().write(math.inf)
    noted = re.findall(r'>"\$record/(\w+)"', shims.text("pre-commit").decode())
    assert {"told", "unchecked"} < set(noted)
    for name in noted:
        (place.git_dir / "synapse" / name).touch()
    judged.forget(str(place.git_dir))
    assert os.listdir(place.git_dir / "synapse") == ["unchecked"]


def test_both_ways_of_telling_a_start_differ_between_processes() -> None:
    """With and without /proc a process is told from one that started later."""
    first, env = os.getpid(), dict(os.environ)
    assert process.started(first, env) == process.started(first, env) != ""
    assert process._ps("lstart=", first, env) != ""
    assert process.started(2**22 + 1, env) == ""


@pytest.mark.parametrize(
    ("command", "verb"),
    [
        (["git", "commit", "-m", "x"], "commit"),
        (["git", "-c", "a.b=c", "-C", "/x", "--no-pager", "revert", "HEAD"], "revert"),
        (["/usr/lib/git-core/git", "merge"], "merge"),
        (["git"], ""),
    ],
)
def test_the_command_is_found_behind_options(command: list[str], verb: str) -> None:
    """What Git was asked to do stands behind options that may have values."""
    assert process.subcommand(command) == verb


def test_a_commit_in_a_team_loads_no_library_for_digests() -> None:
    """Its import takes as long as the interpreter's whole start; names of usual namespaces are spelled out."""
    code = "from synapse_git import address; print(address.generation_file('s', 'acme/api', ''))\n"
    code += "import sys; print('hashlib' in sys.modules, len(address.generation_file('s', 'é' * 99, '')))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told == "s/generations/shared-acme-api\nFalse 37\n"
