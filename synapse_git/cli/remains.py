"""What a repository keeps of ours once its guard was taken out: ids that claims go by, and what was put aside."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress

from synapse_git import binding, client, explain, gitdir, identity, record
from synapse_git.cli import phrase, whereabouts
from synapse_git.errors import SynapseError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from synapse_git.checkout import Checkout
    from synapse_git.cli.call import Call

_IDS = ("worktree", "repository", binding.NAME)


def clear(call: Call, here: Checkout) -> tuple[list[str], str]:
    """Remove what nobody needs any more from the git dirs of the repository; what stays, and why.

    What was put aside or written down there by others than `install` and claims is the user's, and stays in any case.
    """
    git_dirs = gitdir.every(here.common_dir)
    why = _needed(call, here, git_dirs)
    for git_dir in git_dirs:
        identity.forget_default_agent(git_dir)
        if not why:
            _cleared(git_dir)
        with suppress(OSError):
            os.rmdir(f"{git_dir}/{record.FOLDER}")
    left = [path for git_dir in git_dirs for path in _ours(git_dir)]
    aside = sorted({name for path in left if os.path.isdir(path) for name in os.listdir(path)})
    return left, why or f"what was put aside there is yours to look at, and to remove: {phrase.listed(aside)}"


def _needed(call: Call, here: Checkout, git_dirs: Sequence[str]) -> str:
    """Why ids have to stay; '' if they need not."""
    try:
        trees = {f"wt:{found}" for git_dir in git_dirs if (found := record.lookup(git_dir, "worktree"))}
        project = record.lookup(here.common_dir, "repository")
        if not trees and not project:
            return ""
        claims = [
            claim
            for claim in client.claims(call.hub)
            if claim["worktree"] in trees or claim["namespace"] == f"local:{project}"
        ]
    except SynapseError as error:
        return f"nobody can tell whether claims go by the ids in it: {error}"
    if not claims:
        return ""
    held = phrase.listed([f"{explain.said(one['owner'])} (task {one['task_id']})" for one in claims], most=3)
    return f"what is held here goes by the ids in it: {held}. Once that is over: synapse-git uninstall"


def _cleared(git_dir: str) -> None:
    for name in _IDS:
        record.drop(git_dir, name)
    whereabouts.forget(git_dir)
    # Of watchers: what they would have put back for those who hold something, and whose turn it is.
    shutil.rmtree(f"{git_dir}/{record.FOLDER}/kept", ignore_errors=True)
    with suppress(OSError):
        os.unlink(f"{git_dir}/{record.FOLDER}/watching")


def _ours(git_dir: str) -> list[str]:
    paths = (f"{git_dir}/{record.FOLDER}", *(record.copies(git_dir, name)[1] for name in _IDS))
    return [path for path in paths if os.path.lexists(path)]
