"""Claims of this hub's agents in namespaces that a peer owns: sent to it, and what it answers kept as receipts.

One hop only, and in turn for each task. The intent is on record before the request leaves: from then on the receipt of
the task covers nothing until the owner's word is on record as well.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from synapse_git.constants import OWNER_DEADLINE_SECONDS
from synapse_hub.clock import boot_id
from synapse_hub.core.claim import TaskKey
from synapse_hub.core.commands import AnyCommand
from synapse_hub.core.commands.claims import HandOff, ReleaseClaim
from synapse_hub.core.commands.team import ForwardClaim, RefreshReceipts, SettleForward
from synapse_hub.core.outcome import Refusal
from synapse_hub.federation.errand import Errand
from synapse_hub.federation.link import Link, Reply, Unreachable, unreachable
from synapse_hub.federation.receipts import Sending, receipt
from synapse_hub.federation.writer import Transact
from synapse_hub.hub import Answered, Hub

# Refusals after which it is not known whether something was done; the last is also that of a copy that came second.
_UNDECIDED = ("JOURNAL_UNAVAILABLE", "NOT_AUTHORISED")
# Whoever looks at receipts waits for those that are being written, but not for a disk that hangs.
_SETTLE_S = 0.5


class _Turn:
    """``wanted``: how many hold it or wait for it."""

    def __init__(self) -> None:
        self.taken = asyncio.Lock()
        self.wanted = 0


class Forwarder:
    """Carries errands to owners. ``transact``: the hub's own writer; ``foreign``: is a name that of another's agent?"""

    def __init__(
        self,
        hub: Hub,
        transact: Transact,
        foreign: Callable[[str], bool],
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._hub = hub
        self._transact = transact
        self._foreign = foreign
        self._wall = wall
        self._boot_id = boot_id()
        self._turns: dict[TaskKey, _Turn] = {}
        self._settling: set[asyncio.Future[Answered]] = set()

    def sending(self) -> Sending:
        """Now, as the moment before something is sent."""
        return Sending(self._hub.now(), self._wall(), self._boot_id)

    async def forward(self, link: Link, errand: Errand) -> Reply | Answered | Refusal:
        """The owner's answer as it came; `Answered`: this hub's own refusal; `Refusal`: the owner cannot be asked."""
        task = (errand.command.namespace, errand.command.task_id)
        key = errand.key or secrets.token_hex(16)
        intent = self._intent(errand, key)
        headers = {
            "content-type": "application/json",
            "idempotency-key": key,
            "synapse-principal": errand.principal,
        }
        async with self._turn(task):
            # What was sent under this key before, without an answer, may arrive yet.
            alone = all(one.key != key for one in self._hub.state.team.under_way.get(task, ()))
            begun = await self._transact(intent)
            if isinstance(begun.outcome, Refusal):
                return begun
            headers["synapse-order"] = str(begun.seq)
            sending = self.sending()
            try:
                reply = await link.ask("POST", f"/v2/{errand.verb}", headers, errand.raw, deadline_s=intent.patience_s)
                # The answer to a key is given again, but what is refused once may be granted to a second copy.
                if not reply.reason or (alone and reply.alone and reply.reason not in _UNDECIDED):
                    self._settle(self._consequence(reply, errand, key, sending))
            except Unreachable as error:
                if alone and not error.sent:
                    self._settle(_as_before(task, key))
                return unreachable(link.name, str(error), after=error.sent)
            except ValueError as error:
                return unreachable(link.name, str(error), after=True)
        return reply

    def _intent(self, errand: Errand, key: str) -> ForwardClaim:
        command = errand.command
        return ForwardClaim(
            namespace=command.namespace,
            task_id=command.task_id,
            agent=command.agent,
            verb=errand.verb,
            key=key,
            wall=self._wall(),
            patience_s=OWNER_DEADLINE_SECONDS + errand.wait_s,
        )

    def _settle(self, consequence: AnyCommand) -> None:
        """Put on record what the owner said. The agent hears of it meanwhile: it is the owner's word that counts.

        Should it be lost, the intent still stands, and with it the receipt covers nothing until the owner is asked.
        """
        settling = self._transact(consequence)
        self._settling.add(settling)
        settling.add_done_callback(self._settling.discard)

    async def settled(self) -> None:
        """Comes back once every answer that was handed on is on record, or cannot be put there soon."""
        if self._settling:
            await asyncio.wait(self._settling, timeout=_SETTLE_S)

    def _consequence(self, reply: Reply, errand: Errand, key: str, sending: Sending) -> AnyCommand:
        """What is on record after the owner's answer. Raises: ValueError, where a success is no claim."""
        command = errand.command
        if reply.reason:
            ended = reply.reason == "NOT_HELD"
        elif isinstance(command, ReleaseClaim) or reply.replayed:
            # An answer that is given again says what was granted then; what is held now, the owner's list says.
            ended = True
        else:
            # Of a claim that went to another hub's agent nothing is known here.
            ended = isinstance(command, HandOff) and self._foreign(str(reply.document.get("owner")))
            if not ended:
                return receipt(reply.document, reply.document, sending, errand.principal, key)
        return SettleForward(namespace=command.namespace, task_id=command.task_id, key=key, ended=ended)

    def told(
        self, owner: str, claims: list[dict[str, Any]], answer: dict[str, Any], sending: Sending
    ) -> RefreshReceipts:
        """Receipts for ``claims``, some of those that agents of this hub hold at ``owner``. Raises: ValueError."""
        user = f"uid:{os.geteuid()}"
        held = tuple(receipt(claim, answer, sending, user, "") for claim in claims)
        return RefreshReceipts(
            namespaces=(), held=held, revoked=(), sent_at=sending.boot, wall=sending.wall, owner=owner
        )

    @asynccontextmanager
    async def _turn(self, task: TaskKey) -> AsyncIterator[None]:
        """One errand for each task at a time, so that answers come in the order in which the owner decided."""
        turn = self._turns.setdefault(task, _Turn())
        turn.wanted += 1
        try:
            async with turn.taken:
                yield
        finally:
            turn.wanted -= 1
            if not turn.wanted:
                del self._turns[task]


def _as_before(task: TaskKey, key: str) -> SettleForward:
    """Nothing of the command ``key`` has reached the owner."""
    return SettleForward(namespace=task[0], task_id=task[1], key=key, ended=False)
