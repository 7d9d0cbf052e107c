"""A persistent map that remembers in order of arrival, so that what is old can be let go at the front."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

import msgspec
from immutables import Map

K = TypeVar("K")
V = TypeVar("V")


class Recent(msgspec.Struct, Generic[K, V], frozen=True):
    """``entries``: key → (place in the order, instant, value). ``order``: place → key, from ``first`` to ``next``."""

    entries: Map[K, tuple[int, float, V]] = Map()
    order: Map[int, K] = Map()
    first: int = 0
    next: int = 0

    def __len__(self) -> int:
        return len(self.entries)

    @classmethod
    def of(cls, entries: Iterable[tuple[K, float, V]]) -> Recent[K, V]:
        """With ``entries`` as `items` gives them."""
        listed = list(entries)
        return cls(
            Map({key: (place, at, value) for place, (key, at, value) in enumerate(listed)}),
            Map({place: key for place, (key, _, _) in enumerate(listed)}),
            0,
            len(listed),
        )

    def items(self) -> Iterator[tuple[K, float, V]]:
        """Each key with its instant and value, in order of arrival."""
        for place in sorted(self.order):
            key = self.order[place]
            _, at, value = self.entries[key]
            yield key, at, value

    def get(self, key: K) -> tuple[float, V] | None:
        """When ``key`` came and what with, or None."""
        found = self.entries.get(key)
        return found and (found[1], found[2])

    def oldest(self) -> float | None:
        """The instant of the oldest entry, or None when empty."""
        for place in range(self.first, self.next):
            if (key := self.order.get(place)) is not None:
                return self.entries[key][1]
        return None

    def put(self, key: K, at: float, value: V, *, keep_after: float, capacity: int | None = None) -> Recent[K, V]:
        """With ``key`` as the newest, without what came at or before ``keep_after`` or exceeds ``capacity``."""
        return self.put_and_shed(key, at, value, keep_after=keep_after, capacity=capacity)[0]

    def put_and_shed(
        self, key: K, at: float, value: V, *, keep_after: float, capacity: int | None = None
    ) -> tuple[Recent[K, V], list[K]]:
        """As `put`, and the keys that went."""
        entries, order = self.entries, self.order
        if (known := entries.get(key)) is not None:
            order = order.delete(known[0])
        entries = entries.set(key, (self.next, at, value))
        order = order.set(self.next, key)
        return Recent(entries, order, self.first, self.next + 1)._shed(keep_after, capacity)

    def younger(self, keep_after: float) -> Recent[K, V]:
        """Without what came at or before ``keep_after``."""
        return self._shed(keep_after, None)[0]

    def _shed(self, keep_after: float, capacity: int | None) -> tuple[Recent[K, V], list[K]]:
        entries, order, first = self.entries, self.order, self.first
        gone: list[K] = []
        while first < self.next:
            front = order.get(first)
            if front is not None:
                too_many = capacity is not None and len(entries) > capacity
                if entries[front][1] > keep_after and not too_many:
                    break
                entries = entries.delete(front)
                order = order.delete(first)
                gone.append(front)
            first += 1
        return Recent(entries, order, first, self.next), gone

    def without(self, key: K) -> Recent[K, V]:
        """Without ``key``, if it was there."""
        known = self.entries.get(key)
        if known is None:
            return self
        return Recent(self.entries.delete(key), self.order.delete(known[0]), self.first, self.next)


def near(at: float, now: float, seconds: float) -> bool:
    """Is ``at`` less than ``seconds`` away? What a clock gone wild stamped is far, although it lies ahead."""
    return abs(now - at) < seconds
