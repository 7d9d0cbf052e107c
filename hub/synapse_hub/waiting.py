"""Claims that wait for others to end: in order of arrival, holding nothing, gone with their connection.

Belongs to the writer's thread. Nothing here is durable: after a restart whoever still wants to waits anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from synapse_git.constants import MAX_WAITERS
from synapse_hub.core.outcome import Refusal

# Refusals that time may heal.
_PASSING = ("LEASE_LIVE", "SCOPE_CONFLICT")


class Patience(msgspec.Struct, frozen=True):
    """How long a request waits, in lease-clock seconds, and whether its asker is still there."""

    until: float
    alive: Callable[[], bool]


class Waiter(msgspec.Struct, frozen=True):
    """``place`` tells waiters apart and orders them; ``owners``: whom it waits for."""

    place: int
    agent: str
    patience: Patience
    refusal: Refusal
    owners: frozenset[str]


class WaitingRoom:
    """Who waits for whom."""

    def __init__(self) -> None:
        self._waiters: dict[int, Waiter] = {}

    def __len__(self) -> int:
        return len(self._waiters)

    def next_at(self) -> float | None:
        """When the first patience ends, or None."""
        return min((waiter.patience.until for waiter in self._waiters.values()), default=None)

    def admit(self, place: int, agent: str, patience: Patience, refusal: Refusal, now: float) -> Refusal | None:
        """Let a refused request wait. A refusal where it must not: nothing passing, over, or in a circle."""
        if refusal.reason not in _PASSING or patience.until <= now or not patience.alive():
            return refusal
        # What was taken away ends by itself, whatever its holder waits for.
        owners = frozenset(conflict.claim.owner for conflict in refusal.conflicts if not conflict.claim.revoked)
        self._waiters.pop(place, None)
        if self._reaches(owners, agent):
            return Refusal(
                "WAIT_CYCLE",
                f"{', '.join(sorted(owners))} already waits for {agent}, so neither would ever end",
                "Release what they wait for, or take the work in another order",
                refusal.conflicts,
            )
        if len(self._waiters) >= MAX_WAITERS:
            return Refusal("QUOTA_EXCEEDED", f"{MAX_WAITERS} claims wait already", "Try again later")
        self._waiters[place] = Waiter(place, agent, patience, refusal, owners)
        return None

    def _reaches(self, owners: Iterable[str], agent: str) -> bool:
        """Does anyone of ``owners`` wait, directly or through others, for ``agent``?"""
        seen: set[str] = set()
        pending = set(owners)
        while pending:
            if agent in pending:
                return True
            seen |= pending
            pending = {
                owner for waiter in self._waiters.values() if waiter.agent in pending for owner in waiter.owners
            } - seen
        return False

    def leave(self, place: int) -> None:
        """Granted, or gone."""
        self._waiters.pop(place, None)

    def places(self) -> list[int]:
        """All who wait, in order of arrival."""
        return sorted(self._waiters)

    def ended(self, now: float) -> list[Waiter]:
        """Take out those whose patience or connection is over."""
        over = [one for one in self._waiters.values() if one.patience.until <= now or not one.patience.alive()]
        for waiter in over:
            del self._waiters[waiter.place]
        return over
