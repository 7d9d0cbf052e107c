"""The writer's wait for the disk, in which the event loop has the interpreter to itself.

What is needed after a commit, whatever comes of it, may be done in it: of no use to the commit, and free.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

Work = Callable[[], object]


class Pause:
    """Nobody can count on it: the work that the loop did not come to is left to whoever wanted it done."""

    def __init__(self) -> None:
        self._work: dict[asyncio.Future[Any], Work] = {}

    def use(self, work: Work, until: asyncio.Future[Any]) -> None:
        """Do ``work`` in the next one that begins before ``until`` is done."""
        self._work[until] = work
        until.add_done_callback(self._forget)

    def _forget(self, over: asyncio.Future[Any]) -> None:
        self._work.pop(over, None)

    def begin(self) -> None:
        """Called by the writer: it is about to wait."""
        for waiting in list(self._work):
            with suppress(RuntimeError):  # the loop has ended, and with it whoever wanted anything
                waiting.get_loop().call_soon_threadsafe(self._do)
            return

    def _do(self) -> None:
        while self._work:
            self._work.popitem()[1]()
