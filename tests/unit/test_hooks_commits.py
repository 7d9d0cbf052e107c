"""What a commit or an update of references changes, asked of real repositories in this process."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from synapse_git.checkout import Checkout
from synapse_hooks import changes, commits, updates
from synapse_hooks.run import Run
from tests.box import Box

A, B, GUIDE = "src/a.py", "src/b.py", "docs/guide.md"


class Place:
    """A repository, and what the hooks would make of its state."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self.root = box.init()
        git_dir = str(self.root / ".git")
        self.here = Checkout(str(self.root), git_dir, git_dir, {})
        where = {"GIT_DIR": git_dir, "GIT_WORK_TREE": str(self.root)}
        self.asking = Run("reference-transaction", os.getpid(), "", box.env | where).asking

    def git(self, *arguments: str) -> str:
        return self.box.done("git", *arguments, cwd=self.root).strip()

    def tree(self, *paths: str) -> str:
        """That of HEAD with ``paths`` changed. Checkout and index are left as they were."""
        for path in paths:
            self.box.write(path, f"{path} of another kind\n", cwd=self.root)
        self.git("add", "-A")
        made = self.git("write-tree")
        self.git("reset", "-q", "--hard")
        return made

    def commit(self, tree: str, *parents: str) -> str:
        given = [word for parent in parents for word in ("-p", parent)]
        return self.git("commit-tree", *given, "-m", "x", tree)

    def brought(self, new: str, old: str = "") -> tuple[set[str], set[str]]:
        """What an update of HEAD changes in the checkout, and in a shared tree."""
        here, shared = commits.changed(self.asking, self.here, "HEAD", old, new)
        return _names(here), _names(shared)

    def staged(self, *parents: str) -> tuple[set[str], set[str]]:
        here, shared = changes.Staged(self.asking, parents or ["HEAD"]).finish()
        return _names(here), _names(shared)


def _names(paths: bytes) -> set[str]:
    return set(os.fsdecode(paths).split("\0")[:-1])


@pytest.fixture
def place(box: Box) -> Place:
    return Place(box)


def test_a_commit_that_nobody_knew_changes_what_it_changes(place: Place) -> None:
    """Against what the reference was, given or looked up."""
    made = place.commit(place.tree(A), "HEAD")
    assert place.brought(made) == place.brought(made, place.git("rev-parse", "HEAD")) == ({A}, {A})


@pytest.mark.parametrize("known", ["branch", "reflog"])
def test_what_was_there_before_is_nobodys_edit(place: Place, known: str) -> None:
    """Going to what a reference leads to, or a reflog remembers."""
    made = place.commit(place.tree(A), "HEAD")
    place.git("-c", f"core.logAllRefUpdates={known == 'reflog'}", "update-ref", "refs/heads/side", made)
    if known == "reflog":
        place.git("update-ref", "refs/heads/side", "HEAD")
    assert place.brought(made) == (set(), set())


@pytest.mark.parametrize("swapped", [False, True])
def test_a_merge_by_hand_changes_here_what_it_brings_and_in_a_shared_tree_what_it_adds(
    place: Place, swapped: bool
) -> None:
    """In whichever order its parents stand."""
    side = place.commit(place.tree(B), "HEAD")
    place.git("branch", "side", side)
    parents = ["side", "HEAD"] if swapped else ["HEAD", "side"]
    assert place.brought(place.commit(place.tree(B), *parents)) == ({B}, set())
    assert place.brought(place.commit(place.tree(B, GUIDE), *parents)) == ({B, GUIDE}, {GUIDE})


def test_what_an_update_drops_is_changed_back(place: Place) -> None:
    """The commit that comes instead need not touch it."""
    place.git("update-ref", "HEAD", place.commit(place.tree(B), "HEAD"))
    place.git("reset", "-q", "--hard")
    without = place.commit(place.git("rev-parse", "HEAD~1^{tree}"), "HEAD~1")
    assert place.brought(without) == ({B}, {B})


def test_what_was_fetched_was_made_elsewhere_unless_it_is_here(place: Place) -> None:
    """FETCH_HEAD says where from."""
    made = place.commit(place.tree(A), "HEAD")
    fetched = Path(place.here.git_dir, "FETCH_HEAD")
    fetched.write_text(f"{made}\t\tbranch 'main' of /elsewhere\n")
    assert place.brought(made) == (set(), set())
    fetched.write_text(f"{made}\t\tbranch 'main' of .\n")
    assert place.brought(made) == ({A}, {A})


def test_an_object_is_what_it_is(place: Place) -> None:
    """Whatever it stands for."""
    made = place.commit(place.tree(B), "HEAD")
    place.git("replace", made, "HEAD")
    assert place.brought(made) == ({B}, {B})


def _submodule(place: Place) -> str:
    place.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    place.git("commit", "-qm", "sub")
    place.box.write(".gitmodules", '[submodule "s"]\n\tpath = sub\n\turl = /nowhere\n', cwd=place.root)
    place.git("config", "submodule.s.ignore", "all")
    place.git("update-index", "--cacheinfo", f"160000,{'2' * 40},sub")
    return "sub"


def _renamed(place: Place) -> str:
    place.git("config", "diff.renames", "copies")
    place.git("rm", "-q", "--cached", B)
    return B


def _mode(place: Place) -> str:
    place.git("update-index", "--chmod=+x", B)
    return B


@pytest.mark.parametrize("change", [_submodule, _renamed, _mode])
def test_every_kind_of_change_is_told(place: Place, change: Callable[[Place], str]) -> None:
    """Also what settings would hide."""
    path = change(place)
    assert place.staged() == ({path}, {path})


def test_what_is_only_meant_to_be_added_is_not_committed(place: Place) -> None:
    """Git leaves it out, and so does the guard."""
    place.box.write("new", cwd=place.root)
    place.git("add", "-N", "new")
    assert place.staged() == (set(), set())


def test_a_shared_tree_is_changed_by_what_differs_from_every_parent(place: Place) -> None:
    """Of three, too."""
    sides = [place.commit(place.tree(path), "HEAD") for path in (A, B)]
    place.git("read-tree", place.tree(A, B, GUIDE))
    assert place.staged("HEAD", *sides) == ({A, B, GUIDE}, {GUIDE})


def test_a_branch_is_followed_to_the_one_that_it_names(place: Place) -> None:
    """However many names there are between."""
    for name, target in (("alpha", "beta"), ("beta", "main")):
        place.git("symbolic-ref", f"refs/heads/{name}", f"refs/heads/{target}")
    place.git("symbolic-ref", "HEAD", "refs/heads/alpha")
    (found,) = updates.concerning(place.here, f"{'1' * 40} {'2' * 40} refs/heads/main\n")
    assert found.git_dir == place.here.git_dir
