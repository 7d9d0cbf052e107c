"""What owners said, on its way to the record: soon, together with what is asked next, while agents hear of it already.

Should it be lost, the intent still stands, and with it the receipt covers nothing until the owner is asked.
"""

from __future__ import annotations

import asyncio

from synapse_hub.core.commands import AnyCommand
from synapse_hub.federation.writer import Transact
from synapse_hub.hub import Answered

# An agent that has just heard the answer may ask the next thing at once. What is written meanwhile would be in its way.
_SOON_S = 0.003
# Whoever looks at receipts waits for those that are being written, but not for a disk that hangs.
_PATIENCE_S = 0.5


class Settling:
    """On the event loop only. ``transact``: the hub's own writer."""

    def __init__(self, transact: Transact) -> None:
        self._transact = transact
        self._heard: list[AnyCommand] = []
        self._soon: asyncio.TimerHandle | None = None
        self._written: set[asyncio.Future[Answered]] = set()

    def add(self, consequence: AnyCommand) -> None:
        """Put it on record before long."""
        self._heard.append(consequence)
        self._soon = self._soon or asyncio.get_running_loop().call_later(_SOON_S, self.write)

    def write(self) -> None:
        """Have it written with what the writer is asked next."""
        if self._soon:
            self._soon.cancel()
            self._soon = None
        heard, self._heard = self._heard, []
        for consequence in heard:
            written = self._transact(consequence)
            self._written.add(written)
            written.add_done_callback(self._written.discard)

    async def over(self) -> None:
        """Comes back once all of it is on record, or cannot be put there soon."""
        self.write()
        if self._written:
            await asyncio.wait(self._written, timeout=_PATIENCE_S)
