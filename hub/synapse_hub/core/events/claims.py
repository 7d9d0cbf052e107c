"""What happens to claims, and what was refused to whom in their name."""

from __future__ import annotations

from typing import Any

from synapse_git.protocol.path import WirePath
from synapse_hub.core.claim import Claim
from synapse_hub.core.events.base import Event, Holder


class ClaimGranted(Event, frozen=True, tag="claim_granted"):
    """A new claim, a renewal or a takeover after expiry, as ``cause`` says. Spec: INV-EF-1."""

    claim: Claim
    cause: str


class LeaseExtended(Event, frozen=True, tag="lease_extended"):
    """Activity moved the expiry; epoch and version stand."""

    namespace: str
    task_id: str
    lease_expires_at: float


class ClaimReleased(Event, frozen=True, tag="claim_released"):
    """Given back, or taken away (``forced``) by ``by`` for the reason in ``reason_text``."""

    namespace: str
    task_id: str
    owner: str
    by: str
    forced: bool = False
    reason_text: str = ""


class TaskUpdated(Event, frozen=True, tag="task_updated"):
    """Spec: INV-EF-3."""

    namespace: str
    task_id: str
    version: int
    status: str
    note: str


class TaskHandedOff(Event, frozen=True, tag="task_handed_off"):
    """``claim`` is the recipient's, with a fresh epoch. Spec: INV-CR-2."""

    giver: str
    claim: Claim


class CheckpointSaved(Event, frozen=True, tag="checkpoint_saved"):
    """Spec: INV-CR-3."""

    namespace: str
    task_id: str
    data: Any


class LeaseExpired(Event, frozen=True, tag="lease_expired"):
    """Spec: INV-LL-2."""

    namespace: str
    task_id: str
    owner: str
    epoch: int


class ClaimDenied(Event, frozen=True, tag="claim_denial"):
    """Evidence that a claim was refused; touches no lease. Spec: INV-RR-3."""

    agent: str
    namespace: str
    task_id: str
    worktree: str
    reason: str
    paths: tuple[WirePath, ...]
    holders: tuple[Holder, ...]


ClaimEvent = (
    ClaimGranted
    | LeaseExtended
    | ClaimReleased
    | TaskUpdated
    | TaskHandedOff
    | CheckpointSaved
    | LeaseExpired
    | ClaimDenied
)


def expired(claim: Claim, at: float) -> LeaseExpired:
    return LeaseExpired(at=at, namespace=claim.namespace, task_id=claim.task_id, owner=claim.owner, epoch=claim.epoch)
