"""Counts what the hub does, for `GET /v2/metrics`. Gone with the process; the journal is what is remembered."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

from synapse_hub.core.commands import AnyCommand, Keyed
from synapse_hub.core.outcome import Outcome, Refusal

# Upper bounds of the histogram of batches, in seconds.
BOUNDS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)


class Tally:
    """Written by the writer's thread, but for verdicts, which the event loop counts; read from anywhere."""

    def __init__(self) -> None:
        self.commands: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.verdicts: Counter[str] = Counter()
        self.batches = [0] * (len(BOUNDS_S) + 1)
        self.batch_seconds = 0.0

    def answer(self, command: AnyCommand, outcome: Outcome) -> None:
        """One command was answered."""
        if isinstance(outcome, Refusal):
            self.refusals[outcome.reason] += 1
        else:
            inner = command.command if isinstance(command, Keyed) else command
            self.commands[type(inner).__name__] += 1

    def verdict(self, word: str) -> None:
        """One change was judged."""
        self.verdicts[word] += 1

    def batch(self, seconds: float) -> None:
        """One batch was decided, synced and published in so many seconds."""
        self.batches[bisect_left(BOUNDS_S, seconds)] += 1
        self.batch_seconds += seconds
