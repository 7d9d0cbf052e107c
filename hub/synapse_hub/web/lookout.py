"""Which worktrees are to be watched now: those that have the guard and somebody in them."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Collection
from functools import partial

from synapse_git.protocol.path import from_wire
from synapse_git.scope import to_bytes
from synapse_hub.core.events.guard import WorktreeRegistered
from synapse_hub.core.overlap import keys
from synapse_hub.core.state import State
from synapse_hub.lookout import Lookout, Wanted
from synapse_hub.watchers import Standing
from synapse_hub.web.desk import Desk

# How often to look without any news, and how long to rest after each look, in seconds.
_IDLE_S = 2.0
_REST_S = 0.2
GUARD = "guard"


async def look_out(desk: Desk, lookout: Lookout) -> None:
    """Keep the watcher in step with the state until cancelled."""
    horizon = Horizon()
    known: frozenset[str] = frozenset()
    async for _ in desk.changes(_IDLE_S):
        while True:
            wanted = _wanted(desk, horizon)
            names = frozenset(one.worktree for one in wanted)
            for worktree in known - names:
                desk.watchers.say(worktree, Standing("off"))
            known = names
            if ended := await asyncio.to_thread(lookout.keep, wanted):
                desk.watchers.forget(reason=ended)
                horizon.cut()
            else:
                horizon.seen()
            await asyncio.sleep(_REST_S)
            if not wanted or lookout.settled(wanted):
                break


class Horizon:
    """From when on changes in each worktree count (Unix seconds): its claims' grant, as far as this hub was there and
    the watcher was not heard of since. What came before, tools may have announced to somebody who forgot.
    """

    def __init__(self) -> None:
        self._started = self._seen = time.time()
        self._since: dict[str, float] = {}

    def of(self, worktree: str, held_for_s: Callable[[], float]) -> float:
        if worktree not in self._since:
            self._since[worktree] = max(self._started, time.time() - held_for_s())
        return self._since[worktree]

    def keep(self, worktrees: Collection[str]) -> None:
        for worktree in self._since.keys() - set(worktrees):
            del self._since[worktree]

    def seen(self) -> None:
        """All is well with the watcher."""
        self._seen = time.time()

    def cut(self) -> None:
        """It has ended, so what it saw, it saw until the last time that all was well."""
        self._since = {worktree: max(at, self._seen) for worktree, at in self._since.items()}


def _wanted(desk: Desk, horizon: Horizon) -> tuple[Wanted, ...]:
    state, now = desk.hub.state, desk.hub.now()
    chosen = sorted(
        worktree
        for worktree, entry in state.worktrees.items()
        if GUARD in entry.layers
        and inhabited(state, entry)
        and os.path.isdir(to_bytes(from_wire(entry.root)))
        and not desk.watchers.foreground(worktree, now)
    )
    horizon.keep(chosen)
    return tuple(
        Wanted(worktree, state.worktrees[worktree].root, horizon.of(worktree, partial(_held_for, state, worktree, now)))
        for worktree in chosen
    )


def _held_for(state: State, worktree: str, now: float) -> float:
    """How long ago the oldest grant in it was made that still stands, in seconds."""
    claims = (state.live(key, now) for key in keys(state.tree(("", worktree))))
    return max((now - claim.granted_at for claim in claims if claim), default=0.0)


def inhabited(state: State, entry: WorktreeRegistered) -> bool:
    """Does anybody hold anything there, or where its files count as well?"""
    if ("", entry.worktree) in state.trees:
        return True
    shared = (entry.namespace, "")
    return bool(entry.namespace) and (shared in state.trees or shared in state.team.trees)
