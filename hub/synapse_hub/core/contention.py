"""Which claims of others meet a set of paths: in its own tree, where they stand in the way, and besides. Pure."""

from __future__ import annotations

from synapse_git.constants import MAX_NAMED_CONFLICTS
from synapse_git.identity import acts_for
from synapse_hub.core import overlap
from synapse_hub.core.absence import quiet_s
from synapse_hub.core.claim import Claim, TaskKey, comparable, tree_key
from synapse_hub.core.events.claims import LeaseExpired, expired
from synapse_hub.core.outcome import Conflict
from synapse_hub.core.state import State


def in_the_way(
    state: State,
    agent: str,
    namespace: str,
    worktree: str,
    paths: tuple[str, ...],
    now: float,
    besides: TaskKey | None = None,
) -> tuple[list[Conflict], list[LeaseExpired]]:
    """Live claims of others that overlap, the first ten; and those met that are over but not written down so.

    ``besides``: a task that does not count.
    """
    tree = state.tree(tree_key(namespace, worktree))
    wanted = comparable(worktree, list(paths)) or [""]
    shown = paths or ("",)
    conflicts: dict[tuple[str, str], tuple[Claim, list[str]]] = {}
    over: dict[tuple[str, str], LeaseExpired] = {}
    for path, spelled in zip(wanted, shown, strict=True):
        for key in overlap.others(tree, path, agent):
            claim = state.claims[key]
            if key == besides:
                continue
            if not claim.live(now):
                over[key] = expired(claim, now)
            elif key in conflicts:
                if spelled not in conflicts[key][1]:
                    conflicts[key][1].append(spelled)
            else:
                conflicts[key] = (claim, [spelled])
            if len(conflicts) >= MAX_NAMED_CONFLICTS:
                break
    found = [
        Conflict(claim, tuple(names[:MAX_NAMED_CONFLICTS]), len(names), quiet_s(state, claim, now))
        for claim, names in conflicts.values()
    ]
    return found, list(over.values())


def besides(state: State, claim: Claim, paths: tuple[str, ...], now: float) -> list[Conflict]:
    """Live claims of others on ``paths`` in trees that count for the same commits as that of ``claim``, the first ten.

    Trees never contend (Spec: INV-ME-3), but a commit in a checkout is held to its own tree and to the shared one.
    """
    found: list[Conflict] = []
    for tree in [""] if claim.worktree else _checkouts(state, claim.namespace):
        # Of most projects nothing is claimed in the shared tree, and every claim comes by here.
        if tree_key(claim.namespace, tree) in state.trees:
            found += in_the_way(state, claim.owner, claim.namespace, tree, paths, now)[0]
    return [one for one in found if not _related(one.claim.owner, claim.owner)][:MAX_NAMED_CONFLICTS]


def _checkouts(state: State, namespace: str) -> list[str]:
    """Those in which anything is claimed: checkouts that were ever registered are many."""
    places = {tree: state.worktrees.get(tree) for project, tree in state.trees if project == ""}
    return sorted(tree for tree, place in places.items() if place is not None and place.namespace == namespace)


def _related(one: str, other: str) -> bool:
    return acts_for(one, other) or acts_for(other, one)
