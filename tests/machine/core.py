"""The pure core under a state machine: decided, and stored as the journal stores it."""

from __future__ import annotations

from hypothesis.stateful import RuleBasedStateMachine

from synapse_hub.core.commands import AnyCommand
from synapse_hub.core.decide import decide
from synapse_hub.core.outcome import Outcome
from synapse_hub.core.state import State, apply_all
from synapse_hub.journal.record import GENESIS, Record, seal


class CoreMachine(RuleBasedStateMachine):
    """Drives `decide` and `apply`; every event also goes through its row in the journal and back."""

    def __init__(self) -> None:
        super().__init__()
        self.state = State()
        self.rows: list[Record] = []
        self.now = 1000.0

    def do(self, command: AnyCommand) -> Outcome:
        outcome = decide(self.state, command, self.now)
        first = len(self.rows)
        for event in outcome.events:
            previous = self.rows[-1].hash if self.rows else GENESIS
            self.rows.append(seal(event, len(self.rows) + 1, 1, "batch", previous))
        self.state = apply_all(self.state, [row.event() for row in self.rows[first:]])
        return outcome
