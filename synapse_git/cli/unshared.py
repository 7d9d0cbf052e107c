"""Repositories of this machine in which something is held from before a team shared them."""

from __future__ import annotations

from synapse_git import checkout, client, explain
from synapse_git.errors import CheckoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def repositories(env: Mapping[str, str]) -> list[dict[str, Any]]:
    """Each as `{namespace, remotes, configured}`; the first is the ``local:`` one of its claims."""
    held = [claim for claim in client.claims(env) if claim["namespace"].startswith("local:")]
    if not held:
        return []
    known = {claim["namespace"]: {"namespace": claim["namespace"], "remotes": []} for claim in held}
    # The register may know by now that a checkout belongs elsewhere; what is held in it does not.
    trees = {claim["worktree"]: claim["namespace"] for claim in held}
    for item in client.query(env, "/v2/worktrees").document["worktrees"]:
        if repository := known.get(trees.get(item["worktree"], item["namespace"])):
            _tell(repository, explain.wire_path(item["root"]), env)
    return list(known.values())


def _tell(repository: dict[str, Any], root: str, env: Mapping[str, str]) -> None:
    """Add what the checkout at ``root`` says."""
    try:
        here = checkout.find(root, env)
    except CheckoutError:
        return
    if configured := here.settings.get("synapse.namespace"):
        repository["configured"] = configured
    else:
        repository["remotes"] += here.remotes()
