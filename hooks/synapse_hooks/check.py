"""The check that a Git hook runs: what would change here, and may it?

Every module that is imported here costs each commit its time. What asks the hub is imported while Git is at work,
and what only a refusal needs is imported there.
"""

from __future__ import annotations

import os

from synapse_git.errors import SynapseError
from synapse_hooks.run import Run, policy_of, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from synapse_hooks.changes import Staged
    from synapse_hooks.refusal import Circumstances
    from synapse_hooks.verdict import Change


def main(arguments: Sequence[str]) -> bool:
    """``HOOK PPID GENERIC [ARGUMENT…]``: may Git go on? If not, the reason was said."""
    moment, parent, generic, *rest = arguments
    run = Run(moment, int(parent), generic, os.environ)
    try:
        if moment in ("reference-transaction", "update"):
            from synapse_hooks import updates

            return updates.judge(run, rest)
        if moment == "pre-push":
            from synapse_hooks import pushes

            return pushes.judge(run, rest)
        if moment == "wrote":
            from synapse_hooks import witness

            witness.tell(run)
            return True
        if moment.startswith("post-"):
            from synapse_hooks import aftermath

            return aftermath.follow(run, rest)
        return _judge_index(run)
    except SynapseError as error:
        say(f"{error.reason}: {error}" if error.reason else str(error))
        return False


def _judge_index(run: Run) -> bool:
    """May what the index holds be committed?"""
    settings = run.ask_settings()
    # The second process is started only here: two at a time hold each other up more than our loading does.
    from synapse_git import checkout, gitdir
    from synapse_hooks import changes, judged

    git_dir = gitdir.of_hook(os.getcwd(), run.env)
    index = os.path.join(os.getcwd(), run.env.get("GIT_INDEX_FILE") or git_dir + "/index")
    judgement = judged.Judgement(git_dir, index, run)
    judgement.pin_index()
    heads = _merged_heads(run, git_dir)
    staged = changes.Staged(run.asking, ["HEAD", *heads])
    from synapse_git import identity
    from synapse_hooks import gate
    from synapse_hooks.verdict import Change

    here = checkout.around_hook(os.getcwd(), run.env)
    run.read_settings(here, settings)
    run.warn_if_displaced(here)
    policy = policy_of(here)
    unclaimed = policy.unclaimed if policy else "allow"
    tree, namespace = here.tree(), here.namespace(create=unclaimed != "allow")
    judgement.pin_trees(here, namespace, tree)
    paths, shared = staged.finish()
    covered_s = float("inf")
    if paths and (tree or namespace):
        change = Change(
            identity.who(None, run.env, here.outer.git_dir),
            namespace,
            tree,
            "merge" if heads else "commit",
            changes.spelled(paths, here),
            changes.spelled(shared, here),
        )
        change.unclaimed = unclaimed
        change.root = here.outer.root
        if not gate.passes(change, lambda: _circumstances(run, git_dir, change, index, staged), policy, run, here):
            return False
        covered_s = change.covered_s
    judgement.write(covered_s)
    if policy and policy.releases:
        judged.expect(git_dir)
    return True


def _circumstances(run: Run, git_dir: str, change: Change, index: str, staged: Staged) -> Circumstances:
    from synapse_hooks import operation, refusal

    interrupted = operation.under_way(git_dir, run.moment, run.parent, run.env)
    around = refusal.Circumstances(interrupted, staged.paths, change.paths, index)
    around.unborn = staged.unborn
    around.root = os.getcwd() if run.env.get("GIT_PREFIX") else ""
    return around


def _merged_heads(run: Run, git_dir: str) -> list[str]:
    if run.moment != "pre-merge-commit" and not os.path.lexists(git_dir + "/MERGE_HEAD"):
        return []
    from synapse_hooks import operation

    if run.moment == "pre-merge-commit":
        return operation.announced_heads(run.env)
    return operation.merged_heads(git_dir)
