"""What can be asked of the hub: imperative, already parsed, with the principal the connection proved."""

from __future__ import annotations

from synapse_hub.core.commands.base import Command
from synapse_hub.core.commands.claims import ClaimCommand, FamilyCommand
from synapse_hub.core.commands.guard import GuardCommand, RecordForeignEdit, RecordOverride
from synapse_hub.core.commands.names import NameCommand
from synapse_hub.core.commands.talk import TalkCommand
from synapse_hub.core.commands.team import InheritNamespace, TeamCommand


class ProbeJournal(Command, frozen=True):
    """Nothing but a trip through the write path, for health."""


class Keyed(Command, frozen=True):
    """``command`` with an idempotency key; ``digest`` tells two requests under one key apart. Spec: INV-CR-1."""

    sender: str
    verb: str
    key: str
    digest: str
    command: FamilyCommand | RecordOverride | RecordForeignEdit


AnyCommand = (
    ClaimCommand | GuardCommand | TeamCommand | InheritNamespace | TalkCommand | NameCommand | ProbeJournal | Keyed
)
