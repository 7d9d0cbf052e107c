"""How each worktree is watched, as watchers last said it: volatile, since a watcher says it again and again."""

from __future__ import annotations

import msgspec

# A watcher in somebody's terminal that was not heard of for so long is gone; it speaks up three times as often.
FOREGROUND_SECONDS = 60.0
_MAX_WATCHED = 4096


class Standing(msgspec.Struct, frozen=True):
    """``state``: live, degraded or off, and the ``reason`` of the latter two; ``at``: when it was said."""

    state: str
    reason: str = ""
    foreground: bool = False
    at: float = 0.0


OFF = Standing("off")


class Watchers:
    """By worktree, the hub's own and those in terminals apart. Belongs to the event loop."""

    def __init__(self) -> None:
        self._standings: dict[tuple[str, bool], Standing] = {}

    def say(self, worktree: str, standing: Standing) -> None:
        key = (worktree, standing.foreground)
        self._standings.pop(key, None)
        if standing.state != "off" or standing.reason:
            self._standings[key] = standing
        while len(self._standings) > _MAX_WATCHED:
            del self._standings[next(iter(self._standings))]

    def of(self, worktree: str, now: float) -> Standing:
        """How it is watched; by whoever watches, where one does and another does not."""
        own = self._standings.get((worktree, False), OFF)
        return self._standings[worktree, True] if self.foreground(worktree, now) else own

    def foreground(self, worktree: str, now: float) -> bool:
        """Does somebody's own command watch it?"""
        found = self._standings.get((worktree, True), OFF)
        return found.state != "off" and found.at > now - FOREGROUND_SECONDS

    def forget(self, *, reason: str) -> None:
        """The hub's own watcher is gone."""
        for worktree, foreground in self._standings:
            if not foreground:
                self._standings[worktree, False] = Standing("off", reason)
