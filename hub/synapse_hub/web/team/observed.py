"""What peers told of their journals: shown, and nothing else. Spec: INV-MH-2."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from synapse_hub.federation.observation.tidings import ClaimHeld
from synapse_hub.web import answer
from synapse_hub.web.claims import cursor, limit, write_cursor
from synapse_hub.web.desk import Desk, Rejected
from synapse_hub.web.party import peer

Key = tuple[str, str]


async def observed(desk: Desk, request: Request) -> Response:
    """``GET /v2/observed?peer=ID&limit=N&after=CURSOR``: `{claims, next}`, what the peer tells that is held."""
    if peer(request):
        raise Rejected("NOT_AUTHORISED", "what others told is not handed on", "Ask whoever grants there")
    if unknown := set(request.query_params) - {"peer", "limit", "after"}:
        raise Rejected("INVALID_REQUEST", f"unknown filter {min(unknown)}", "Filters are peer, limit, after")
    name = request.query_params.get("peer", "")
    most, after = limit(request.query_params.get("limit")), cursor(request.query_params.get("after"))
    now = desk.hub.now()
    found = desk.embassy.observed.get(name)
    page, more = found.view.page(now, after, most) if found else ([], False)
    following = write_cursor(page[-1].key) if more else None
    return answer.document({"claims": [_document(one) for one in page], "next": following}, desk.hub.state.seq, now)


def _document(claim: ClaimHeld) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(claim)
    del document["kind"]
    return document


def standing(desk: Desk, name: str) -> dict[str, Any]:
    """How fresh what is known of the peer is: `{standing, heard_at, detail, claims}`, as `GET /v2/team` tells it.

    ``standing``: ``following``, ``unreachable``, ``starting``, or ``silent`` of one that has no address.
    """
    found = desk.embassy.observed.get(name)
    if found is None:
        return {"standing": "silent", "heard_at": None, "detail": "", "claims": 0}
    left_out = found.view.left_out
    return {
        "standing": found.standing,
        "heard_at": found.heard_at,
        "detail": found.trouble or (f"{left_out} more claims are not remembered" if left_out else ""),
        "claims": len(found.view),
    }
