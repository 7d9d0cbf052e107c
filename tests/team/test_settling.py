"""What an owner said goes on record here soon, and never in the way of who has just heard it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from synapse_hub.journal.sqlite import open_reader, read
from tests.team.desks import NAMESPACE, Pair, pair


def _batches(team: Pair) -> dict[int, str]:
    connection = open_reader(team.b.desk.journal_path or str(Path(team.b.directory) / "journal.db"))
    try:
        return {record.seq: f"{record.batch} {record.kind}" for record in read(connection, 0)}
    finally:
        connection.close()


def test_what_is_asked_at_once_takes_the_last_answer_along(tmp_path: Path) -> None:
    """One transaction for both, the answer first."""

    async def turn(team: Pair) -> None:
        await team.b.claim("one", "a")
        await team.b.claim("two", "b")
        rows = [row.split() for row in _batches(team).values()]
        (answer,) = (row for row in rows if row[1] == "receipt_kept")
        intents = [row for row in rows if row[1] == "claim_forwarded"]
        assert answer[0] == intents[1][0] != intents[0][0]
        assert rows.index(answer) < rows.index(intents[1])

    with pair(tmp_path) as team:
        asyncio.run(turn(team))


def test_an_answer_goes_on_record_though_nobody_asks_for_anything(tmp_path: Path) -> None:
    """Within a moment."""

    async def turn(team: Pair) -> None:
        await team.b.claim("one", "a")
        assert not len(team.b.rig.hub.state.team.receipts)
        async with asyncio.timeout(5):
            while not len(team.b.rig.hub.state.team.receipts):
                await asyncio.sleep(0.005)

    with pair(tmp_path) as team:
        asyncio.run(turn(team))


def test_whoever_asks_what_is_held_hears_of_the_last_answer(tmp_path: Path) -> None:
    """A commit is let in by the receipt of a claim that was granted a moment ago, and the owner is not asked."""

    async def turn(team: Pair) -> None:
        await team.b.claim("one", "a")
        sent = len(team.way.sent)
        assert (await team.b.commits("a")).json()["verdict"] == "allow"
        assert len(team.way.sent) == sent
        assert list(team.b.rig.hub.state.team.receipts) == [(NAMESPACE, "one")]

    with pair(tmp_path) as team:
        asyncio.run(turn(team))
