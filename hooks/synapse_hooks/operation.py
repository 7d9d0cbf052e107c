"""The Git operation that a hook interrupts: what it is called, and how its author gets out of it."""

from __future__ import annotations

import os

from synapse_hooks import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# What Git keeps in the git dir while an operation waits for its author, how it is given up, and how it goes on.
_WAITING = (
    ("rebase-apply/applying", "am", "git am --abort", "git am --continue"),
    ("rebase-apply", "rebase", "git rebase --abort", "git rebase --continue"),
    # Newer Git does not commit by itself what a hook has stopped.
    ("rebase-merge", "rebase", "git rebase --abort", "git commit && git rebase --continue"),
    ("MERGE_HEAD", "merge", "git merge --abort", "git merge --continue"),
    ("CHERRY_PICK_HEAD", "cherry-pick", "git cherry-pick --abort", "git cherry-pick --continue"),
    ("REVERT_HEAD", "revert", "git revert --abort", "git revert --continue"),
)

_JOINING = ("squash", "fixup", "s", "f")

# Of the moves that Git makes in the checkout before it asks for the reference, those that leave files where they are.
_STAYING = {"--soft": "", "--mixed": "git reset -q", "": "git reset -q"}
_RESETS = ("--soft", "--mixed", "--hard", "--merge", "--keep")


class Operation:
    """``name``: the Git command; ``way_out``: what to type to give it up, '' where nothing was begun.

    ``again``: what to type to try once more.
    """

    __slots__ = ("again", "name", "way_out")

    def __init__(self, name: str, way_out: str, again: str) -> None:
        self.name = name
        self.way_out = way_out
        self.again = again


def under_way(git_dir: str, moment: str, parent: int, env: Mapping[str, str]) -> Operation:
    """What is going on in ``git_dir`` while the hook ``moment`` runs for the process ``parent``."""
    words = process.words(parent, env)
    typed = process.subcommand(words) or "commit"
    if typed == "receive-pack":
        return Operation("push", "", "git push …")
    if moment == "pre-merge-commit":
        return Operation("merge", "git merge --abort", "git merge --continue")
    for mark, name, way_out, again in _WAITING:
        if os.path.lexists(f"{git_dir}/{mark}"):
            if typed == "commit":
                again = f"git {name} --continue" if process.serves(parent, name, env) else "git commit …"
            elif mark == "rebase-merge" and _joins(git_dir):
                again = "git commit --amend --no-edit && git rebase --continue"
            return Operation(name, way_out, again)
    if typed != "revert":
        way_out = _back(typed, words) if moment == "reference-transaction" else ""
        return Operation(typed, way_out, f"git {typed} …")
    if os.path.lexists(f"{git_dir}/sequencer"):
        return Operation(typed, "git revert --abort", "git commit && git revert --continue")
    # Of a single one that met no conflict Git keeps no trace, so there is nothing to abort or to continue.
    return Operation(typed, "git reset --merge", "git commit")


def _joins(git_dir: str) -> bool:
    """Would the step that a rebase is at become part of the commit before it?"""
    try:
        with open(f"{git_dir}/rebase-merge/done", "rb") as file:
            steps = file.read().split(b"\n")
    except OSError:
        return False
    last = next((step for step in reversed(steps) if step.strip()), b"")
    return last.split(b" ")[0].decode("ascii", "replace") in _JOINING


def _back(typed: str, words: Sequence[str]) -> str:
    """What undoes a move of the checkout whose reference then stayed where it was; '' if nothing has moved."""
    if typed in ("merge", "checkout", "switch"):
        return "git reset --merge"
    if typed != "reset":
        return ""
    return _STAYING.get(next((word for word in words if word in _RESETS), ""), "git reset --merge")


def merged_heads(git_dir: str) -> list[str]:
    """The other parents of a merge that is about to be committed; none where there is no merge."""
    try:
        with open(git_dir + "/MERGE_HEAD", encoding="ascii") as file:
            return file.read().split()
    except OSError:
        return []


def announced_heads(env: Mapping[str, str]) -> list[str]:
    """The same in pre-merge-commit, which runs before there is a MERGE_HEAD."""
    return [name.removeprefix("GITHEAD_") for name in env if name.startswith("GITHEAD_")]
