"""Takes over a namespace whose owner is gone for good: on a person's word, and when nothing it granted may live.

A hub cannot tell one that is dead from one that it cannot reach. What is known here is waited for; what others were
granted out of this hub's sight is lost to them, and what was answered under a key may be done again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from synapse_git.constants import (
    DEFAULT_TTL_SECONDS,
    OWNER_DEADLINE_SECONDS,
    REVOCATION_SECONDS,
    SUCCESSION_EPOCH_MARGIN,
)
from synapse_git.explain import span
from synapse_hub import hubfile
from synapse_hub.core.commands.team import InheritNamespace
from synapse_hub.core.outcome import Refusal
from synapse_hub.core.team.state import Governed
from synapse_hub.federation.conveyance import Given
from synapse_hub.federation.link import Unreachable
from synapse_hub.federation.team import Team
from synapse_hub.hub import Hub

if TYPE_CHECKING:
    from synapse_hub.federation.observation.observer import Observed
    from synapse_hub.federation.writer import Transact


class Succession:
    """On the event loop only. How long an owner was silent is known in memory only: a restart waits anew."""

    def __init__(self, hub: Hub, team: Team, transact: Transact) -> None:
        self._hub = hub
        self._team = team
        self._transact = transact
        self._silent_since: dict[str, float] = {}

    async def take(self, namespace: str, observed: Observed | None) -> Given | Refusal:
        """Own ``namespace`` from now on; ``observed``: what its owner's journal told this hub since it started.

        Refuses with LEASE_LIVE while something may live that was granted, with INVALID_REQUEST where the owner answers,
        UNGOVERNED, CONTESTED. Raises: OSError, hubfile.Wrong, where the file cannot be changed.
        """
        known = self._hub.state.team.governed.get(namespace)
        if known is None or namespace not in self._team.settled.namespaces:
            return Refusal("UNGOVERNED", f"this hub has no part in {namespace}", "See: synapse-git team status")
        if known.mine:
            return Given(known.term, 0)
        if self._team.settled.listen is None:
            return Refusal("INVALID_REQUEST", "this hub does not listen for others", "Name a place: listen in hub.toml")
        if await self.answers(known.owner):
            self._silent_since.pop(known.owner, None)
            return Refusal(
                "INVALID_REQUEST",
                f"{known.owner} answers, so it can give {namespace} itself",
                f"Type it there: synapse-git team transfer {namespace} {self._team.id}",
            )
        if refusal := self._early(namespace, known, observed):
            return refusal
        return await self._succeed(namespace, known, observed)

    async def answers(self, owner: str) -> bool:
        """Does it, whatever it says?"""
        try:
            await self._team.link(owner).ask("GET", "/v2/receipts", {}, deadline_s=OWNER_DEADLINE_SECONDS)
        except (Unreachable, OSError, ValueError, KeyError):
            return False
        return True

    def _early(self, namespace: str, known: Governed, observed: Observed | None) -> Refusal | None:
        """Why it is too early."""
        now, owner = self._hub.now(), known.owner
        seen = observed is not None and observed.view.complete
        heard_at = observed.heard_at if observed is not None else None
        since = self._silent_since.setdefault(owner, now) if heard_at is None else heard_at
        # What hubs were told counts for a minute; of leases that this one never saw most last an hour.
        until = max([since + (REVOCATION_SECONDS if seen else DEFAULT_TTL_SECONDS), *self._ends(namespace, observed)])
        if until <= now:
            return None
        return Refusal(
            "LEASE_LIVE",
            f"what {owner} granted in {namespace} may live for {span(until - now + 1)} yet",
            f"Type it again then. If {owner} may come back, wait for it instead",
        )

    def _ends(self, namespace: str, observed: Observed | None) -> Iterable[float]:
        """When leases run out that this hub knows of."""
        for (name, _), receipt in self._hub.state.team.receipts.items():
            if name == namespace:
                yield receipt.claim.lease_expires_at
        if observed is not None:
            for claim in observed.view.claims(self._hub.now()):
                if claim.namespace == namespace:
                    yield claim.lease_expires_at

    async def _succeed(self, namespace: str, known: Governed, observed: Observed | None) -> Given | Refusal:
        epochs = [receipt.claim.epoch for receipt in self._hub.state.team.receipts.values()]
        epochs += [claim.epoch for claim in observed.view.claims(0.0)] if observed is not None else []
        command = InheritNamespace(
            namespace=namespace,
            owner=self._team.id,
            giver=known.owner,
            term=known.term + 1,
            epoch=max(epochs, default=0) + SUCCESSION_EPOCH_MARGIN,
            claims=(),
            answers=(),
        )
        async with self._team.turn:
            file = self._team.settled
            # If it comes back after all, both say that they own it, and both must hear that.
            entry = msgspec.structs.replace(file.namespaces[namespace], members=(known.owner,))
            file = msgspec.structs.replace(file, namespaces={**file.namespaces, namespace: entry})
            hubfile.parse(hubfile.render(file))
            await asyncio.to_thread(self._team.change, file, self._hub.transact)
            answered = await self._transact(command)
            if isinstance(answered.outcome, Refusal):
                return answered.outcome
            await asyncio.to_thread(self._team.load, self._hub.transact)
        return Given(command.term, 0)
