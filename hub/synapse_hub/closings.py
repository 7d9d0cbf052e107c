"""The claims that are being given back right now, so that an edit can wait for the end of it."""

from __future__ import annotations

import asyncio

from synapse_hub.core.claim import TaskKey


class Closings:
    """Of the event loop alone."""

    def __init__(self) -> None:
        self._keys: list[TaskKey] = []
        self._none = asyncio.Event()
        self._none.set()

    def add(self, key: TaskKey) -> None:
        self._keys.append(key)
        self._none.clear()

    def remove(self, key: TaskKey) -> None:
        self._keys.remove(key)
        if not self._keys:
            self._none.set()

    async def over(self) -> None:
        """Once there are none."""
        await self._none.wait()
