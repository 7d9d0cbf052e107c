"""Repositories of this machine in which something is held and that no team shares yet."""

from __future__ import annotations

from synapse_git import checkout, client, explain
from synapse_git.errors import CheckoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def repositories(env: Mapping[str, str]) -> list[dict[str, Any]]:
    """Each as `{namespace, remotes}`: the ``local:`` namespace of its claims, the URLs of its remotes."""
    worktrees = {
        claim["worktree"]: claim["namespace"] for claim in client.claims(env) if claim["namespace"].startswith("local:")
    }
    if not worktrees:
        return []
    remotes: dict[str, list[str]] = {namespace: [] for namespace in worktrees.values()}
    for item in client.query(env, "/v2/worktrees").document["worktrees"]:
        if namespace := worktrees.get(item["worktree"]):
            remotes[namespace] += _remotes(explain.wire_path(item["root"]), env)
    return [{"namespace": namespace, "remotes": urls} for namespace, urls in remotes.items()]


def _remotes(root: str, env: Mapping[str, str]) -> list[str]:
    try:
        here = checkout.find(root, env)
    except CheckoutError:
        return []
    return [] if "synapse.namespace" in here.settings else here.remotes()
