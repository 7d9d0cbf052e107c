"""What moves under its holder's feet although nobody edits it: put on record and mentioned, never stopped."""

from __future__ import annotations

import time

from synapse_git import explain, git, identity
from synapse_git.errors import HubUnreachable
from synapse_hooks import changes, commits, verdict
from synapse_hooks.run import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse_git.checkout import Checkout
    from synapse_hooks.run import Run

# Short, since Git waits and holds locks, and nothing depends on it.
_DEADLINE_S = 0.5


def note(run: Run, here: Checkout, old: str, new: str, *, quiet: bool = False) -> None:
    """The files of ``here`` go from commit ``old`` to ``new``. Changes what others hold? Then that is on record.

    A ``new`` of zeros is that of a branch without a commit, where no files are.

    Only claims in this very checkout count: what others hold in a shared tree, they have in checkouts of their own.
    ``quiet``: it was mentioned before.
    """
    tree = here.tree()
    if not tree or verdict.overriding(run.env):
        return  # nobody ever claimed anything here; or what was overridden is on record under that name
    new = new if new.strip("0") else changes.empty_tree(run.asking)
    status, paths, _ = git.ask([*commits.BETWEEN, old, new, "--"], run.asking)
    if status or not paths:
        return
    agent = identity.who(None, run.env, here.outer.git_dir)
    change = verdict.Change(agent, here.namespace(), tree, "ref", changes.spelled(paths, here), b"")
    try:
        found = verdict.notice(change, run.hub(here), deadline=time.monotonic() + _DEADLINE_S)
    except HubUnreachable:
        return  # nothing is decided here
    conflicts = found.get("conflicts") or []
    if conflicts and not quiet:
        more = f", and {len(conflicts) - 1} other claims are touched" if len(conflicts) > 1 else ""
        say(f"note: {explain.conflict(conflicts[0])}{more}. That this changed it is on record")
