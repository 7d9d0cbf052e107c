"""Repositories of this machine in which something is held from before a team shared them, or may be in a moment."""

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
    known = {claim["namespace"]: {"namespace": claim["namespace"], "remotes": []} for claim in held}
    # The register may know by now that a checkout belongs elsewhere; what is held in it does not.
    trees = {claim["worktree"]: claim["namespace"] for claim in held}
    for item in client.query(env, "/v2/worktrees").document["worktrees"]:
        name = trees.get(item["worktree"], item["namespace"])
        if name.startswith("local:"):
            repository = known.setdefault(name, {"namespace": name, "remotes": []})
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
