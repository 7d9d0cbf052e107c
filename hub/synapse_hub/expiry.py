"""Which leases end next: a heap that follows the state, so that nothing is scanned."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from synapse_hub.core.claim import TaskKey
from synapse_hub.core.events import AnyEvent
from synapse_hub.core.events.claims import ClaimGranted, TaskHandedOff
from synapse_hub.core.events.team import ClaimRevoked
from synapse_hub.core.state import State


class DueLeases:
    """One entry for each grant, told from later ones by its epoch; an extension is found when the entry comes up."""

    def __init__(self, state: State) -> None:
        self._heap = [(claim.lease_expires_at, claim.epoch, key) for key, claim in state.claims.items()]
        heapq.heapify(self._heap)

    def next_at(self) -> float | None:
        """The earliest instant at which a lease may end, or None."""
        return self._heap[0][0] if self._heap else None

    def follow(self, events: Iterable[AnyEvent]) -> None:
        """Take note of new grants."""
        for event in events:
            if isinstance(event, ClaimGranted | TaskHandedOff):
                heapq.heappush(self._heap, (event.claim.lease_expires_at, event.claim.epoch, event.claim.key))
            elif isinstance(event, ClaimRevoked):
                heapq.heappush(self._heap, (event.lease_expires_at, event.epoch, (event.namespace, event.task_id)))

    def take(self, state: State, now: float, most: int) -> list[TaskKey]:
        """Tasks whose lease is over at ``now``, at most ``most`` of them; they are forgotten here."""
        due: list[TaskKey] = []
        while self._heap and self._heap[0][0] <= now and len(due) < most:
            _, epoch, key = heapq.heappop(self._heap)
            claim = state.claims.get(key)
            if claim is None or claim.epoch != epoch:
                continue
            if claim.live(now):
                heapq.heappush(self._heap, (claim.lease_expires_at, epoch, key))
            else:
                due.append(key)
        return due
