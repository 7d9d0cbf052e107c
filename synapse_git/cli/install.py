"""``install`` and ``uninstall``: the Git hooks of this repository, its ids, and its entry at the hub."""

from __future__ import annotations

import os

from synapse_git import address, binding, client, identity, scope
from synapse_git.cli import arbitration, guard, output, phrase, register, remains, submodules, worktrees
from synapse_git.cli.health import unchecked
from synapse_git.cli.verb import Verb
from synapse_git.errors import AnotherHub, CheckoutError, HubUnreachable, Refused, SynapseError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from synapse_git.checkout import Checkout
    from synapse_git.cli.call import Call


def run(call: Call) -> int:
    """Exit 0: the guard is on. Doing it again changes nothing."""
    here = call.checkout()
    chosen = call.text("agent")
    if chosen:
        identity.checked(chosen, "--agent")
    report = guard.act("install", here.root, call.env)
    report["submodules"] = _submodules(call, here, "install")
    _bind(call, here)
    arbitration.settle(call, here)
    tree, namespace = here.tree(create=True), here.namespace(create=True)
    if chosen:
        identity.set_default_agent(here.outer.git_dir, chosen)
    register.enter(call, here, call.agent(), [register.GUARD])
    register.siblings(call, here)
    for done in unchecked.settle(call, here):
        output.message(done)
    if call.json:
        output.structure({**report, "worktree": tree, "namespace": namespace, "root": here.root, "agent": chosen})
    else:
        _say(report, here, chosen)
    return 0


def _submodules(call: Call, here: Checkout, verb: str) -> list[str]:
    """Do ``verb`` in every submodule that is there: what it holds is held in this tree; those where it was done."""
    found = submodules.roots(dict.fromkeys([here.root, *worktrees.roots(here.root, call.env)]), call.env)
    done = []
    for root, report in guard.act_each(verb, found, call.env).items():
        if isinstance(report, SynapseError):
            output.message(f"note: no {verb} in the submodule {scope.show(root)}: {report}")
        else:
            done.append(scope.show(os.path.relpath(root, here.root)))
    return done


def _bind(call: Call, here: Checkout) -> None:
    """Have one hub grant here: the one that did if it can still be asked, else the one that can be asked now."""
    common_dir = here.outer.common_dir
    try:
        hub = call.hub
        hub_id = client.query(hub, "/v2/health").document["hub_id"]
    except (AnotherHub, CheckoutError):
        hub = call.env
        hub_id = client.query(hub, "/v2/health").document["hub_id"]
        usual = address.configured(hub) or address.state_dir(hub)
        output.message(
            f"note: the hub that granted here cannot be asked; from now on that of {usual} grants, "
            "which knows nothing of what was claimed until now"
        )
        binding.forget(common_dir)
    binding.confirm(hub, common_dir, hub_id)


def _say(report: dict[str, Any], here: Checkout, chosen: str) -> None:
    done = "the guard is on" if report.get("changed", True) else "the guard was on already"
    lines = [f"{done} in {here.root}{_and_inside(report)}: commits of what another agent holds are refused"]
    if chained := report.get("chained"):
        lines.append(f"hooks that were here keep running after it: {', '.join(map(os.path.basename, chained))}")
    if silenced := report.get("silenced"):
        lines.append(
            f"hooks were switched off here (core.hooksPath is {scope.show(silenced)}): the guard runs all the same, no "
            "other hook does. As before again: synapse-git uninstall"
        )
    if chosen:
        lines.append(f"who works here is {chosen} unless somebody says otherwise")
    lines.append("try: synapse-git claim PATH   then: synapse-git status   and, when done: synapse-git release")
    output.result("\n".join(lines))


def undo(call: Call) -> int:
    """Exit 0: the guard is off and every file that it changed is as before. Ids stay where live claims need them."""
    here = call.checkout()
    report = guard.act("uninstall", here.root, call.env)
    report["submodules"] = _submodules(call, here, "uninstall")
    identity.forget_default_agent(here.outer.git_dir)
    if here.tree():
        try:
            register.enter(call, here, call.agent(), [])
            register.siblings(call, here)
        except (HubUnreachable, Refused) as error:
            output.message(f"note: the hub could not be told: {error}")
    # A submodule's work is held in its superproject, whose guard stays.
    kept, why = remains.clear(call, here) if here.outer is here else ([], "")
    if call.json:
        output.structure({**report, "root": here.root, "kept": kept})
        return 0
    if report.get("changed", True):
        output.result(
            f"the guard is off in {here.root}{_and_inside(report)}; hooks that were there before are back\n"
            "put it on again: synapse-git install"
        )
    else:
        output.result(f"there was no guard in {here.root}: nothing to do")
    if kept:
        output.result(f"kept: {', '.join(map(scope.show, kept))}\n{why}")
    return 0


def _and_inside(report: dict[str, Any]) -> str:
    return f" and its submodules {phrase.listed(report['submodules'])}" if report["submodules"] else ""


VERBS = (
    Verb(
        "install",
        run,
        summary="Set up the Git hooks of this repository.",
        help="Put the guard into this repository's Git hooks: from then on a commit that touches what another agent "
        "holds is refused. Hooks that are there keep running. Doing it again changes nothing, and mends what "
        "is broken.",
        examples=(
            ("install", "for this repository, all its worktrees and the submodules that are there"),
            ("install --agent ana", "and whoever works in this worktree is ana unless told otherwise"),
        ),
    ),
    Verb(
        "uninstall",
        undo,
        summary="Remove them again.",
        help="Take the guard out of this repository's Git hooks and put back what was there, byte for byte. Claims "
        "stay until they are released or run out.",
        examples=(("uninstall", "for this repository and all its worktrees"),),
    ),
)
