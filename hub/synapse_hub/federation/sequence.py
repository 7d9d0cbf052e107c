"""In which order hubs sent what they ask for one task: what was overtaken on the way counts no more.

A request may lie in the sockets of an owner that stands still, while its hub has given it up and asks something else.
"""

from __future__ import annotations

import math

from synapse_git.constants import FORWARD_DOUBT_SECONDS
from synapse_hub.core.claim import TaskKey

_FALLS_APART_S = 3600.0


class _Voice:
    """``number``: the last that counted, at the instant ``at``; ``fell_at``: when one that was lower did."""

    def __init__(self) -> None:
        self.number = 0
        self.at = 0.0
        self.fell_at = -math.inf


class Sequence:
    """The latest, for as long as an earlier one can arrive. What was signed before a restart does not."""

    def __init__(self) -> None:
        self._latest: dict[tuple[str, TaskKey], tuple[int, float]] = {}
        self._voices: dict[str, _Voice] = {}

    def __len__(self) -> int:
        return len(self._latest)

    def overtaken(self, hub: str, task: TaskKey, number: int, now: float) -> bool:
        """Was a later request of ``hub`` for ``task`` let in before the one of this ``number``? If not, note it."""
        self._forget(now)
        latest, _ = self._latest.pop((hub, task), (0, 0.0))
        self._latest[hub, task] = (max(latest, number), now)
        return number < latest

    def forked(self, hub: str, number: int, now: float) -> bool:
        """Do two journals speak for ``hub``, and is this the one that lies behind?

        Numbers of one journal rise. One that was put back to an earlier day falls once; of two that were one journal
        they go up and down within the hour.
        """
        voice = self._voices.setdefault(hub, _Voice())
        if number > voice.number:
            voice.number, voice.at = number, now
        elif number < voice.number and now > voice.at + FORWARD_DOUBT_SECONDS:
            if now < voice.fell_at + _FALLS_APART_S:
                return True
            voice.number, voice.at, voice.fell_at = number, now, now
        return False

    def _forget(self, now: float) -> None:
        """They lie in the order in which they came last."""
        while self._latest:
            oldest = next(iter(self._latest))
            if self._latest[oldest][1] > now - FORWARD_DOUBT_SECONDS:
                return
            del self._latest[oldest]
