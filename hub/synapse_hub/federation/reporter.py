"""Tells owners what went in here against claims of theirs: each report once, whenever its owner can be reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from synapse_git.constants import OWNER_DEADLINE_SECONDS
from synapse_hub.core.commands.team import SettleReport
from synapse_hub.core.events.team import ReportOwed
from synapse_hub.core.team.reports import told_here
from synapse_hub.federation.link import Unreachable
from synapse_hub.federation.rounds import Rounds
from synapse_hub.federation.team import Team
from synapse_hub.hub import Hub

if TYPE_CHECKING:
    from synapse_hub.federation.writer import Transact

# Refusals that are not about the report itself.
_PASSING = ("JOURNAL_UNAVAILABLE", "UNGOVERNED", "CONTESTED", "QUOTA_EXCEEDED", "EXPIRED", "NOT_AUTHORISED")


class Reporter(Rounds):
    """What is owed is in the journal."""

    def __init__(self, hub: Hub, team: Team, transact: Transact) -> None:
        super().__init__()
        self._hub = hub
        self._team = team
        self._transact = transact

    async def deliver(self) -> None:
        """One round: in order, but nothing more to an owner that does not take what came before."""
        silent: set[str] = set()
        for number, _, report in list(self._hub.state.team.owed.items()):
            found = self._team.resolve(report.namespace)
            if found.refusal or found.owner in silent:
                continue
            if found.kind == "remote" and not await self._told(found.owner, number, report):
                silent.add(found.owner)
                continue
            if found.kind == "local" and found.owner:
                await self._transact(told_here(report))
            await self._transact(SettleReport(number=number))

    async def _told(self, owner: str, number: int, report: ReportOwed) -> bool:
        """Has the owner heard of it, or does it not want to?"""
        headers = {
            "content-type": "application/json",
            "idempotency-key": f"report-{number}-{report.at!r}",
            "synapse-principal": "report",
        }
        raw = msgspec.json.encode(report.body)
        try:
            link = self._team.link(owner)
            reply = await link.ask("POST", report.route, headers, raw, deadline_s=OWNER_DEADLINE_SECONDS)
            if deed := reply.document.get("deed"):
                await self._team.learn(deed)
                self.nudge()
        except (Unreachable, OSError, ValueError, KeyError):
            return False
        return reply.reason not in _PASSING
