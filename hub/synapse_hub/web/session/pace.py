"""How fast one may go on: as much as saved up at once, then at a steady rate."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

# Seconds' worth that may be saved up.
_SAVED_S = 2.0


class Pace:
    """``per_second``: steps; ``clock``: monotonic seconds."""

    def __init__(self, per_second: float, clock: Callable[[], float]) -> None:
        self._step_s = 1.0 / per_second
        self._clock = clock
        # When the next step would be due, were none saved up.
        self._due = clock() - _SAVED_S

    async def keep(self) -> None:
        """Wait until one more step is due."""
        if (ahead := self.step()) > 0:
            await asyncio.sleep(ahead)

    def step(self) -> float:
        """Take one step; how many seconds too early that is."""
        now = self._clock()
        self._due = max(self._due, now - _SAVED_S) + self._step_s
        return self._due - now
