"""Merges, picks, reverts, rebases and patches: judged, and left in a state that has a way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.box import Box, Result
from tests.hooking import allowed, claim, refused


@pytest.fixture
def forked(box: Box, repo: Path) -> Path:
    """On ``main``, which has changed ``docs/guide.md``; ``side`` has changed ``src/b.py``, which bob holds."""
    box.done("git", "checkout", "-q", "-b", "side")
    box.write("src/b.py", "side\n")
    box.done("git", "commit", "-qam", "side")
    box.done("git", "checkout", "-q", "main")
    box.write("docs/guide.md", "main\n")
    box.done("git", "commit", "-qam", "main")
    claim(box, "bob", "src/b.py")
    return repo


def _way_out(ended: Result) -> str:
    """The command that a refusal offers to give up."""
    return next(line.partition(":  ")[2] for line in ended.err.splitlines() if "Give up the" in line)


@pytest.mark.parametrize(
    ("command", "way_out"),
    [
        (["merge", "-q", "--no-edit", "side"], "git merge --abort"),
        (["merge", "-q", "--no-edit", "--no-verify", "side"], "git merge --abort"),
        (["cherry-pick", "side"], "git cherry-pick --abort"),
        (["cherry-pick", "-n", "side"], ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_brings_in_a_held_path_is_refused(box: Box, forked: Path, command: list[str], way_out: str) -> None:
    """The refusal names the way out, and that leads back to where it began."""
    ended = box.git(*command, agent="ana")
    if not way_out:
        allowed(ended)  # nothing is committed yet
        refused(box.git("commit", "-qm", "x", agent="ana"))
        return
    assert _way_out(refused(ended, "src/b.py")) == way_out
    box.done("sh", "-c", way_out)
    assert box.done("git", "status", "--porcelain") == ""
    allowed(box.git(*command, agent="bob"))


def test_a_rebase_stops_at_the_pick(box: Box, forked: Path) -> None:
    """It can be given up, and continued when the path is free."""
    box.done("git", "checkout", "-q", "side")
    before = box.done("git", "rev-parse", "HEAD")
    ended = refused(box.git("rebase", "-q", "main", agent="ana"), "src/b.py")
    assert _way_out(ended) == "git rebase --abort"
    box.done("git", "rebase", "--abort")
    assert box.done("git", "rev-parse", "HEAD") == before
    refused(box.git("rebase", "-q", "main", agent="ana"))
    allowed(box.synapse("release", "-t", "t1", agent="bob"))
    allowed(box.run("sh", "-c", "git commit -q && git rebase --continue", agent="ana", env={"GIT_EDITOR": "true"}))
    assert box.done("git", "log", "--format=%s", "-2") == "side\nmain\n"


def test_what_is_offered_to_go_ahead_goes_ahead(box: Box, forked: Path) -> None:
    """Typed as it stands, whichever operation was stopped: it is completed, and nothing is left under way."""
    box.done("git", "checkout", "-qb", "third", "side")
    box.write("third")
    box.done("git", "add", "third")
    box.done("git", "commit", "-qm", "third")
    box.done("git", "format-patch", "-q", "-1", "side", "-o", "../patches")
    for start, operation in (
        ("main", "merge -q --no-edit side"),
        ("main", "cherry-pick side"),
        ("main", "cherry-pick side third"),
        ("side", "revert --no-edit side"),
        ("third", "revert --no-edit side third"),
        ("third", "rebase -q main"),
        ("third", "rebase -q --apply main"),
        ("main", "am -q ../patches/0001-side.patch"),
    ):
        box.done("git", "checkout", "-q", "--detach", start)
        _go_ahead(box, forked, f"git {operation}")


_PLANS = {"fixup": "2s/pick/fixup/", "squash": "2s/pick/squash/"}


@pytest.mark.parametrize("joined", _PLANS)
def test_what_is_offered_joins_what_was_to_be_joined(box: Box, forked: Path, joined: str) -> None:
    """A rebase stopped where two commits become one goes on to one commit, not to two."""
    box.done("git", "checkout", "-q", "--detach", "main~1")
    for path in ("docs/more.md", "src/b.py"):
        box.write(path, "more\n")
        box.done("git", "add", path)
        box.done("git", "commit", "-qm", path, agent="bob")
    plan = f"GIT_SEQUENCE_EDITOR=\"sed -i '{_PLANS[joined]}'\""
    _go_ahead(box, forked, f"{plan} git rebase -q -i main")
    assert box.done("git", "rev-list", "--count", "main..") == "1\n"


def test_what_is_offered_after_a_conflict_is_what_was_typed(box: Box, forked: Path) -> None:
    """Where Git commits on behalf of ``--continue``, that goes on with what is left, and a commit alone would not."""
    for path in ("docs/more.md", "src/b.py"):
        box.write(path, "more\n")
        box.done("git", "add", path)
        box.done("git", "commit", "-qm", path, agent="bob")
    assert box.git("revert", "--no-edit", "side", "HEAD~1", agent="bob").code != 0
    box.write("src/b.py", "settled\n")
    box.done("git", "add", "src/b.py")
    _go_ahead(box, forked, "git revert --continue")
    assert box.done("git", "log", "-2", "--format=%s") == 'Revert "docs/more.md"\nRevert "side"\n'


def _go_ahead(box: Box, repo: Path, command: str) -> None:
    """``command`` is refused; what is offered instead, typed as it stands, completes it."""
    editor = {"GIT_EDITOR": "true"}
    ended = refused(box.run("sh", "-c", command, agent="ana", env=editor), "src/b.py")
    offered = next(line.partition(":  ")[2] for line in ended.err.splitlines() if "on record:" in line)
    allowed(box.run("sh", "-c", offered, agent="ana", env=editor))
    assert box.done("git", "status", "--porcelain") == "", command
    left = {path.name for path in (repo / ".git").iterdir()}
    assert not left & {"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "sequencer", "rebase-merge", "rebase-apply"}


def test_a_single_revert_leaves_no_trace_but_a_way_out(box: Box, forked: Path) -> None:
    """Git keeps nothing to abort, so the reset that fits is offered; of several there is an --abort."""
    box.done("git", "checkout", "-q", "side")
    ended = refused(box.git("revert", "--no-edit", "HEAD", agent="ana"), "src/b.py")
    assert _way_out(ended) == "git reset --merge"
    box.done("git", "reset", "--merge")
    assert box.done("git", "status", "--porcelain") == ""
    box.write("src/a.py", "more\n")
    box.done("git", "commit", "-qam", "more")
    ended = refused(box.git("revert", "--no-edit", "HEAD", "HEAD~1", agent="ana"), "src/b.py")
    assert _way_out(ended) == "git revert --abort"
    box.done("git", "revert", "--abort")
    assert box.done("git", "status", "--porcelain") == ""


def test_patches_are_judged(box: Box, forked: Path) -> None:
    """git am stops before the commit, and --abort leads back."""
    box.done("git", "format-patch", "-q", "-1", "side", "-o", "../patches")
    patch = next((forked.parent / "patches").iterdir())
    ended = refused(box.git("am", "-q", patch, agent="ana"), "src/b.py")
    assert _way_out(ended) == "git am --abort"
    box.done("git", "am", "--abort")
    assert box.done("git", "status", "--porcelain") == ""
    allowed(box.git("am", "-q", patch, agent="bob"))


def test_a_rebase_that_applies_patches_is_judged(box: Box, forked: Path) -> None:
    """The other way to rebase is stopped as well, and is called what it is."""
    box.done("git", "checkout", "-q", "side")
    ended = refused(box.git("rebase", "-q", "--apply", "main", agent="ana"), "src/b.py")
    assert _way_out(ended) == "git rebase --abort"
    box.done("git", "rebase", "--abort")


def test_the_end_of_a_conflict_is_judged(box: Box, forked: Path) -> None:
    """What a merge brought in beside the conflict counts; what was resolved in nobody's scope does not."""
    box.done("git", "checkout", "-q", "side")
    box.write("docs/guide.md", "side\n")
    box.done("git", "commit", "-qam", "conflicting", agent="bob")
    box.done("git", "checkout", "-q", "main")
    assert box.git("merge", "-q", "side", agent="ana").code == 1
    box.write("docs/guide.md", "both\n")
    box.done("git", "add", "docs/guide.md")
    ended = refused(box.git("commit", "-qm", "merged", agent="ana"), "src/b.py")
    assert "docs/guide.md" not in ended.err
    assert 'SYNAPSE_OVERRIDE="why" git commit' in ended.err
    assert _way_out(ended) == "git merge --abort"
    box.done("git", "merge", "--abort")


