"""Carries what agents of this hub say to everyone to the owners of its namespaces, which tell their other members."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from synapse_git.constants import CHAT_RETENTION_SECONDS, OWNER_DEADLINE_SECONDS
from synapse_hub.core.mail import Message
from synapse_hub.core.recent import near
from synapse_hub.federation.link import Unreachable
from synapse_hub.federation.rounds import Rounds
from synapse_hub.federation.team import Team
from synapse_hub.hub import Hub

# Refusals that are not about what was said.
_PASSING = ("JOURNAL_UNAVAILABLE", "EXPIRED", "NOT_AUTHORISED")


class Courier(Rounds):
    """What an owner has already is asked of it: it is known in memory only."""

    def __init__(self, hub: Hub, team: Team) -> None:
        super().__init__()
        self._hub = hub
        self._team = team
        self._carried: dict[str, int] = {}

    async def deliver(self) -> None:
        """One round: in order, but nothing more to an owner that does not take what came before."""
        owners = {entry.owner for entry in self._team.settled.namespaces.values()} - {self._team.id}
        for owner in sorted(owners):
            for message in self._said():
                if message.seq > self._carried.get(owner, 0) and not await self._carry(owner, message):
                    break

    def _said(self) -> Iterator[Message]:
        state, now = self._hub.state, self._hub.now()
        for message in state.mail.chat:
            sent = message.sent
            # Nobody outside hears what a power cut could still take back.
            if sent.abroad and message.seq <= self._hub.synced_seq and near(sent.at, now, CHAT_RETENTION_SECONDS):
                yield message

    async def _carry(self, owner: str, message: Message) -> bool:
        """Has the owner heard it, or does it not want to?"""
        headers = {"content-type": "application/json", "synapse-number": str(message.seq)}
        raw = msgspec.json.encode({"agent": message.sent.sender, "body": message.sent.body})
        try:
            link = self._team.link(owner)
            reply = await link.ask("POST", "/v2/messages", headers, raw, deadline_s=OWNER_DEADLINE_SECONDS)
        except (Unreachable, OSError, ValueError, KeyError):
            return False
        if reply.reason in _PASSING:
            return False
        upto = reply.document.get("upto")
        self._carried[owner] = max(message.seq, upto if isinstance(upto, int) else 0)
        return True
