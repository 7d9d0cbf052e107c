"""Follows the journals of peers, one task for each, and says how fresh what they told is."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, get_args

import msgspec

from synapse_git.constants import OBSERVATION_RETRY_SECONDS
from synapse_hub.core.claim import REVOKED
from synapse_hub.core.team.decide import contests
from synapse_hub.federation.assertion import asserting, assertions
from synapse_hub.federation.link import Unreachable
from synapse_hub.federation.observation.post import Post
from synapse_hub.federation.observation.stream import Frame, listen
from synapse_hub.federation.observation.tidings import (
    AnyTiding,
    Asserted,
    ClaimChanged,
    ClaimHeld,
    Letter,
    Present,
)
from synapse_hub.federation.observation.view import View
from synapse_hub.federation.signature import Signer
from synapse_hub.federation.team import Team
from synapse_hub.federation.witness import HEARD
from synapse_hub.hub import Hub
from synapse_hub.hubfile import Peer

if TYPE_CHECKING:
    from synapse_hub.federation.writer import Transact

log = logging.getLogger("synapse_hub")

_FIRST_PAUSE_S = 0.5
# Less than an owner that is back waits for its members: whoever holds something there is among the first it hears.
_HOLDING_PAUSE_S = 1.0
_KINDS = frozenset(str(kind.__struct_config__.tag) for kind in get_args(AnyTiding))


class Observed:
    """A peer and what it told. ``heard_at``: when it last said anything, by the lease clock; None: never."""

    def __init__(self, peer: Peer, namespaces: list[str], post: Post) -> None:
        self.peer = peer
        self.namespaces = namespaces
        self.view = View()
        self.post = post
        self.following = False
        self.heard_at: float | None = None
        self.trouble = ""

    @property
    def standing(self) -> Literal["following", "unreachable", "starting"]:
        return "following" if self.following else "unreachable" if self.trouble else "starting"


class Observer:
    """On the event loop only. ``changed``: called when a peer is back, or agents here hold something else there."""

    def __init__(self, hub: Hub, team: Team, transact: Transact, changed: Callable[[], None]) -> None:
        self._hub = hub
        self._team = team
        self._transact = transact
        self._changed = changed
        self.observed: dict[str, Observed] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def keep_up(self) -> None:
        """Follow the peers that the file names now, each anew whose entry is another, and nobody else."""
        wanted = {
            name: (peer, self._team.parties(name))
            for name, peer in self._team.settled.peers.items()
            if peer.url and self._team.parties(name)
        }
        for name, known in list(self.observed.items()):
            if wanted.get(name) != (known.peer, known.namespaces) or self._tasks[name].done():
                self._tasks.pop(name).cancel()
                del self.observed[name]
        for name, (peer, namespaces) in wanted.items():
            if name not in self.observed:
                post = Post(self._hub, self._team, self._transact, name)
                self.observed[name] = Observed(peer, namespaces, post)
                self._tasks[name] = asyncio.create_task(self._follow(name, self.observed[name]))
                self._tasks[name].add_done_callback(_ended)

    async def _follow(self, name: str, observed: Observed) -> None:
        """For ever. A connection that does not last is tried again, more and more slowly."""
        pause_s = _FIRST_PAUSE_S
        while True:
            heard_before = observed.heard_at
            try:
                await self._listen(name, observed)
            except (Unreachable, OSError, ValueError) as error:
                if not observed.trouble:
                    log.warning("the journal of %s cannot be followed: %s", name, error)
                    self._changed()  # it may have put this hub out
                observed.trouble = str(error) or type(error).__name__
            observed.following = False
            pause_s = _FIRST_PAUSE_S if observed.heard_at != heard_before else pause_s
            await asyncio.sleep(pause_s * random.uniform(0.5, 1.0))  # noqa: S311 - not all at once
            longest_s = _HOLDING_PAUSE_S if self._holds(observed) else OBSERVATION_RETRY_SECONDS
            pause_s = min(2 * pause_s, longest_s)

    def _holds(self, observed: Observed) -> bool:
        return any(namespace in observed.namespaces for namespace, _ in self._hub.state.team.receipts)

    async def _listen(self, name: str, observed: Observed) -> None:
        """One connection, for as long as it lasts. Raises: Unreachable, ValueError, OSError."""
        view = observed.view
        signer = Signer(self._team.id, self._team.identity.key)
        headers = {"synapse-picture": view.picture, **asserting(self._team)}
        if told := self._team.witness.told(name):
            headers[HEARD] = told
        target = f"/v2/events?after={view.position}" if view.position else "/v2/events"
        async for frames in listen(signer, name, observed.peer, target, headers):
            if not observed.following:
                if observed.trouble:
                    log.info("the journal of %s is followed again", name)
                observed.following, observed.trouble = True, ""
                self._changed()  # it may have been away, and be another than it was
            observed.heard_at = self._hub.now()
            try:
                for frame in frames:
                    await self._take(name, observed, frame)
            except (Unreachable, msgspec.MsgspecError):
                view.picture = ""  # what was not taken is told again with all the rest
                raise
            await observed.post.acknowledge()

    async def _take(self, name: str, observed: Observed, frame: Frame) -> None:
        if frame.kind not in _KINDS:
            return  # a later version may tell more
        tiding: AnyTiding = msgspec.json.decode(frame.data, type=AnyTiding)
        observed.view.take(tiding, frame.id, self._hub.now())
        match tiding:
            case Asserted():
                await self._hear(name, tiding)
            case Present():
                self._team.witness.hear(name, tiding.stamp)
            case Letter():
                await observed.post.deliver(tiding)
            case ClaimChanged() if tiding.status == REVOKED:
                self._changed()
            case ClaimHeld() if tiding.host == self._team.id and self._unknown(tiding):
                self._changed()
            case _:
                pass

    def _unknown(self, told: ClaimHeld) -> bool:
        """Was it handed to an agent of this hub? What was asked for here is under way, or its receipt is there."""
        known = self._hub.state.team
        return told.key not in known.receipts and told.key not in known.under_way

    async def _hear(self, peer: str, asserted: Asserted) -> None:
        """Spec: INV-CR-4."""
        for assertion in assertions(self._team, peer, list(asserted.owns)):
            if contests(self._hub.state.team, assertion):
                await self._transact(assertion)


def _ended(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (bug := task.exception()):
        # What is shown grows old and says so; nothing is granted for want of it.
        log.critical("a bug in the observation of a peer", exc_info=bug)
