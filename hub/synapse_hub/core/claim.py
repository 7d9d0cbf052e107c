"""A claim and its keys."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from synapse_git.protocol.path import WirePath, from_wire
from synapse_git.scope import ROOT, fold

# The status of a claim that was taken away, as it is told, while its scope is not yet given to others.
REVOKED = "revoked"

TaskKey = tuple[str, str]
TreeKey = tuple[str, str]


class Claim(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A granted lease. ``paths`` are as the wire spells them, ``()`` is the whole tree; times are lease-clock seconds.

    ``owner`` is the agent's name, ``principal`` what its quota is charged to.
    """

    task_id: str
    namespace: str
    owner: str
    principal: str
    worktree: str
    paths: tuple[WirePath, ...]
    ttl_s: float
    epoch: int
    version: int = 0
    status: str = "claimed"
    note: str = ""
    granted_at: float
    lease_expires_at: float
    checkpoint: Any = None
    # Taken away, but not given to others until the hub it came through knows.
    revoked: bool = False

    @property
    def key(self) -> TaskKey:
        return (self.namespace, self.task_id)

    @property
    def tree(self) -> TreeKey:
        return tree_key(self.namespace, self.worktree)

    def live(self, now: float) -> bool:
        """Spec: INV-LL-1. At its expiry a lease is over."""
        return self.lease_expires_at > now

    def scope(self) -> list[str]:
        """The paths as they are compared in its tree, each once; the root where the whole tree is claimed."""
        return list(dict.fromkeys(comparable(self.worktree, [from_wire(path) for path in self.paths]))) or [ROOT]


class Held(Protocol):
    """What is known of a claim whoever granted it."""

    @property
    def key(self) -> TaskKey: ...
    @property
    def owner(self) -> str: ...
    @property
    def granted_at(self) -> float: ...


def peer_of(principal: str) -> str:
    """The hub that a principal came through, '' for one of this machine."""
    return principal.partition("/")[0] if "/" in principal else ""


def tree_key(namespace: str, worktree: str) -> TreeKey:
    """A checkout is a tree whatever the namespace; ``""`` is each namespace's own shared tree. Spec: INV-ME-3."""
    return ("", worktree) if worktree else (namespace, "")


def comparable(worktree: str, paths: list[str]) -> list[str]:
    """``paths`` as they are compared: a checkout's client has folded them, in a shared tree hosts differ."""
    return paths if worktree else [fold(path, case=True, compose=True) for path in paths]
