"""What the agents of the hub that asks hold here: so that it knows which of its receipts still count."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response

from synapse_hub.core.claim import Claim
from synapse_hub.core.outcome import claim_document
from synapse_hub.core.team.decide import contests
from synapse_hub.federation.assertion import assertions
from synapse_hub.web import answer
from synapse_hub.web.desk import Desk, Rejected
from synapse_hub.web.party import peer


async def receipts(desk: Desk, request: Request) -> Response:
    """``GET /v2/receipts``: `{claims, revoked, owns, deeds}`; what was taken away: to be released once unused."""
    hub = peer(request)
    if not hub:
        raise Rejected("NOT_AUTHORISED", "receipts are for other hubs", "Ask for claims: GET /v2/claims")
    await hear(desk, request, hub)
    state, now = desk.hub.state, desk.hub.now()
    # By whom they are held, and not by whose request: what was handed over went to whom it was handed.
    held = [keys for name, keys in state.by_owner.items() if name.startswith(f"{hub}/")]
    claims = [claim for keys in held for key in keys if (claim := state.live(key, now))]
    return answer.document(
        {
            "claims": [claim_document(one) | {"hub_id": desk.hub.hub_id} for one in claims if not one.revoked],
            "revoked": [_revoked(one) for one in claims if one.revoked],
            "owns": desk.team.owned(),
            "deeds": desk.team.deeds(),
        },
        state.seq,
        now,
    )


async def hear(desk: Desk, request: Request, hub: str) -> None:
    """What the hub that asks says it owns. Spec: INV-CR-4."""
    owns = [unquote(name) for name in request.headers.get("synapse-owns", "").split(",") if name]
    for assertion in assertions(desk.team, hub, owns):
        if contests(desk.hub.state.team, assertion):
            await desk.transact(assertion)


def _revoked(claim: Claim) -> dict[str, Any]:
    return {"namespace": claim.namespace, "task_id": claim.task_id, "owner": claim.owner, "epoch": claim.epoch}
