"""What the journal keeps for itself."""

from __future__ import annotations

from typing import Any

from synapse_hub.core.events.base import Event


class CommandAnswered(Event, frozen=True, tag="command_answered"):
    """The first answer to a keyed command, kept so that a retry gets it again. Spec: INV-CR-1."""

    sender: str
    verb: str
    key: str
    digest: str
    answer: dict[str, Any]


class IncarnationStarted(Event, frozen=True, tag="incarnation_started"):
    """The journal was imported or repaired: epochs go on above ``epoch``, and ``seq`` from ``first_seq``, this row."""

    incarnation: int
    epoch: int
    first_seq: int
    source: str


UpkeepEvent = CommandAnswered | IncarnationStarted
