"""Names that sessions are bound to, and keys pinned to names: the tables, and what each event makes of them.

A name stays its session's for `DEFAULT_LEASE_OFFLINE_TTL` after the session disconnected. Only digests of secrets are
known here. Bounds are re-applied by every event, so also by a replay (Spec: INV-RR-2).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

import msgspec
from immutables import Map

from synapse_git.constants import DEFAULT_LEASE_OFFLINE_TTL, MAX_BOUND_NAMES, MAX_PINNED_KEYS
from synapse_hub.core.events.names import KeyPinned, NameBound, NameDisconnected, NameReclaimed, NameReleased
from synapse_hub.core.recent import Recent


class Names(msgspec.Struct, frozen=True):
    """``live``: name → the session that is connected; ``absent``: the one that was, by the instant it was last seen.

    ``keys``: name → the key that was pinned to it, least recently used first.
    """

    live: Map[str, NameBound] = Map()
    absent: Recent[str, NameBound] = Recent()
    keys: Recent[str, KeyPinned] = Recent()

    def owner(self, agent: str, now: float) -> NameBound | None:
        """The session that the name belongs to at ``now``, connected or expected back; None if it is free."""
        owner = self.live.get(agent)
        return owner if owner is not None else self._expected(agent, now)

    def expected(self, now: float) -> Iterator[str]:
        """Names whose session may still come back."""
        return (agent for agent in self.absent.entries if agent not in self.live and self._expected(agent, now))

    def _expected(self, agent: str, now: float) -> NameBound | None:
        found = self.absent.get(agent)
        return found[1] if found and found[0] + DEFAULT_LEASE_OFFLINE_TTL > now else None

    def free_at(self, agent: str) -> float | None:
        """When the name of a disconnected session becomes free; None while it is connected or was never bound."""
        found = self.absent.get(agent)
        return found[0] + DEFAULT_LEASE_OFFLINE_TTL if found and agent not in self.live else None

    def key(self, agent: str) -> str:
        """The key pinned to the name, or ''."""
        found = self.keys.get(agent)
        return found[1].key if found else ""

    def after(self, event: NameBound | NameDisconnected | NameReleased | NameReclaimed | KeyPinned) -> Names:
        """The tables after ``event``."""
        match event:
            case NameBound():
                return self._bound(event)
            case NameDisconnected():
                return self._disconnected(event)
            case NameReleased():
                return self._freed(event.agent)
            case NameReclaimed():
                return msgspec.structs.replace(self._freed(event.agent), keys=self.keys.without(event.agent))
            case KeyPinned():
                return self._pinned(event)
        assert_never(event)

    def _bound(self, event: NameBound) -> Names:
        keys = self.keys
        if used := keys.get(event.agent):
            keys = keys.put(event.agent, event.at, used[1], keep_after=0.0)
        absent = self.absent.without(event.agent).younger(event.at - DEFAULT_LEASE_OFFLINE_TTL)
        return Names(self.live.set(event.agent, event), absent, keys)

    def _disconnected(self, event: NameDisconnected) -> Names:
        owner = self.live.get(event.agent)
        if owner is None:
            return self
        absent = self.absent.put(
            event.agent,
            event.at,
            owner,
            keep_after=event.at - DEFAULT_LEASE_OFFLINE_TTL,
            capacity=MAX_BOUND_NAMES,
        )
        return msgspec.structs.replace(self, live=self.live.delete(event.agent), absent=absent)

    def _freed(self, agent: str) -> Names:
        live = self.live.delete(agent) if agent in self.live else self.live
        return Names(live, self.absent.without(agent), self.keys)

    def _pinned(self, event: KeyPinned) -> Names:
        keys = self.keys.put(event.agent, event.at, event, keep_after=0.0, capacity=MAX_PINNED_KEYS)
        return msgspec.structs.replace(self, keys=keys)
