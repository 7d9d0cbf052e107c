"""Asks owners now and then what agents of this hub hold there: receipts stay good, and revocations are heard of.

By the way two hubs tell each other which namespaces they own: nobody else could notice that both say the same.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from synapse_git.constants import (
    FORWARD_DOUBT_SECONDS,
    OWNER_DEADLINE_SECONDS,
    OWNER_VERDICT_DEADLINE_SECONDS,
    RECEIPT_REFRESH_SECONDS,
)
from synapse_hub.core.commands.team import RefreshReceipts
from synapse_hub.core.team.decide import contests
from synapse_hub.federation.assertion import asserting, assertions
from synapse_hub.federation.forward import Forwarder
from synapse_hub.federation.link import Link, Reply, Unreachable
from synapse_hub.federation.team import Team
from synapse_hub.hub import Hub

if TYPE_CHECKING:
    from synapse_hub.federation.writer import Transact

log = logging.getLogger("synapse_hub")

# Without anything to keep good, peers are asked this often whether they still own what they did.
_IDLE_S = 60.0


class Refresher:
    """One task on the event loop."""

    def __init__(self, hub: Hub, team: Team, transact: Transact, forwarder: Forwarder) -> None:
        self._hub = hub
        self._team = team
        self._transact = transact
        self._forwarder = forwarder
        self._soon = asyncio.Event()
        self._unheard: set[str] = set()
        # Set once all were asked that might say that they own what this hub does.
        self.heard = asyncio.Event()

    def nudge(self) -> None:
        """Do not wait for the next turn."""
        self._soon.set()

    async def run(self) -> None:
        """For ever."""
        while True:
            await asyncio.gather(*(self._refresh(owner) for owner in self._owners()))
            self._team.witness.keep()
            if not self.heard.is_set():
                await self._met()
                self.heard.set()
            pause = RECEIPT_REFRESH_SECONDS if len(self._hub.state.team.receipts) else _IDLE_S
            if len(self._hub.state.team.under_way):
                pause = min(pause, OWNER_DEADLINE_SECONDS + FORWARD_DOUBT_SECONDS)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._soon.wait(), pause)
            self._soon.clear()

    async def _met(self) -> None:
        """Members that have no address here ask by themselves once they find it back. Not all of them are there."""
        witness = self._team.witness
        with suppress(TimeoutError):
            async with asyncio.timeout(OWNER_VERDICT_DEADLINE_SECONDS):
                while not self._team.members() <= witness.met:
                    await witness.meeting.wait()
                    witness.meeting.clear()

    def _owners(self) -> list[str]:
        """Peers that own a namespace as far as this hub knows, or might say so."""
        return [name for name, peer in self._team.settled.peers.items() if peer.url and self._team.parties(name)]

    async def _refresh(self, owner: str) -> None:
        try:
            await self.refresh(self._team.link(owner))
        except (Unreachable, OSError, ValueError) as error:
            if owner not in self._unheard:
                log.warning("%s cannot be asked what is held there: %s", owner, error)
            self._unheard.add(owner)
        else:
            if owner in self._unheard:
                log.info("%s answers again", owner)
            self._unheard.discard(owner)

    async def refresh(self, link: Link) -> None:
        """One exchange. Raises: Unreachable, ValueError."""
        # What is settled later than this was sent would be taken for something that was done since.
        await self._forwarder.settled()
        sending = self._forwarder.sending()
        headers = asserting(self._team)
        reply = await link.ask("GET", "/v2/receipts", headers, deadline_s=OWNER_DEADLINE_SECONDS)
        namespaces = tuple(
            name for name in self._team.parties(link.name) if self._team.resolve(name).owner == link.name
        )
        if reply.reason == "NOT_AUTHORISED":
            # Whoever put this hub out of the team counts with none of its claims any more.
            await self._transact(replace(self._forwarder.told(link.name, [], {}, sending), namespaces=namespaces))
        if reply.reason:
            raise Unreachable(f"{reply.reason}: {reply.document.get('detail')}")
        told, revoked = reply.document, reply.document.get("revoked", [])
        held = self._forwarder.told(link.name, told.get("claims", []), told, sending).held
        ends = tuple((str(one["namespace"]), str(one["task_id"]), int(one["epoch"])) for one in revoked)
        await self._transact(
            RefreshReceipts(
                namespaces=namespaces,
                held=held,
                revoked=ends,
                sent_at=sending.boot,
                wall=sending.wall,
                owner=link.name,
            )
        )
        for deed in told.get("deeds", []):
            if await self._team.learn(deed):
                self.nudge()
        await self._hear(link.name, told.get("owns", []))
        for one in revoked:
            # An answer on its way may tell of that very claim yet.
            if (one["namespace"], one["task_id"]) not in self._hub.state.team.under_way:
                await self._acknowledge(link, one)

    async def _hear(self, peer: str, owns: list[str]) -> None:
        for assertion in assertions(self._team, peer, owns):
            if contests(self._hub.state.team, assertion):
                await self._transact(assertion)

    async def _acknowledge(self, link: Link, revoked: dict[str, Any]) -> Reply:
        """Nothing here counts on the claim any more: let others have its scope. Raises: Unreachable."""
        body = {
            "task_id": revoked["task_id"],
            "agent": revoked["owner"],
            "namespace": revoked["namespace"],
            "epoch": revoked["epoch"],
        }
        headers = {
            "content-type": "application/json",
            "idempotency-key": f"revoked-{revoked['epoch']}",
            "synapse-principal": "revoked",
        }
        raw = msgspec.json.encode(body)
        return await link.ask("POST", "/v2/release", headers, raw, deadline_s=OWNER_DEADLINE_SECONDS)
