"""What is to be carried to the owner of a namespace on behalf of an agent of this hub."""

from __future__ import annotations

import msgspec

from synapse_hub.core.commands.claims import FamilyCommand


class Errand(msgspec.Struct, frozen=True):
    """A command: its route's ``verb``, the body as it came, on whose behalf, under which key, how patiently."""

    verb: str
    raw: bytes
    command: FamilyCommand
    principal: str
    key: str = ""
    wait_s: float = 0.0
