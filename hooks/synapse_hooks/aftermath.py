"""What follows on a change that is made: evidence of what moved under others' feet, and claims that go back."""

from __future__ import annotations

import os

from synapse_git import checkout, git
from synapse_hooks import background, moves, relay, settlement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from synapse_git.checkout import Checkout
    from synapse_hooks.run import Run


def follow(run: Run, rest: Sequence[str]) -> bool:
    """One of Git's ``post-…`` hooks. Nothing can be stopped any more, so the answer is always yes.

    ``rest``: what Git gave the hook; before it, for post-rewrite, the hook to run next or ''.
    """
    here = checkout.around_hook(os.getcwd(), run.env)
    run.read_settings(here)
    if run.moment == "post-commit":
        _committed(run, here)
    elif run.moment == "post-merge":
        _merged(run, here)
    elif run.moment == "post-checkout":
        old, new, *_ = rest
        moves.note(run, here, old, new)
    elif run.moment == "post-rewrite":
        _rewritten(run, here, rest)
    return True


def _committed(run: Run, here: Checkout) -> None:
    if not settlement.interrupted(here.git_dir) and background.detach():
        merge = git.ask(["rev-parse", "--quiet", "--verify", "HEAD^2"], run.asking)[0] == 0
        settlement.settle(run, here, ["HEAD"], merged=("HEAD^1" if merge else ""))


def _merged(run: Run, here: Checkout) -> None:
    moves.note(run, here, "ORIG_HEAD", "HEAD")
    if settlement.due(here) and background.detach():
        # Whatever a fast-forward brings was committed elsewhere.
        own = git.ask(["rev-parse", "ORIG_HEAD", "HEAD^1"], run.asking)[1].split()
        settlement.settle(run, here, ["HEAD"] if len(set(own)) == 1 else [], merged="ORIG_HEAD")


def _rewritten(run: Run, here: Checkout, rest: Sequence[str]) -> None:
    following, *arguments = rest
    lines = relay.read_all()
    if arguments[:1] == ["rebase"]:
        # The checkout that a rebase begins with has said it, of what it begins from.
        moves.note(run, here, "ORIG_HEAD", "HEAD", quiet=True)
        if settlement.due(here) and background.detach():
            names = [line.split()[1] for line in os.fsdecode(lines).splitlines()]
            settlement.settle(run, here, names, merged="")
            return
    if following:
        relay.hand_on(lines, [following, *arguments], here.git_dir)
