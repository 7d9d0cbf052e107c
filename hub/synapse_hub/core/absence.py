"""Whether the holder of a claim still shows signs of life, as far as the journal tells. Pure."""

from __future__ import annotations

from synapse_git.constants import EXTEND_BELOW_SHARE, QUIET_HOLDER_SECONDS
from synapse_hub.core.claim import Claim
from synapse_hub.core.state import State


def quiet_s(state: State, claim: Claim, now: float) -> float:
    """For how many seconds, at least, the holder has shown nothing; 0 where that is less than `QUIET_HOLDER_SECONDS`.

    Work moves the end of a lease only once some of it has run, so before that it may have been seen a moment ago. A
    session that ended since tells more.
    """
    if claim.owner in state.names.live:
        return 0.0
    moved_at = claim.lease_expires_at - claim.ttl_s
    since = moved_at + (1 - EXTEND_BELOW_SHARE) * claim.ttl_s
    disconnected = state.names.absent.get(claim.owner)
    if disconnected and disconnected[0] >= moved_at:
        since = disconnected[0]
    quiet = now - since
    return quiet if quiet >= QUIET_HOLDER_SECONDS else 0.0