@pytest.mark.parametrize("agent", ["ana", "bob"])
def test_a_fast_forward_is_nobodys_edit(box: Box, forked: Path, agent: str) -> None:
    """Moving to commits that exist already passes, for everybody."""
    box.done("git", "reset", "-q", "--hard", "HEAD~1")
    allowed(box.git("merge", "-q", "--ff-only", "side", agent=agent))
    allowed(box.git("reset", "-q", "--hard", "HEAD~1", agent=agent))
    allowed(box.git("checkout", "-q", "side", agent=agent))


def test_in_the_shared_tree_a_merge_counts_by_what_it_adds(box: Box, forked: Path) -> None:
    """What one side brings was judged when it was committed; what the merge itself changes is judged now."""
    allowed(box.synapse("release", "-t", "t1", agent="bob"))
    allowed(box.synapse("claim", "--shared", "-t", "t2", "--", "src/b.py", agent="bob"))
    allowed(box.git("merge", "-q", "--no-edit", "side", agent="ana"))
    box.done("git", "reset", "-q", "--hard", "HEAD~1")
    allowed(box.git("merge", "-q", "--no-commit", "side", agent="ana"))
    box.write("src/b.py", "neither\n")
    box.done("git", "add", "src/b.py")
    refused(box.git("commit", "-qm", "evil", agent="ana"), "src/b.py")


def test_an_octopus_is_judged(box: Box, forked: Path) -> None:
    """A merge of several heads counts like any other."""
    box.done("git", "checkout", "-q", "-b", "third", "main~1")
    box.write("src/a.py", "third\n")
    box.done("git", "commit", "-qam", "third")
    box.done("git", "checkout", "-q", "main")
    refused(box.git("merge", "-q", "--no-edit", "side", "third", agent="ana"), "src/b.py")
    box.done("git", "merge", "--abort")
    allowed(box.git("merge", "-q", "--no-edit", "side", "third", agent="bob"))


def test_a_stash_is_nobodys_business(box: Box, forked: Path) -> None:
    """Putting work aside and taking it up again commits nothing to a branch."""
    box.write("src/b.py", "mine\n")
    allowed(box.git("stash", "-q", agent="ana"))
    allowed(box.git("stash", "pop", "-q", agent="ana"))
