"""Bodies of answers: plain documents, and problem documents for what was refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

from synapse_git import __version__
from synapse_git.constants import WIRE_PROTOCOL_VERSION
from synapse_git.errors import REASONS
from synapse_git.protocol.body import PROBLEM_TYPE
from synapse_hub.core.outcome import Refusal
from synapse_hub.hub import Answered

HEADERS = {"Synapse-Protocol": str(WIRE_PROTOCOL_VERSION), "Synapse-Hub-Version": __version__}


def document(body: Mapping[str, Any], seq: int, now: float, headers: Mapping[str, str] | None = None) -> Response:
    """200 with ``body`` and what it was decided at."""
    content = msgspec.json.encode({**body, "seq": seq, "now": now})
    return Response(content, media_type="application/json", headers={**HEADERS, **(headers or {})})


def problem(refusal: Refusal, seq: int, now: float, status: int = 0) -> Response:
    """A refusal as an answer. ``status``: another than its reason has."""
    body = problem_document(refusal, seq, now)
    body["status"] = status or body["status"]
    return Response(msgspec.json.encode(body), body["status"], media_type=PROBLEM_TYPE, headers=HEADERS)


def problem_document(refusal: Refusal, seq: int, now: float) -> dict[str, Any]:
    """A refusal as RFC 9457 has it."""
    body: dict[str, Any] = {
        "type": f"urn:synapse-git:reason:{refusal.reason}",
        "title": refusal.reason.replace("_", " ").capitalize(),
        "status": REASONS[refusal.reason][0],
        "reason": refusal.reason,
        "detail": refusal.detail,
        "seq": seq,
        "now": now,
    }
    if refusal.fix:
        body["fix"] = refusal.fix
    if refusal.conflicts:
        body["conflicts"] = [conflict.document() for conflict in refusal.conflicts]
    if refusal.deed:
        body["deed"] = refusal.deed
    return body


def of(answered: Answered, headers: Mapping[str, str] | None = None, **members: Any) -> Response:
    """Whatever the hub decided; ``members`` are added to a positive answer."""
    outcome = answered.outcome
    if isinstance(outcome, Refusal):
        return problem(outcome, answered.seq, answered.now)
    return document({**outcome.answer, **members}, answered.seq, answered.now, headers)
