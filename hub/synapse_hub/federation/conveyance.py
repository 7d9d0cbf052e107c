"""Gives a namespace of this hub to another: first a tombstone, then all that is held, then the other's word for it.

Broken off anywhere it leaves one owner or none that grants, and is finished by being begun again; so the hub does.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from synapse_git.constants import RECEIPT_REFRESH_SECONDS, TRANSFER_DEADLINE_SECONDS
from synapse_hub.core.commands.team import CedeNamespace, ConfirmDelivery
from synapse_hub.core.outcome import Refusal
from synapse_hub.federation import deed, estate
from synapse_hub.federation.estate import EstatePart
from synapse_hub.federation.link import Reply, Unreachable, unreachable
from synapse_hub.federation.ownership import moving
from synapse_hub.federation.team import Team
from synapse_hub.hub import Hub

if TYPE_CHECKING:
    from synapse_hub.federation.writer import Transact

_HEADERS = {"content-type": "application/json", "synapse-principal": "transfer"}


class Given(msgspec.Struct, frozen=True):
    """How many ``claims`` live on at the next owner, and in which term it is that."""

    term: int
    claims: int


class Conveyance:
    """On the event loop only."""

    def __init__(self, hub: Hub, team: Team, transact: Transact) -> None:
        self._hub = hub
        self._team = team
        self._transact = transact
        self._turn = asyncio.Lock()

    async def give(self, namespace: str, heir: str) -> Given | Refusal:
        """Make ``heir`` the owner of ``namespace``, or go on with it.

        Refuses with UNGOVERNED, CONTESTED, INVALID_REQUEST, TOO_LARGE, whatever the heir refuses with, and with
        OWNER_UNREACHABLE where it does not answer: then nobody grants if the tombstone is set already.
        """
        async with self._turn:
            known = self._hub.state.team.governed.get(namespace)
            if known is not None and known.deed is not None and not known.mine:
                if known.owner != heir:
                    return Refusal(
                        "INVALID_REQUEST", f"{namespace} went to {known.owner} already", "Move it on from there"
                    )
                if namespace not in self._hub.state.team.estates:
                    return Given(known.term, 0)
            elif refusal := await self._cede(namespace, heir):
                return refusal
            return await self._deliver(namespace, heir)

    async def resume(self) -> None:
        """Go on with what was broken off, until it is done: meanwhile nobody grants."""
        while estates := list(self._hub.state.team.estates):
            # A file that is broken at present says nothing of the heir.
            for namespace in filter(self._team.settled.namespaces.__contains__, estates):
                await self.give(namespace, self._hub.state.team.governed[namespace].owner)
            if len(self._hub.state.team.estates):
                await asyncio.sleep(RECEIPT_REFRESH_SECONDS)

    async def _cede(self, namespace: str, heir: str) -> Refusal | None:
        """Set the tombstone, if the heir is ready for what follows."""
        file, known = self._team.settled, self._hub.state.team.governed.get(namespace)
        if known is None or not known.mine:
            owner = known.owner if known else "nobody"
            return Refusal("UNGOVERNED", f"{namespace} is owned by {owner}, not by this hub", "Type it on its owner")
        if heir not in file.namespaces[namespace].members or not file.peers[heir].url:
            return Refusal(
                "INVALID_REQUEST",
                f"{heir} is no hub of the team of {namespace} that the others could ask",
                "Have it join, and listen: synapse-git team join URL --listen HOST:PORT",
            )
        term = known.term + 1
        try:
            estate.parts(self._hub.state, namespace, term, self._say(heir), self._hub.now())
        except estate.TooLarge as error:
            return Refusal(
                "TOO_LARGE", f"task {error} holds too many paths to be handed over", "Claim directories instead"
            )
        offer = EstatePart(namespace=namespace, term=term, part=0, parts=0, members=self._members(namespace, heir))
        answered = await self._ask(heir, offer)
        if isinstance(answered, Refusal) or answered.reason:
            return answered if isinstance(answered, Refusal) else _handed_on(answered)
        title = deed.Deed(namespace, self._team.id, heir, term, file.peers[heir])
        command = CedeNamespace(
            namespace=namespace, owner=heir, term=term, deed=deed.signed(title, self._team.identity)
        )
        ceded = await self._transact(command)
        if isinstance(ceded.outcome, Refusal):
            return ceded.outcome
        await self._catch_up()
        return None

    async def _deliver(self, namespace: str, heir: str) -> Given | Refusal:
        state = self._hub.state
        term = state.team.governed[namespace].term
        members = self._members(namespace, heir)
        for part in estate.parts(state, namespace, term, self._say(heir), self._hub.now()):
            reply = await self._ask(heir, msgspec.structs.replace(part, members=members))
            if isinstance(reply, Refusal) or reply.reason:
                return moving(namespace, heir, reply.detail if isinstance(reply, Refusal) else _handed_on(reply).detail)
            if reply.document.get("inherited"):
                break
        else:
            return moving(namespace, heir, "it has not got all of it")
        await self._transact(ConfirmDelivery(namespace=namespace, term=term))
        await self._catch_up()
        return Given(term, len(state.team.estates[namespace].claims))

    def _say(self, heir: str) -> estate.Say:
        return partial(self._team.seen_by, heir)

    def _members(self, namespace: str, heir: str) -> dict[str, dict[str, str]]:
        """Who may ask the heir, but itself and this hub, which it knows."""
        file = self._team.settled
        named = [name for name in file.namespaces[namespace].members if name != heir]
        return {name: msgspec.to_builtins(file.peers[name]) for name in named}

    async def _ask(self, heir: str, body: EstatePart) -> Reply | Refusal:
        try:
            raw = msgspec.json.encode(body)
            link = self._team.link(heir)
            return await link.ask("POST", "/v2/team/inherit", _HEADERS, raw, deadline_s=TRANSFER_DEADLINE_SECONDS)
        except (Unreachable, OSError, ValueError, KeyError) as error:
            return unreachable(heir, str(error))

    async def _catch_up(self) -> None:
        """Have the file, and with it the clients, say what the journal says."""
        async with self._team.turn:
            await asyncio.to_thread(self._team.load, self._hub.transact)


def _handed_on(reply: Reply) -> Refusal:
    return Refusal(reply.reason, str(reply.document.get("detail")), str(reply.document.get("fix", "")))
