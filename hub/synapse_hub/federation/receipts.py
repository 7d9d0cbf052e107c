"""From an owner's answer to a receipt by this hub's clocks. Pure. Spec: INV-MH-2."""

from __future__ import annotations

from typing import Any

import msgspec

from synapse_git.constants import CLOCK_DRIFT_SHARE, MINIMUM_TTL_SECONDS, RECEIPT_VALIDITY_SECONDS
from synapse_hub.core.claim import Claim
from synapse_hub.core.commands.team import KeepReceipt


class Sending(msgspec.Struct, frozen=True):
    """The moment before a request first left: by the lease clock and the wall clock, in which boot."""

    boot: float
    wall: float
    boot_id: str


def receipt(document: dict[str, Any], told: dict[str, Any], sending: Sending, principal: str, key: str) -> KeepReceipt:
    """The receipt for the claim ``document``, decided at the ``seq`` and ``now`` of the answer ``told``.

    What was left of the lease when the owner decided is counted from before the request left: the answer may have taken
    any time. A replayed answer carries the owner's present ``now``, so this holds for it as well.

    Raises:
        ValueError: the document is no claim.
    """
    try:
        now = float(told["now"])
        shift = sending.boot - now
        granted, expires = float(document["granted_at"]), float(document["lease_expires_at"])
        valid_s = min((expires - now) * (1 - CLOCK_DRIFT_SHARE), RECEIPT_VALIDITY_SECONDS)
        claim = msgspec.convert(
            {
                **{name: document[name] for name in _SAME},
                "principal": principal,
                "ttl_s": max(expires - granted, MINIMUM_TTL_SECONDS),
                "granted_at": granted + shift,
                "lease_expires_at": expires + shift,
            },
            Claim,
        )
        return KeepReceipt(
            claim=claim,
            hub_id=str(document.get("hub_id", "")),
            owner_seq=int(told["seq"]),
            valid_until=sending.boot + valid_s,
            valid_until_wall=sending.wall + valid_s,
            boot_id=sending.boot_id,
            key=key,
        )
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise ValueError(f"no claim: {error}") from error


_SAME = ("task_id", "namespace", "owner", "worktree", "paths", "epoch", "version", "status", "note", "checkpoint")
