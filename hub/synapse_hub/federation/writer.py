"""The hub's own writer, as what speaks to other hubs sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from synapse_hub.core.commands import AnyCommand
from synapse_hub.hub import Answered

Transact = Callable[[AnyCommand], asyncio.Future[Answered]]


class Writer(Protocol):
    """A `Transact` that takes along what may be done while it waits for the disk."""

    def __call__(
        self, command: AnyCommand, meanwhile: Callable[[], object] | None = None, /
    ) -> asyncio.Future[Answered]: ...
