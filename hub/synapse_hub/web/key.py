"""The key under which a request takes effect once."""

from __future__ import annotations

import hashlib

from starlette.requests import Request

from synapse_hub.core.commands import Keyed
from synapse_hub.core.commands.claims import FamilyCommand
from synapse_hub.core.commands.guard import RecordForeignEdit
from synapse_hub.web.desk import Rejected, header
from synapse_hub.web.party import principal

_LONGEST = 255
Once = FamilyCommand | RecordForeignEdit


def given_key(request: Request) -> str:
    """The key that came along, '' if none did. Raises: Rejected.

    Between hubs headers are signed, and hold ASCII only: any other key goes by its digest, here as at every owner.
    """
    key = header(request, b"idempotency-key")
    if key is None:
        return ""
    if not 0 < len(key) <= _LONGEST:
        raise Rejected("INVALID_REQUEST", f"an Idempotency-Key is 1 to {_LONGEST} characters")
    plain = key.isascii() and key.isprintable()
    return key if plain else f"sha256-{hashlib.sha256(key.encode()).hexdigest()}"


def keyed(request: Request, verb: str, raw: bytes, command: Once) -> Keyed | Once:
    """``command`` under its key, if it has one, which counts within principal, agent and verb. Spec: INV-CR-1."""
    if not (key := given_key(request)):
        return command
    digest = hashlib.sha256(raw).hexdigest()
    sender = f"{principal(request)}/{command.agent}"
    return Keyed(sender=sender, verb=verb, key=key, digest=digest, command=command)
