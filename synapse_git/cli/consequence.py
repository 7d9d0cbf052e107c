"""What a granted claim brings about besides: what its task lets go, and who holds the same in another tree."""

from __future__ import annotations

import os
import time

from synapse_git import explain, scope
from synapse_git.cli import output, phrase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from synapse_git.checkout import Checkout
    from synapse_git.cli.call import Call

_TYPED = 5


def show(call: Call, here: Checkout, claim: Mapping[str, Any]) -> None:
    """For people, after what was claimed."""
    if "freed" in claim:
        _freed(call, here, claim)
    for other in claim.get("besides", ()):
        _besides(call, claim, other)


def _besides(call: Call, claim: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """Say that neither of two who hold the same in two trees can commit it where both count, and how to settle it."""
    from synapse_git.cli.show import where

    place = where(call, other["worktree"]) if other["worktree"] else "the tree that all worktrees share"
    there = "there" if other["worktree"] else "here"
    output.message(
        f"note: {explain.conflict(other, time.time() - claim['now'])}, in {place}. That is another tree, so both are "
        f"granted, but neither of you can commit it {there} before the other has released it. Settle it: synapse-git "
        f"send --to {phrase.shell(other['owner'])} TEXT"
    )


def _freed(call: Call, here: Checkout, claim: Mapping[str, Any]) -> None:
    """Say what the task held before and does not any more, and how to hold both."""
    gone = [explain.wire_path(path) for path in claim["freed"]]
    whole = scope.ROOT in gone
    what = "everything" if whole else phrase.listed(gone)
    start = os.path.realpath(call.directory())
    typed = ["--whole-worktree"] if whole else [_typed(f"{here.outer.root}/{path}", start) for path in gone[:_TYPED]]
    both = phrase.command(call, f"claim --add -t {phrase.shell(claim['task_id'])} {' '.join(typed)}")
    output.message(f"note: it held {what} before, which others may claim from now on. To hold both: {both}")


def _typed(path: str, start: str) -> str:
    """``path`` as it is typed in the directory ``start``."""
    near = os.path.relpath(path, start)
    return phrase.shell(f"./{near}" if near.startswith("-") else near)
