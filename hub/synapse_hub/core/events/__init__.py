"""What happened: the facts that the journal stores and from which alone the state is made.

A kind, once written, is never renamed and a field never changes its meaning; a new field has a default.
"""

from __future__ import annotations

from typing import get_args

from synapse_hub.core.events.claims import ClaimEvent
from synapse_hub.core.events.guard import GuardEvent
from synapse_hub.core.events.names import NameEvent
from synapse_hub.core.events.talk import TalkEvent
from synapse_hub.core.events.team import TeamEvent
from synapse_hub.core.events.upkeep import UpkeepEvent

AnyEvent = ClaimEvent | GuardEvent | TalkEvent | NameEvent | TeamEvent | UpkeepEvent

KINDS: dict[str, type[AnyEvent]] = {str(kind.__struct_config__.tag): kind for kind in get_args(AnyEvent)}

# Kinds that are evidence: kept when what they stand among is compacted.
AUDIT_KINDS = (
    "claim_denial",
    "guard_denial",
    "guard_override",
    "foreign_edit",
    "lease_expired",
    "claim_released",
    "claim_revoked",
    "namespace_governed",
    "namespace_ceded",
    "namespace_delivered",
    "namespace_inherited",
    "namespace_freed",
    "ownership_contested",
    "ownership_settled",
    "name_reclaimed",
    "incarnation_started",
)


def kind_of(event: AnyEvent) -> str:
    return str(type(event).__struct_config__.tag)
