"""What waits at one hub for an agent of another's comes there once, however often it is told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from synapse_hub.core.commands.talk import Acknowledge
from synapse_hub.federation.courier import Courier
from synapse_hub.federation.observation.post import Post
from synapse_hub.federation.observation.tidings import Letter
from synapse_hub.journal.snapshot import capture, restore
from tests.team.desks import NAMESPACE, Pair, Side, pair

LETTER = Letter(seq=7, sender="a/ana", to="ben", body="yours")


def waiting(team: Pair) -> list[str]:
    return [one.sent.body for one in team.b.rig.hub.state.mail.box("ben")]


def test_a_letter_that_was_read_does_not_come_again(tmp_path: Path) -> None:
    """Its acknowledgement may have been lost on the way back, with the hub in between. The next one comes, and one of a
    hub that counts anew.
    """

    async def turn(team: Pair) -> None:
        rig = team.b.rig
        post = Post(rig.hub, team.b.team, team.b.desk.transact, "a")
        await post.deliver(LETTER)
        await post.deliver(LETTER)
        assert waiting(team) == ["yours"]
        rig.answer(Acknowledge(agent="ben", seq=rig.hub.state.seq))
        await post.deliver(LETTER)
        assert waiting(team) == []
        kept = restore(capture(rig.hub.state, b"")).mail
        assert list(kept.arrived.items()) == list(rig.hub.state.mail.arrived.items()) != []
        await post.deliver(msgspec.structs.replace(LETTER, seq=8, body="next"))
        await post.deliver(msgspec.structs.replace(LETTER, to="cy"))
        assert waiting(team) == ["next"] and len(rig.hub.state.mail.box("cy")) == 1
        known = team.b.team.settled
        team.b.knows(msgspec.structs.replace(known, peers={"a": msgspec.structs.replace(known.peers["a"], key="anew")}))
        await post.deliver(LETTER)
        assert waiting(team) == ["next", "yours"]

    with pair(tmp_path) as team:
        asyncio.run(turn(team))


def said(team: Pair) -> list[tuple[str, str]]:
    """To everyone at hub a: by whom, and what."""
    return [(one.sent.sender, one.sent.body) for one in team.a.rig.hub.state.mail.chat]


def test_what_is_said_to_everyone_comes_to_the_owner_once(tmp_path: Path) -> None:
    """In its order, over lost answers, a way that is cut or takes one of two, a restart, and a second way round."""

    async def turn(team: Pair) -> None:
        async def says(body: str) -> None:
            assert (await team.b.ask("/v2/messages", {"agent": "ben", "body": body})).status_code == 200

        courier = Courier(team.b.rig.hub, team.b.team)
        await says("one")
        team.way.lose = 2
        await courier.deliver()
        await says("two")
        team.way.closed = True
        await courier.deliver()
        assert said(team) == [("b/ben", "one")]
        team.way.closed = False
        await says("three")
        team.way.alter = lambda request: setattr(team.way, "stalls", b"two" in request.body)
        await courier.deliver()
        assert said(team) == [("b/ben", "one")]
        team.way.alter, team.way.stalls = (lambda _: None), False
        await courier.deliver()
        await Courier(team.b.rig.hub, team.b.team).deliver()
        assert said(team) == [("b/ben", "one"), ("b/ben", "two"), ("b/ben", "three")]
        first = team.a.rig.hub.state.mail.chat[0].sent
        post = Post(team.a.rig.hub, team.a.team, team.a.desk.transact, "b")
        await post.deliver(Letter(seq=first.number, sender="b/ben", to="", body="one"))
        await post.deliver(Letter(seq=3, sender="b/cy", to="", body="of c", origin="c key", number=1))
        assert said(team)[3:] == [("b/cy", "of c")]

    with pair(tmp_path) as team:
        asyncio.run(turn(team))


def test_a_name_that_nobody_has_is_told_with_those_that_may_be_meant(tmp_path: Path) -> None:
    """At home, at the owner, and by a member, each as it calls them; and with a claim that is handed to nobody."""

    async def play(team: Pair) -> None:
        async def near(side: Side, to: str, agent: str) -> str | None:
            answer = await side.ask("/v2/messages", {"agent": agent, "to": to, "body": "hi"})
            told: str | None = answer.headers.get("synapse-unmet")
            return told

        assert await near(team.b, "ben", "cyd") == "*"
        await team.b.claim("t1", "src", agent="ben")
        await team.a.claim("t2", "docs", agent="anna")
        assert await near(team.a, "ben", "anna") == "b/ben"
        assert await near(team.a, "b/ben", "anna") is None
        assert await near(team.b, "a/ana", "ben") == "a/anna"
        assert await near(team.b, "a/anna", "ben") is None
        given = {"task_id": "t1", "agent": "ben", "namespace": NAMESPACE, "to": "a/ana"}
        assert (await team.b.ask("/v2/handoff", given)).headers["synapse-unmet"] == "a/anna"

    with pair(tmp_path) as team:
        asyncio.run(play(team))
