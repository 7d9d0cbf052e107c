"""How long a lease is and when activity moves its end. Times in seconds."""

from __future__ import annotations

from synapse_git.constants import (
    DEFAULT_TTL_SECONDS,
    EXTEND_BELOW_SHARE,
    MAXIMUM_TTL_SECONDS,
    MINIMUM_TTL_SECONDS,
)
from synapse_git.protocol.body import finite
from synapse_hub.core.claim import Claim
from synapse_hub.core.events.claims import LeaseExtended


def clamp_ttl(requested: object, default: float = DEFAULT_TTL_SECONDS) -> float:
    """A requested length inside the window; what is no finite number means the default. Spec: INV-LL-3."""
    return min(max(finite(requested, default), MINIMUM_TTL_SECONDS), MAXIMUM_TTL_SECONDS)


def extension(claim: Claim, now: float) -> LeaseExtended | None:
    """What activity at ``now`` does to a live claim: nothing while most of the lease is left."""
    if not wants_extension(claim, now):
        return None
    return LeaseExtended(at=now, namespace=claim.namespace, task_id=claim.task_id, lease_expires_at=now + claim.ttl_s)


def reanchored(claim: Claim, ahead_s: float, now: float) -> LeaseExtended:
    """The same lease on a clock that is ``ahead_s`` seconds behind the one it was granted on."""
    expires_at = claim.lease_expires_at - ahead_s
    return LeaseExtended(at=now, namespace=claim.namespace, task_id=claim.task_id, lease_expires_at=expires_at)


def wants_extension(claim: Claim, now: float) -> bool:
    return claim.live(now) and not claim.revoked and claim.lease_expires_at - now < EXTEND_BELOW_SHARE * claim.ttl_s
