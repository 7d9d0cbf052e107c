"""Before a push: do the commits that leave change what others hold here? The policy says what follows."""

from __future__ import annotations

import os

from synapse_git import checkout, explain, identity, policy
from synapse_git.errors import HubUnreachable, Refused
from synapse_hooks import changes, commits, gate, operation, refusal, relay, verdict
from synapse_hooks.run import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from synapse_git.checkout import Checkout
    from synapse_git.policy import Policy
    from synapse_hooks.refusal import Circumstances
    from synapse_hooks.run import Run


def judge(run: Run, rest: Sequence[str]) -> bool:
    """May the push go on? ``rest``: the hook to run next or '', then what Git gave: the remote's name and URL."""
    following, *arguments = rest
    lines = relay.read_all()
    here = checkout.around_hook(os.getcwd(), run.env)
    run.read_settings(here)
    wanted = policy.of(here)
    if wanted.pre_push != "off" and not _passes(run, here, wanted, lines, arguments[0] if arguments else ""):
        return False
    if following:
        relay.hand_on(lines, [following, *arguments], here.git_dir)
    return True


def _passes(run: Run, here: Checkout, wanted: Policy, lines: bytes, remote: str) -> bool:
    tree, namespace = here.tree(), here.namespace()
    leaving, known = parse(os.fsdecode(lines))
    if not leaving or not (tree or namespace):
        return True
    paths = commits.leaving(run.asking, leaving, known, remote)
    if not paths:
        return True
    spelled = changes.spelled(paths, here)
    agent = identity.who(None, run.env, here.outer.git_dir)
    change = verdict.Change(agent, namespace, tree, "push", spelled, spelled)
    if wanted.pre_push == "warn":
        _warn(change, run, here)
        return True

    def circumstances() -> Circumstances:
        return refusal.Circumstances(operation.Operation("push", "", "git push …"), paths, spelled)

    return gate.passes(change, circumstances, wanted, run, here)


def parse(lines: str) -> tuple[list[str], list[str]]:
    """Of ``LOCAL_REF LOCAL REMOTE_REF REMOTE`` lines: the commits that are sent, and those that are there already."""
    leaving, known = [], []
    for line in lines.splitlines():
        _, local, _, remote = line.rsplit(" ", 3)
        if local.strip("0"):
            leaving.append(local)
        if remote.strip("0"):
            known.append(remote)
    return leaving, known


def _warn(change: verdict.Change, run: Run, here: Checkout) -> None:
    try:
        verdict.ask(change, run.hub(here))
    except Refused as refused:
        say("warning: this pushes what others hold\n" + explain.problem(refused.problem))
    except HubUnreachable as error:
        say(f"warning: nobody can tell whether this pushes what others hold. {error.reason}: {error}")
