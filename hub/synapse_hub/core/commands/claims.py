"""Commands of claims: taken, kept, changed, handed over, given back, run out."""

from __future__ import annotations

from typing import Any

from synapse_hub.core.commands.base import Acting, Command


class TakeClaim(Acting, frozen=True, kw_only=True):
    """Claim, renew or widen. ``paths``: normalised, ``()`` the whole tree.

    None keeps what a held task has, of ``paths``, ``worktree``, ``ttl_s`` and ``note``.
    """

    principal: str
    namespace: str
    task_id: str
    worktree: str | None
    paths: tuple[str, ...] | None
    ttl_s: float | None = None
    epoch: int | None = None
    add: bool = False
    note: str | None = None


class ReleaseClaim(Acting, frozen=True, kw_only=True):
    """Give back; ``force`` takes it from whoever holds it, for the reason given."""

    namespace: str
    task_id: str
    epoch: int | None = None
    force: bool = False
    reason_text: str = ""


class UpdateTask(Acting, frozen=True, kw_only=True):
    namespace: str
    task_id: str
    epoch: int | None = None
    expected_version: int | None = None
    status: str | None = None
    note: str | None = None


class HandOff(Acting, frozen=True, kw_only=True):
    namespace: str
    task_id: str
    to: str
    epoch: int | None = None


class SaveCheckpoint(Acting, frozen=True, kw_only=True):
    """``data``: any JSON value; null clears."""

    namespace: str
    task_id: str
    data: Any
    epoch: int | None = None


class Heartbeat(Acting, frozen=True, kw_only=True):
    """Extend all live claims of an agent."""


class ExtendLeases(Command, frozen=True):
    """Activity seen on these tasks, each as (namespace, task id)."""

    agent: str
    tasks: tuple[tuple[str, str], ...]


class ExpireDue(Command, frozen=True):
    """Write down leases that are over, each as (namespace, task id)."""

    tasks: tuple[tuple[str, str], ...]


class YieldClaims(Command, frozen=True):
    """These go on at another hub, each as (namespace, task id): end them here."""

    tasks: tuple[tuple[str, str], ...]


class AdoptClaims(Command, frozen=True):
    """These go on in ``namespace``, each as (namespace, task id); ``shared``: on the tree that its checkouts share."""

    namespace: str
    shared: bool
    tasks: tuple[tuple[str, str], ...]


class ClaimEdit(Acting, frozen=True, kw_only=True):
    """An edit is about to be made: refuse it, or claim for its author what of ``paths`` nobody covers yet.

    ``unclaimed``: what to say where nothing can be claimed.
    """

    principal: str
    namespace: str
    worktree: str
    paths: tuple[str, ...]
    unclaimed: str = "allow"


class ReanchorLeases(Command, frozen=True):
    """The clock that everything was written down by was ``ahead_s`` seconds ahead: what is left of leases stays."""

    ahead_s: float


FamilyCommand = TakeClaim | ReleaseClaim | UpdateTask | HandOff | SaveCheckpoint

ClaimCommand = (
    FamilyCommand | Heartbeat | ExtendLeases | ExpireDue | YieldClaims | AdoptClaims | ClaimEdit | ReanchorLeases
)
