"""Work that is done round after round, and at once where somebody knows that there is some."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from contextlib import suppress

from synapse_git.constants import RECEIPT_REFRESH_SECONDS


class Rounds(ABC):
    """One task on the event loop."""

    def __init__(self) -> None:
        self._soon = asyncio.Event()

    def nudge(self) -> None:
        """Do not wait for the next round."""
        self._soon.set()

    async def run(self) -> None:
        """For ever."""
        while True:
            await self.deliver()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._soon.wait(), RECEIPT_REFRESH_SECONDS)
            self._soon.clear()

    @abstractmethod
    async def deliver(self) -> None:
        """One round."""
