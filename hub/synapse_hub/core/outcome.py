"""What a decision comes to: events with an answer, or a refusal. Both are data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from synapse_git.protocol.path import paths_to_wire
from synapse_hub.core.claim import REVOKED, Claim
from synapse_hub.core.events import AnyEvent
from synapse_hub.core.events.base import Holder


class Conflict(msgspec.Struct, frozen=True):
    """A claim in the way, and up to ten of the judged paths (of ``changed_total``) that it is in the way of.

    ``quiet_s``: as `absence.quiet_s` tells it.
    """

    claim: Claim
    changed: tuple[str, ...] = ()
    changed_total: int = 0
    quiet_s: float = 0.0

    def document(self) -> dict[str, Any]:
        """As it stands in ``conflicts`` on the wire."""
        claim = self.claim
        return {
            "task_id": claim.task_id,
            "namespace": claim.namespace,
            "owner": claim.owner,
            "paths": list(claim.paths),
            "worktree": claim.worktree,
            "lease_expires_at": claim.lease_expires_at,
            "note": claim.note,
            "changed": paths_to_wire(self.changed),
            "changed_total": self.changed_total,
        } | ({"quiet_s": self.quiet_s} if self.quiet_s else {})

    def holder(self) -> Holder:
        return Holder(self.claim.namespace, self.claim.task_id, self.claim.owner)


class Decided(msgspec.Struct, frozen=True):
    """``answer``: the members of the body, without ``seq`` and ``now``."""

    events: Sequence[AnyEvent]
    answer: dict[str, Any]


class Refusal(msgspec.Struct, frozen=True):
    """An expected "no". ``events`` are its evidence and change no lease; ``deed``: to whom the namespace went."""

    reason: str
    detail: str
    fix: str = ""
    conflicts: Sequence[Conflict] = ()
    events: Sequence[AnyEvent] = ()
    deed: dict[str, str] | None = None


Outcome = Decided | Refusal


def claim_document(claim: Claim) -> dict[str, Any]:
    """A claim on the wire, without the hub's id."""
    return {
        "task_id": claim.task_id,
        "namespace": claim.namespace,
        "owner": claim.owner,
        "worktree": claim.worktree,
        "paths": list(claim.paths),
        "status": REVOKED if claim.revoked else claim.status,
        "note": claim.note,
        "epoch": claim.epoch,
        "version": claim.version,
        "granted_at": claim.granted_at,
        "lease_expires_at": claim.lease_expires_at,
        "checkpoint": claim.checkpoint,
    }
