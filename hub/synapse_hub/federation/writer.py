"""The hub's own writer, as what speaks to other hubs sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from synapse_hub.core.commands import AnyCommand
from synapse_hub.hub import Answered

Transact = Callable[[AnyCommand], asyncio.Future[Answered]]
