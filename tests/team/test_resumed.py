"""A transfer that was broken off is gone on with by the hub that gives, without anybody typing anything."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from synapse_hub.core.outcome import Refusal
from synapse_hub.federation.conveyance import Given
from synapse_hub.federation.form import SignedRequest
from synapse_hub.federation.link import Link
from synapse_hub.hubfile import Place
from tests.team.desks import NAMESPACE, Pair, Way, pair


def leading_back(team: Pair) -> Way:
    """The way from a to b, which listens from now on."""
    a, b = team.a, team.b
    way = Way(b.door)
    a.team.road = lambda name, peer: Link("a", a.identity, name, peer, a.wall, way)
    a.knows(msgspec.structs.replace(a.team.settled, peers={"b": b.peer("https://b:1")}))
    b.knows(msgspec.structs.replace(b.team.settled, listen=Place("127.0.0.1", 1)))
    return way


def test_inv_mh_1_a_transfer_that_is_broken_off_goes_on_when_its_hub_runs_again(tmp_path: Path) -> None:
    """Nobody grants in between; then the heir does, with what was held."""

    async def turn(team: Pair) -> None:
        way = leading_back(team)
        await team.a.ask("/v2/claim", {"task_id": "t", "agent": "ana", "namespace": NAMESPACE, "paths": ["src"]})

        def cut(_: SignedRequest) -> None:
            way.closed = True

        way.alter = cut
        conveyance = team.a.desk.embassy.conveyance
        broken = await conveyance.give(NAMESPACE, "b")
        assert isinstance(broken, Refusal) and broken.reason == "OWNER_UNREACHABLE" and "by itself" in broken.fix
        assert NAMESPACE in team.a.rig.hub.state.team.estates
        assert (await team.b.claim("other", "docs"))["reason"] == "OWNER_UNREACHABLE"
        way.alter, way.closed = lambda _: None, False
        await asyncio.wait_for(conveyance.resume(), 10)
        assert await conveyance.give(NAMESPACE, "b") == Given(1, 0)
        assert team.b.team.resolve(NAMESPACE).kind == "local"
        assert team.b.rig.hub.state.claims[NAMESPACE, "t"].owner == "a/ana"

    with pair(tmp_path) as team:
        asyncio.run(turn(team))
