"""Tell the hub about a worktree: where it is, whose branch it has, which layers cover it. Shown, never granted from."""

from __future__ import annotations

import os
from contextlib import suppress

from synapse_git import checkout, client, explain, gitdir, scope
from synapse_git.cli import guard, output, whereabouts, worktrees
from synapse_git.errors import CheckoutError, SynapseError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from synapse_git.checkout import Checkout
    from synapse_git.cli.call import Call

GUARD = "guard"
TOOLS = "tools"


def announce(call: Call, here: Checkout, agent: str) -> None:
    """Register the worktree beside a command that succeeded: that it could not be registered is worth a note only."""
    covered = guard.standing(here.outer.root, call.env).cover
    try:
        enter(call, here, agent, [GUARD] if covered else [])
    except SynapseError as error:
        output.message(f"note: the worktree is not listed in status yet: {error}")


def enter(call: Call, here: Checkout, agent: str, layers: Sequence[str]) -> None:
    """Register the worktree that ``here`` belongs to. Raises as `client.command` does."""
    outer = here.outer
    tree = outer.tree(create=True)
    namespace = outer.namespace(create=True)
    body = {
        "worktree": tree,
        "root": scope.to_wire(outer.root),
        "repository": _repository(outer),
        "namespace": namespace,
        "branch": gitdir.branch(outer.git_dir),
        "agent": agent,
        "layers": list(layers),
    }
    answer = client.command(call.hub, "/v2/worktrees", body).document
    if remark := explain.relocation(answer, namespace):
        output.message(f"note: {remark}")
    if not answer.get("stayed"):
        whereabouts.note(outer)


def siblings(call: Call, here: Checkout) -> None:
    """The hooks are the repository's: its other worktrees, where they are known, are covered or bare just the same."""
    places = {}
    for root in worktrees.roots(here.root, call.env):
        with suppress(CheckoutError):  # a broken one is no concern of this command
            place = checkout.find(root, call.env)
            if place.tree() and place.root != here.root:
                places[place.root] = place
    for root, standing in guard.survey(places, call.env).items():
        enter(call, places[root], "", [GUARD] if standing.cover else [])


def layers(env: Mapping[str, str]) -> dict[str, list[str]]:
    """The layers that each worktree which has any, or somebody in it, was last said to have, by its root.

    Raises as `client.query` does.
    """
    known = client.query(env, "/v2/worktrees").document["worktrees"]
    return {explain.wire_path(item["root"]): item["layers"] for item in known if item["layers"] or item["agents"]}


def branch_at(root: str, known: str) -> str:
    """The branch checked out at ``root``, ``known`` where nothing stands there."""
    git_dir = gitdir.at(root)
    return gitdir.branch(git_dir) if os.path.isdir(git_dir) else known


def _repository(here: Checkout) -> str:
    """What worktrees of one repository have in common, for people: where it lies."""
    return os.fsencode(here.common_dir).decode("utf-8", "replace")
