"""Which of one's own live claims a command means, from inside its worktree or from anywhere."""

from __future__ import annotations

from synapse_git import client, explain, identity
from synapse_git.cli import phrase
from synapse_git.errors import Refused, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from synapse_git.checkout import Checkout
    from synapse_git.cli.call import Call


def chosen(call: Call, agent: str) -> dict[str, Any]:
    """The claim that ``-t`` names, else the only one here; ``--epoch``, if given, must be its epoch.

    Raises:
        Refused: NOT_HELD, NOT_OWNER, STALE_EPOCH.
        UsageError: several are meant.
    """
    claim = named(call, agent, task) if (task := call.text("task")) else only(call, agent)
    wanted = call.number("epoch")
    if wanted is not None and wanted != claim["epoch"]:
        raise Refused(
            {
                "reason": "STALE_EPOCH",
                "detail": f"task {claim['task_id']} is at epoch {claim['epoch']}, not {wanted}",
                "fix": f"It moved on, or you mean another: synapse-git show {phrase.shell(claim['task_id'])}",
            }
        )
    return claim


def named(call: Call, agent: str, task: str) -> dict[str, Any]:
    """The agent's claim on ``task``: in this project, else the one there is anywhere. Raises as `chosen`."""
    found = client.claims(call.hub, agent=agent, task_id=task)
    here = call.checkout_if_any()
    near = [claim for claim in found if here and claim["namespace"] == here.namespace()]
    fitting = near or found
    if len(fitting) > 1:
        raise UsageError(
            f"{agent} holds a task {task} in several projects. Go into one of them, or name it: -C DIR\n"
            + "\n".join(f"  {claim['namespace']}: {phrase.paths(claim)}" for claim in fitting)
        )
    if fitting:
        return fitting[0]
    raise _absent(call, agent, task)


def anyones(call: Call, task: str) -> dict[str, Any]:
    """The claim on ``task``, whoever holds it: in this project, else the one there is anywhere. Raises as `chosen`."""
    found = client.claims(call.hub, task_id=task)
    place = call.checkout_if_any()
    fitting = [claim for claim in found if place and claim["namespace"] == place.namespace()] or found
    if len(fitting) > 1:
        raise UsageError(f"a task {task} is held in several projects. Go into the one you mean, or name it: -C DIR")
    if not fitting:
        raise Refused(
            {
                "reason": "NOT_HELD",
                "detail": f"nobody holds task {task}",
                "fix": "See what is held: synapse-git status",
            }
        )
    return fitting[0]


def only(call: Call, agent: str) -> dict[str, Any]:
    """The agent's only live claim in this worktree or in the tree its project shares. Raises as `chosen`."""
    found = here(call, agent)
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"{agent} holds several tasks here. Say which: -t TASK\n"
            + "\n".join(f"  -t {phrase.shell(claim['task_id'])}: {phrase.paths(claim)}" for claim in found)
        )
    raise Refused(
        {
            "reason": "NOT_HELD",
            "detail": f"{agent} holds nothing in this worktree",
            "fix": "See what is held and by whom: synapse-git status",
        }
    )


def here(call: Call, agent: str) -> list[dict[str, Any]]:
    """The agent's live claims in this worktree and in the tree its project shares.

    Raises:
        CheckoutError: outside any checkout.
    """
    place = call.checkout()
    tree = place.tree()
    return [claim for claim in client.claims(call.hub, agent=agent) if _lies_in(claim, tree, place)]


def _lies_in(claim: dict[str, Any], tree: str, place: Checkout) -> bool:
    if claim["worktree"]:
        return bool(claim["worktree"] == tree)
    return bool(claim["namespace"] == place.namespace())


def _absent(call: Call, agent: str, task: str) -> Refused:
    """Why ``agent`` has no such claim: another holds it, or nobody does."""
    others: Sequence[dict[str, Any]] = client.claims(call.hub, task_id=task)
    place = call.checkout_if_any()
    if place:
        others = [claim for claim in others if claim["namespace"] == place.namespace()]
    if not others:
        from synapse_git.cli import hosts

        others = hosts.elsewhere(call, task)
    if not others:
        return Refused(
            {
                "reason": "NOT_HELD",
                "detail": f"{agent} does not hold task {task}",
                "fix": "It was released, or its lease ran out. See what is held: synapse-git status",
            }
        )
    owner = others[0]["owner"]
    ends = explain.moment(others[0]["lease_expires_at"])
    itself = "" if "host" in others[0] else f"If you are {owner}, say so: --agent {phrase.shell(owner)}. Otherwise ask"
    taken = "" if identity.by_agent(call.env) else f". {explain.takeover(others[0])}"
    return Refused(
        {
            "reason": "NOT_OWNER",
            "detail": f"task {task} is held by {owner}, not by {agent}",
            "fix": f"{itself or 'Ask'} {owner} to hand it over, or wait until {ends}{taken}",
            "conflicts": list(others),
        }
    )
