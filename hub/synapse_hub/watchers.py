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


OFF = Standing("off", "nobody holds anything here")


class Watchers:
    """By worktree. Belongs to the event loop."""

    def __init__(self) -> None:
        self._standings: dict[str, Standing] = {}

    def say(self, worktree: str, standing: Standing) -> None:
        self._standings.pop(worktree, None)
        if standing.state != "off" or standing.reason:
            self._standings[worktree] = standing
        while len(self._standings) > _MAX_WATCHED:
            del self._standings[next(iter(self._standings))]

    def of(self, worktree: str, now: float) -> Standing:
        found = self._standings.get(worktree, OFF)
        return OFF if found.foreground and found.at <= now - FOREGROUND_SECONDS else found

    def foreground(self, worktree: str, now: float) -> bool:
        """Does somebody's own command watch it?"""
        found = self.of(worktree, now)
        return found.foreground and found.state != "off"

    def forget(self, *, reason: str) -> None:
        """The hub's own watcher is gone."""
        for worktree, standing in list(self._standings.items()):
            if not standing.foreground:
                self._standings[worktree] = Standing("off", reason)
