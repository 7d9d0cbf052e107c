"""Which updates of references concern a checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from synapse_git.checkout import Checkout
from synapse_hooks import updates

OLD, NEW, ZERO = "1" * 40, "2" * 40, "0" * 40


@pytest.fixture
def here(tmp_path: Path) -> Checkout:
    """A main checkout on ``main`` and a linked one on ``side``."""
    (tmp_path / "worktrees/wt").mkdir(parents=True)
    (tmp_path / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "worktrees/wt/HEAD").write_text("ref: refs/heads/side\n")
    return Checkout(str(tmp_path.parent), str(tmp_path), str(tmp_path), {})


def _found(here: Checkout, *lines: str) -> list[tuple[str, str, str]]:
    return [
        (Path(update.git_dir).name if update.git_dir != here.git_dir else "", update.ref, update.old)
        for update in updates.concerning(here, "".join(line + "\n" for line in lines))
    ]


def test_the_branch_of_any_checkout_concerns_it(here: Checkout) -> None:
    """HEAD and its branch concern this checkout, another's branch that other one."""
    assert _found(here, f"{OLD} {NEW} HEAD") == [("", "HEAD", OLD)]
    assert _found(here, f"{OLD} {NEW} refs/heads/main") == [("", "refs/heads/main", OLD)]
    assert _found(here, f"{OLD} {NEW} refs/heads/side") == [("wt", "refs/heads/side", OLD)]


def test_a_checkout_is_known_by_every_name_of_its_head(here: Checkout, tmp_path: Path) -> None:
    """Each has another in the other checkouts. A HEAD may be a link, or the branch another name of one."""
    assert _found(here, f"{OLD} {NEW} worktrees/wt/HEAD") == [("wt", "worktrees/wt/HEAD", OLD)]
    assert _found(here, f"{OLD} {NEW} main-worktree/HEAD") == [("", "main-worktree/HEAD", OLD)]
    (tmp_path / "worktrees/wt/HEAD").unlink()
    (tmp_path / "worktrees/wt/HEAD").symlink_to("refs/heads/side")
    assert _found(here, f"{OLD} {NEW} refs/heads/side") == [("wt", "refs/heads/side", OLD)]
    (tmp_path / "refs/heads").mkdir(parents=True)
    (tmp_path / "refs/heads/side").write_text("ref: refs/heads/real\n")
    assert _found(here, f"{OLD} {NEW} refs/heads/real") == [("wt", "refs/heads/real", OLD)]


@pytest.mark.parametrize(
    "line",
    [
        f"{OLD} {NEW} worktrees/gone/HEAD",
        f"{OLD} {NEW} refs/worktrees/wt/HEAD",
        f"{OLD} {NEW} refs/heads/other",
        f"{OLD} {NEW} refs/tags/main",
        f"{OLD} {NEW} refs/remotes/origin/HEAD",
        f"{OLD} {NEW} ORIG_HEAD",
        f"{OLD} {ZERO} refs/heads/main",
        f"{OLD} {OLD} HEAD",
        "ref:refs/heads/main ref:refs/heads/side HEAD",
        f"{OLD} ref:refs/heads/side HEAD",
        "",
    ],
)
def test_the_rest_concerns_nobody(here: Checkout, line: str) -> None:
    """Other references, deletions, symbolic values and updates to the same value pass."""
    assert _found(here, line) == []


def test_an_old_value_may_be_left_open(here: Checkout) -> None:
    """Zeros mean: whatever it is now."""
    assert _found(here, f"{ZERO} {NEW} HEAD") == [("", "HEAD", "")]
    assert _found(here, f"ref:refs/heads/x {NEW} HEAD") == [("", "HEAD", "")]


def test_where_heads_are_kept_in_tables_every_branch_counts(here: Checkout, tmp_path: Path) -> None:
    """A stub HEAD does not say which branch it is, so any may be it."""
    (tmp_path / "HEAD").write_text("ref: refs/heads/.invalid\n")
    assert _found(here, f"{OLD} {NEW} refs/heads/other") == [("", "refs/heads/other", OLD)]
