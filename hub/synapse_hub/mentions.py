"""Up to which message each agent was told that something waits for it: volatile, bounded, of the event loop alone."""

from __future__ import annotations

_MOST = 4096


class Mentions:
    """A line that comes with every edit would not be read any more. Lost with the hub, so a line may come once more."""

    def __init__(self) -> None:
        self._told: dict[str, int] = {}

    def everyone(self) -> set[str]:
        """Who was told of anything, as far as it is remembered."""
        return set(self._told)

    def note(self, agent: str, seq: int) -> bool:
        """``agent`` is told of what waits, the message ``seq`` being the last of it; was that one not told of?"""
        before = self._told.pop(agent, 0)
        self._told[agent] = max(seq, before)
        while len(self._told) > _MOST:
            del self._told[next(iter(self._told))]
        return seq > before
