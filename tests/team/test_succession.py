"""Taking over from an owner that is gone: not while it answers, and not while anything that it granted may live."""

from __future__ import annotations

import asyncio
import base64
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from synapse_git.constants import DEFAULT_TTL_SECONDS, SUCCESSION_EPOCH_MARGIN
from synapse_hub import hubfile
from synapse_hub.core.commands import AnyCommand
from synapse_hub.core.outcome import Refusal
from synapse_hub.federation.conveyance import Given
from synapse_hub.federation.form import SignedRequest
from synapse_hub.federation.identity import identity
from synapse_hub.federation.line import Answer
from synapse_hub.federation.link import Link
from synapse_hub.federation.receipts import Sending, receipt
from synapse_hub.federation.succession import Succession
from synapse_hub.federation.team import Team
from synapse_hub.hub import Answered
from synapse_hub.hubfile import HubFile, Namespace, Peer, Place
from tests.hub.desk import FakeClock, Rig, running, take
from tests.team.desks import Way, pair
from tests.team.hosts import NAMESPACE


@pytest.fixture
def closed_port() -> Iterator[int]:
    """Where nobody listens, and nobody else can."""
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        yield line.getsockname()[1]


def member(rig: Rig, directory: Path, port: int) -> tuple[Team, Succession]:
    """Hub b, in the team of a hub a that is gone."""
    (directory / "other").mkdir()
    other = identity(str(directory / "other"))
    peer = Peer(other.public, f"https://127.0.0.1:{port}", base64.b64encode(other.certificate).decode())
    file = HubFile(
        id="b", listen=Place("127.0.0.1", 1), peers={"a": peer}, namespaces={NAMESPACE: Namespace(owner="a")}
    )
    hubfile.write(str(directory), file)
    team = Team(rig.hub, str(directory))
    team.load(rig.hub.transact)

    def transact(command: AnyCommand) -> asyncio.Future[Answered]:
        return asyncio.ensure_future(asyncio.to_thread(rig.hub.transact, command))

    return team, Succession(rig.hub, team, transact)


def test_inv_mh_1_a_dead_owners_namespace_moves_when_nothing_it_granted_may_live(
    tmp_path: Path, closed_port: int
) -> None:
    """Silence for as long as leases may last, and the ends of all that are known; then it is granted in here."""
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        team, succession = member(rig, tmp_path, closed_port)
        document = {
            "task_id": "t1", "namespace": NAMESPACE, "owner": "ben", "worktree": "", "paths": ["src"],
            "status": "claimed", "note": "", "epoch": 41, "version": 0, "granted_at": 5.0,
            "lease_expires_at": 5.0 + 2 * DEFAULT_TTL_SECONDS, "checkpoint": None,
        }  # fmt: skip
        rig.answer(receipt(document, {"seq": 1, "now": 5.0}, Sending(clock.at, clock.at, "boot"), "uid:1", ""))
        for wait_s in (0.0, DEFAULT_TTL_SECONDS, DEFAULT_TTL_SECONDS - 1.0):
            clock.at += wait_s
            early = asyncio.run(succession.take(NAMESPACE, None))
            assert isinstance(early, Refusal) and early.reason == "LEASE_LIVE", early
            assert rig.reason(take("t2", namespace=NAMESPACE, worktree="")) == "UNGOVERNED"
        clock.at += 2.0
        assert asyncio.run(succession.take(NAMESPACE, None)) == Given(1, 0)
        assert team.resolve(NAMESPACE).kind == "local" and team.member("a", NAMESPACE)
        assert rig.answer(take("t2", namespace=NAMESPACE, worktree=""))["epoch"] > 41 + SUCCESSION_EPOCH_MARGIN
        assert asyncio.run(succession.take("other", None)) != Given(1, 0)
    written = hubfile.read(str(tmp_path))
    assert written is not None and written.namespaces[NAMESPACE] == Namespace(owner="b", members=("a",), term=1)


class Slow(Way):
    """Answers come after a while."""

    async def deliver(self, request: SignedRequest) -> Answer:
        await asyncio.sleep(0.3)
        return await super().deliver(request)


def test_inv_mh_1_an_owner_that_comes_back_asks_who_took_over_before_it_grants(tmp_path: Path) -> None:
    """Of those that can be reached; what is of no team is granted meanwhile."""

    async def play() -> None:
        way = Slow(team.b.door)
        team.a.team.road = lambda name, peer: Link("a", team.a.identity, name, peer, team.a.wall, way)
        member = Namespace(owner="a", members=("b",))
        team.a.knows(HubFile(id="a", peers={"b": team.b.peer("https://127.0.0.1:1")}, namespaces={NAMESPACE: member}))
        team.b.knows(HubFile(id="b", peers={"a": team.a.peer()}, namespaces={NAMESPACE: Namespace(owner="b", term=1)}))
        team.a.desk.embassy.keep_up()
        assert "epoch" in await team.a.claim("t1", "src", namespace="local:r")
        assert (await team.a.claim("t1", "src"))["reason"] == "CONTESTED"

    with pair(tmp_path) as team:
        asyncio.run(play())
