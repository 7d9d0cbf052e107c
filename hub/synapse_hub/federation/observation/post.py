"""Words that a peer has for agents of this hub: put into their boxes here, then acknowledged there.

Each has its number at the peer, by which a copy is known, whether its recipient has read the first by then or not.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec

from synapse_git.constants import HUB_AGENT, MAX_MESSAGE_BYTES, MAX_NAME_BYTES, OWNER_DEADLINE_SECONDS
from synapse_hub.core.commands.talk import SendMessage
from synapse_hub.core.outcome import Refusal
from synapse_hub.federation.link import Unreachable
from synapse_hub.federation.observation.tidings import Letter
from synapse_hub.federation.team import Team
from synapse_hub.hub import Hub

if TYPE_CHECKING:
    from synapse_hub.federation.writer import Transact

log = logging.getLogger("synapse_hub")


class Post:
    """From one peer, in the order of its journal. ``acknowledged``: recipient → up to which number it is to know."""

    def __init__(self, hub: Hub, team: Team, transact: Transact, peer: str) -> None:
        self._hub = hub
        self._team = team
        self._transact = transact
        self._peer = peer
        self._due: dict[str, int] = {}

    async def deliver(self, letter: Letter) -> None:
        """Into its box, unless it is there. Raises: Unreachable, where it has no room: the peer keeps it until then."""
        name = f"{self._peer}:{letter.seq}"
        if (letter.to and not _text(letter.to, MAX_NAME_BYTES)) or not letter.body.strip():
            return
        command = SendMessage(
            agent=self._sender(letter),
            to=letter.to or None,
            body=letter.body.encode()[:MAX_MESSAGE_BYTES].decode(errors="ignore"),
            client_msg_id=name,
            origin=letter.origin or origin(self._team, self._peer),
            number=letter.number or letter.seq,
        )
        answered = await self._transact(command)
        if isinstance(answered.outcome, Refusal):
            raise Unreachable(f"what waits there for {letter.to} has no room here: {answered.outcome.detail}")
        if letter.to:
            self._due[letter.to] = letter.seq

    def _sender(self, letter: Letter) -> str:
        """The peer speaks for agents that are called its own here, for the hub as it does itself, and for its members.

        Whoever is known on this machine by such a name speaks for itself.
        """
        hub, _, name = letter.sender.partition("/")
        members = bool(name) and hub != self._team.id and not self._hub.state.principal_of(letter.sender)
        known = letter.sender == HUB_AGENT or self._team.foreign(letter.sender) or members
        return letter.sender if known and _text(letter.sender, MAX_NAME_BYTES) else f"{self._peer}/?"

    async def acknowledge(self) -> None:
        """Let the peer know what has arrived. What it does not hear of it tells again."""
        due, self._due = self._due, {}
        for to, seq in due.items():
            body = msgspec.json.encode({"agent": to, "seq": seq})
            headers = {"content-type": "application/json"}
            try:
                link = self._team.link(self._peer)
                await link.ask("POST", "/v2/ack", headers, body, deadline_s=OWNER_DEADLINE_SECONDS)
            except (Unreachable, OSError, ValueError) as error:
                log.info("%s does not know yet that %s has its letters: %s", self._peer, to, error)


def origin(team: Team, peer: str) -> str:
    """Under which name words of ``peer`` are numbered. One that lost all it had counts anew, and has another key."""
    known = team.settled.peers.get(peer)
    return f"{peer} {known.key if known else ''}"


def _text(name: str, most: int) -> bool:
    return bool(name.strip()) and name.isprintable() and len(name.encode()) <= most
