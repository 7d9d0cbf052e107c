"""What a peer says it owns, held against what this hub knows."""

from __future__ import annotations

from urllib.parse import quote

from synapse_hub.core.commands.team import HearAssertion
from synapse_hub.federation.team import Team


def assertions(team: Team, peer: str, owns: list[str]) -> list[HearAssertion]:
    """What follows for the namespaces that ``peer`` is a party of from what it says it owns."""
    return [HearAssertion(namespace=name, by=peer, owns=name in owns) for name in team.parties(peer)]


def asserting(team: Team) -> dict[str, str]:
    """The header by which a request says what this hub owns."""
    return {"synapse-owns": ",".join(quote(name, safe="") for name in team.owned())}
