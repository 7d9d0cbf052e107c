"""Who is connected: the links of each session, and what the hub is told when they come and go.

Belongs to the event loop. Not durable: what is, is decided by the hub (`core/binding.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from synapse_git.constants import IDENTITY_CLOSE_CODE, MAX_SESSIONS, NAME_OWNED_CLOSE_CODE
from synapse_hub.core.commands import AnyCommand
from synapse_hub.core.commands.claims import ExtendLeases
from synapse_hub.core.commands.names import EndSessions
from synapse_hub.core.events import AnyEvent
from synapse_hub.core.events.names import NameReclaimed, NameReleased
from synapse_hub.core.events.talk import MessageSent
from synapse_hub.core.lease import wants_extension
from synapse_hub.hub import Hub

# A session: a name, and the digest of the secret that it is bound by.
SessionKey = tuple[str, str]
_NORMAL = 1000


class Link:
    """One connection of a session. ``ending``: the close code and reason, once the hub wants it to end."""

    def __init__(self, agent: str, secret_sha256: str) -> None:
        self.agent = agent
        self.secret_sha256 = secret_sha256
        self.bound = False
        # The number of the last message that it was told.
        self.told = 0
        self.ending: tuple[int, str] | None = None
        self.stirred = asyncio.Event()

    @property
    def key(self) -> SessionKey:
        return (self.agent, self.secret_sha256)

    def end(self, code: int, reason: str) -> None:
        """Have the connection closed."""
        self.ending = self.ending or (code, reason)
        self.stirred.set()


class Roster:
    """All links. A session may have several; it is disconnected when the last one is gone.

    ``tell`` has a command done by the hub.
    """

    def __init__(self, hub: Hub, tell: Callable[[AnyCommand], None]) -> None:
        self._hub = hub
        self._tell = tell
        self._links: dict[SessionKey, set[Link]] = {}
        # Connections, those included that have not said yet whose they are.
        self.connections = 0

    @property
    def full(self) -> bool:
        return self.connections >= MAX_SESSIONS

    def enter(self, link: Link) -> None:
        """Before the hub is asked to bind the name, so that a link which leaves meanwhile is not the last one."""
        self._links.setdefault(link.key, set()).add(link)

    def leave(self, link: Link) -> None:
        """The connection is gone."""
        links = self._links[link.key]
        links.discard(link)
        if not links:
            del self._links[link.key]
            self._tell(EndSessions(sessions=(link.key,)))

    def follow(self, events: Sequence[AnyEvent]) -> None:
        """Act on what was published."""
        for event in events:
            if isinstance(event, NameReclaimed):
                self._end(event.agent, NAME_OWNED_CLOSE_CODE, "the name was taken back by its user")
            elif isinstance(event, NameReleased):
                self._end(event.agent, _NORMAL, "released")
            elif isinstance(event, MessageSent):
                self._stir(event.to)

    def reaches(self, to: str | None, sender: str) -> bool:
        """Is a session of ``to`` open, or, with None, one of anyone but ``sender``? Of this moment, no more."""
        live = self._hub.state.names.live
        return any(agent != sender for agent in live) if to is None else to in live

    def _stir(self, to: str | None) -> None:
        """Have those concerned look for messages."""
        bound = self._hub.state.names.live.get(to) if to is not None else None
        concerned = (
            self._links.values() if to is None else [self._links.get((to, bound.secret_sha256 if bound else ""), ())]
        )
        for links in concerned:
            for link in links:
                link.stirred.set()

    def tend(self) -> None:
        """Now and then: extend the leases of who is connected, and mend what a failed commit left askew."""
        state, now = self._hub.state, self._hub.now()
        for agent in state.names.live:
            tasks = tuple(claim.key for claim in state.owned(agent, now) if wants_extension(claim, now))
            if tasks:
                self._tell(ExtendLeases(agent=agent, tasks=tasks))
        live = {(agent, bound.secret_sha256) for agent, bound in state.names.live.items()}
        if gone := tuple(live - self._links.keys()):
            self._tell(EndSessions(sessions=gone))
        for key in self._links.keys() - live:
            for link in self._links[key]:
                if link.bound:
                    link.end(IDENTITY_CLOSE_CODE, "the name is not bound to this session any more; register again")

    def _end(self, agent: str, code: int, reason: str) -> None:
        """Whoever waits to hear whether it has the name now is not meant."""
        for key, links in self._links.items():
            if key[0] == agent:
                for link in links:
                    if link.bound:
                        link.end(code, reason)
