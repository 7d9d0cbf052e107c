"""What this hub asks of the owners of namespaces: claims carried, verdicts asked for, leases kept alive, receipts."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from synapse_git import scope
from synapse_git.constants import (
    MAX_BODY_BYTES,
    OWNER_DEADLINE_SECONDS,
    OWNER_VERDICT_DEADLINE_SECONDS,
)
from synapse_git.protocol.path import PATHS_TYPE
from synapse_hub.core.guard import Question
from synapse_hub.core.outcome import Refusal
from synapse_hub.federation.errand import Errand
from synapse_hub.federation.team import Team
from synapse_hub.hub import Answered, Hub

if TYPE_CHECKING:
    from synapse_hub.federation.conveyance import Conveyance
    from synapse_hub.federation.courier import Courier
    from synapse_hub.federation.estate import Arrivals
    from synapse_hub.federation.forward import Forwarder
    from synapse_hub.federation.link import Link, Reply
    from synapse_hub.federation.observation.observer import Observed, Observer
    from synapse_hub.federation.refresh import Refresher
    from synapse_hub.federation.reporter import Reporter
    from synapse_hub.federation.succession import Succession
    from synapse_hub.federation.writer import Transact

log = logging.getLogger("synapse_hub")

_PART_BYTES = MAX_BODY_BYTES - 65_536
_JSON = {"content-type": "application/json"}


class Embassy:
    """On the event loop only. ``transact``: the hub's own writer."""

    def __init__(self, hub: Hub, team: Team, transact: Transact) -> None:
        self._hub = hub
        self._team = team
        self._transact = transact
        self._forwarder: Forwarder | None = None
        self._refresher: Refresher | None = None
        self._observer: Observer | None = None
        self._reporter: Reporter | None = None
        self._courier: Courier | None = None
        self._conveyance: Conveyance | None = None
        self._arrivals: Arrivals | None = None
        self._succession: Succession | None = None
        self._moving: asyncio.Future[None] | None = None
        self._pending: set[asyncio.Future[Any]] = set()

    @property
    def forwarder(self) -> Forwarder:
        if self._forwarder is None:
            from synapse_hub.federation.forward import Forwarder

            self._forwarder = Forwarder(self._hub, self._transact, self._team.foreign)
        return self._forwarder

    @property
    def conveyance(self) -> Conveyance:
        if self._conveyance is None:
            from synapse_hub.federation.conveyance import Conveyance

            self._conveyance = Conveyance(self._hub, self._team, self._transact)
        return self._conveyance

    @property
    def succession(self) -> Succession:
        if self._succession is None:
            from synapse_hub.federation.succession import Succession

            self._succession = Succession(self._hub, self._team, self._transact)
        return self._succession

    @property
    def arrivals(self) -> Arrivals:
        if self._arrivals is None:
            from synapse_hub.federation.estate import Arrivals

            self._arrivals = Arrivals()
        return self._arrivals

    def keep_up(self) -> None:
        """Keep receipts good and follow peers from now on, if this hub has any; again after the file was changed."""
        if not self._team.settled.peers and self._observer is None:
            return
        if self._refresher is None or self._observer is None or self._reporter is None or self._courier is None:
            from synapse_hub.federation.courier import Courier
            from synapse_hub.federation.observation.observer import Observer
            from synapse_hub.federation.refresh import Refresher
            from synapse_hub.federation.reporter import Reporter

            self._refresher = Refresher(self._hub, self._team, self._transact, self.forwarder)
            self._observer = Observer(self._hub, self._team, self._transact, self._nudge)
            self._reporter = Reporter(self._hub, self._team, self._transact)
            self._courier = Courier(self._hub, self._team)
            self._keep(asyncio.ensure_future(self._refresher.run()))
            self._keep(asyncio.ensure_future(self._reporter.run()))
            self._keep(asyncio.ensure_future(self._courier.run()))
        self._nudge()
        self._observer.keep_up()
        if len(self._hub.state.team.estates) and (self._moving is None or self._moving.done()):
            self._moving = asyncio.ensure_future(self._go_on())
            self._keep(self._moving)

    def _nudge(self) -> None:
        """Somebody has come back, or there is something new: what waits for owners need not wait for its turn."""
        for one in (self._refresher, self._reporter, self._courier):
            if one is not None:
                one.nudge()

    async def _go_on(self) -> None:
        await self.conveyance.resume()
        self.keep_up()

    @property
    def observed(self) -> Mapping[str, Observed]:
        """What peers' journals told, by peer. To be shown, and nothing else. Spec: INV-MH-2."""
        return self._observer.observed if self._observer else {}

    def _keep(self, task: asyncio.Future[Any]) -> None:
        self._pending.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Future[Any]) -> None:
        self._pending.discard(task)
        if not task.cancelled() and (bug := task.exception()):
            # Receipts run out by themselves; nothing is granted for want of this.
            log.critical("a bug in the team's errands", exc_info=bug)

    async def forward(self, peer: str, errand: Errand) -> Reply | Answered | Refusal:
        """As `Forwarder.forward`."""
        link = self._link(peer)
        if isinstance(link, Refusal):
            return link
        # One key wherever it goes: the next owner knows those that this one has answered.
        errand = errand if errand.key else msgspec.structs.replace(errand, key=secrets.token_hex(16))
        found = await self.forwarder.forward(link, errand)
        unsure = isinstance(found, Refusal) or (not isinstance(found, Answered) and found.replayed)
        if unsure and self._refresher:
            self._refresher.nudge()
        if isinstance(found, Answered | Refusal):
            return found
        heir = await self._heir(found, errand.command.namespace, peer)
        return await self.forward(heir, errand) if isinstance(heir, str) else heir or found

    async def _heir(self, reply: Reply, namespace: str, peer: str) -> str | Refusal | None:
        """Who grants there now, where ``peer`` answered that it does no more; None where it answered anything else."""
        from synapse_hub.federation.link import unreachable

        deed = reply.document.get("deed")
        if not reply.reason or deed is None:
            return None
        await self._team.learn(deed)
        found = self._team.resolve(namespace)
        if found.kind == "remote" and found.owner != peer:
            self.keep_up()
            return found.owner
        return unreachable(peer, f"{namespace} has just changed its owner. Repeat it")

    def _link(self, peer: str) -> Link | Refusal:
        from synapse_hub.federation.link import unreachable

        try:
            return self._team.link(peer)
        except (OSError, ValueError, KeyError) as error:
            return unreachable(peer, f"{type(error).__name__}: {error}")

    async def oriented(self, namespace: str) -> None:
        """Comes back once whoever can be reached has said whether it took ``namespace`` over while this hub was away.

        Spec: INV-MH-1
        """
        refresher, known = self._refresher, self._hub.state.team.governed.get(namespace)
        if refresher is not None and not refresher.heard.is_set() and known is not None and known.mine:
            with suppress(TimeoutError):
                await asyncio.wait_for(refresher.heard.wait(), OWNER_VERDICT_DEADLINE_SECONDS)

    async def settled(self) -> None:
        """As `Forwarder.settled`."""
        if self._forwarder is not None:
            await self._forwarder.settled()

    async def ask(self, peer: str, target: str, raw: bytes) -> Reply | Refusal:
        """The peer's answer to a request that is no claim's and no change's."""
        from synapse_hub.federation.link import Unreachable, unreachable

        link = self._link(peer)
        if isinstance(link, Refusal):
            return link
        try:
            return await link.ask("POST", target, _JSON, raw, deadline_s=OWNER_DEADLINE_SECONDS)
        except Unreachable as error:
            return unreachable(peer, str(error), after=error.sent, grants=False)

    def report(self) -> None:
        """Have owners hear soon of what is on record here for them."""
        if self._reporter is not None:
            self._reporter.nudge()

    def carry(self) -> None:
        """Have owners hear soon of what was said to everyone."""
        if self._courier is not None:
            self._courier.nudge()

    async def verdict(
        self, peer: str, question: Question, paths: Iterable[str], principal: str, more: dict[str, str]
    ) -> Reply | Refusal:
        """The owner's verdict on a change of ``paths``, at least one; where they are many, the first that refuses.

        ``more``: headers that say what else is wanted.
        """
        from synapse_hub.federation.link import Unreachable, unreachable

        link = self._link(peer)
        if isinstance(link, Refusal):
            return link
        headers = _asking(question, principal) | more
        replies: list[Reply] = []
        sending = self.forwarder.sending()
        try:
            for part in _parts(paths):
                reply = await link.ask("POST", "/v2/guard", headers, part, deadline_s=OWNER_VERDICT_DEADLINE_SECONDS)
                if heir := await self._heir(reply, question.namespace, peer):
                    if isinstance(heir, Refusal):
                        return heir
                    return await self.verdict(heir, question, paths, principal, more)
                if reply.reason or reply.document.get("verdict") not in ("allow", "warn"):
                    return reply
                if claim := reply.document.get("claim"):
                    await self._transact(self.forwarder.told(peer, [claim], reply.document, sending))
                replies.append(reply)
        except (Unreachable, ValueError) as error:
            return unreachable(peer, str(error))
        return next((reply for reply in replies if reply.document["verdict"] == "warn"), replies[-1])

    def keep_alive(self, agent: str) -> None:
        """`extend`, without waiting for it."""
        self._keep(asyncio.ensure_future(self.extend(agent)))

    async def extend(self, agent: str) -> list[dict[str, Any]] | Refusal:
        """Have the owners extend what ``agent`` holds there; all of it, as they tell it."""
        owners = {
            self._team.resolve(key[0]).owner
            for key, receipt in self._hub.state.team.receipts.items()
            if receipt.claim.owner == agent and receipt.claim.live(self._hub.now())
        }
        found: list[dict[str, Any]] = []
        for answered in await asyncio.gather(*(self._heartbeat(owner, agent) for owner in sorted(owners) if owner)):
            if isinstance(answered, Refusal):
                return answered
            found += answered
        return found

    async def _heartbeat(self, peer: str, agent: str) -> list[dict[str, Any]] | Refusal:
        from synapse_hub.federation.link import Unreachable, unreachable

        link = self._link(peer)
        if isinstance(link, Refusal):
            return link
        sending = self.forwarder.sending()
        headers = {"content-type": "application/json", "synapse-principal": "heartbeat"}
        try:
            body = msgspec.json.encode({"agent": agent})
            reply = await link.ask("POST", "/v2/heartbeat", headers, body, deadline_s=OWNER_DEADLINE_SECONDS)
            if reply.reason:
                return unreachable(peer, f"{reply.reason}: {reply.document.get('detail')}")
            claims: list[dict[str, Any]] = reply.document.get("claims", [])
            await self._transact(self.forwarder.told(peer, claims, reply.document, sending))
        except (Unreachable, ValueError) as error:
            return unreachable(peer, str(error))
        return claims


def _asking(question: Question, principal: str) -> dict[str, str]:
    return {
        "content-type": PATHS_TYPE,
        "synapse-principal": principal,
        "synapse-agent": quote(question.agent),
        "synapse-namespace": quote(question.namespace),
        "synapse-worktree": quote(question.worktree),
        "synapse-action": question.action,
        "synapse-unclaimed": question.unclaimed,
    }


def _parts(paths: Iterable[str]) -> Iterable[bytes]:
    """The paths as bodies that an owner takes; at least one."""
    part = bytearray()
    for path in paths:
        part += scope.to_bytes(path) + b"\0"
        if len(part) > _PART_BYTES:
            yield bytes(part)
            part.clear()
    if part:
        yield bytes(part)
