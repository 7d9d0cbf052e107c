"""What is on its way to the writer: all that one turn of the event loop asks is handed over together.

So they share a commit, and the writer wakes once, when the loop has nothing else to do, instead of fighting it for
the interpreter after the first. Order is kept: whatever the loop asks of the hub goes this way.
"""

from __future__ import annotations

import asyncio

from synapse_hub.core.commands import AnyCommand
from synapse_hub.hub import Answered, Hub, Reply
from synapse_hub.waiting import Patience


class Outbox:
    """Belongs to the event loop."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._waiting: list[tuple[AnyCommand, Reply, Patience | None]] = []

    def put(self, command: AnyCommand, reply: Reply, patience: Patience | None = None) -> None:
        """As `Hub.submit`, at the end of this turn."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._hand_over)
        self._waiting.append((command, reply, patience))

    def leave(self, command: AnyCommand) -> None:
        """Have ``command`` done without waiting for it."""
        self.put(command, _ignore)

    def _hand_over(self) -> None:
        waiting, self._waiting = self._waiting, []
        for command, reply, patience in waiting:
            self._hub.submit(command, reply, patience)


def _ignore(_: Answered) -> None:
    pass
