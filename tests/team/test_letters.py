"""What waits at one hub for an agent of another's comes there once, however often it is told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from synapse_hub.core.commands.talk import Acknowledge
from synapse_hub.federation.observation.post import Post
from synapse_hub.federation.observation.tidings import Letter
from synapse_hub.journal.snapshot import capture, restore
from tests.team.desks import Pair, pair

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
