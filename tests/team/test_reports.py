"""What went in against claims of another hub's: told to its holders once, however long that hub was away."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from synapse_git.protocol.guard import OverrideBody
from synapse_hub import spool
from synapse_hub.core.commands.guard import RecordForeignEdit, RecordOverride
from synapse_hub.core.commands.team import FreeNamespace, InheritNamespace
from synapse_hub.federation.reporter import Reporter
from synapse_hub.hubfile import HubFile, Namespace
from synapse_hub.journal.journal import Journal
from tests.team.desks import NAMESPACE, Pair, pair

OVERRIDE = RecordOverride(
    agent="ben", namespace=NAMESPACE, worktree="wt:1", action="commit", paths=("src/a.py",), reason_text="it burns"
)
EDIT = RecordForeignEdit(
    agent="ben",
    namespace=NAMESPACE,
    worktree="wt:1",
    paths=("src/a.py",),
    paths_total=1,
    tasks=((NAMESPACE, "login"),),
    owner="a/ana",
)


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Pair]:
    """Agent ana of the owner holds src there."""
    with pair(tmp_path) as made:
        task = {"task_id": "login", "agent": "ana", "namespace": NAMESPACE, "paths": ["src"]}
        assert asyncio.run(made.a.ask("/v2/claim", task)).status_code == 200
        yield made


async def delivered(team: Pair) -> None:
    b = team.b
    await Reporter(b.rig.hub, b.team, b.desk.transact).deliver()


def told(team: Pair) -> list[str]:
    return [one.sent.body for one in team.a.rig.hub.state.mail.box("ana")]


def owed(team: Pair) -> int:
    return len(team.b.rig.hub.state.team.owed)


@pytest.mark.parametrize("command", [OVERRIDE, EDIT], ids=["override", "edit"])
def test_it_waits_for_an_owner_that_is_away_and_is_told_once(
    team: Pair, command: RecordOverride | RecordForeignEdit
) -> None:
    """Also over a restart of the member, and where the owner's answer gets lost."""

    async def turn() -> None:
        team.way.closed = True
        team.b.rig.answer(command)
        await delivered(team)
        assert owed(team) == 1 and told(team) == []
        team.way.closed, team.way.lose = False, 2
        await delivered(team)
        assert owed(team) == 1 and len(told(team)) == 1
        team.a.rig.clock.at += 1200
        await delivered(team)
        assert owed(team) == 0 and len(told(team)) == 1 and "b/ben" in told(team)[0]

    asyncio.run(turn())
    replayed = Journal(team.b.rig.journal.path.rpartition("/")[0]).replay()
    assert len(replayed.team.owed) == 0


def test_it_is_in_the_journal_until_it_is_told(team: Pair) -> None:
    """And with it what was spooled while the member's own hub was down."""
    directory = Path(team.b.directory) / "overrides"
    directory.mkdir()
    body = OverrideBody(agent="ben", namespace=NAMESPACE, worktree="wt:1", paths=["src/a.py"], reason_text="it burns")
    (directory / "1.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(body, spooled_at=7.0)))
    assert spool.ingest(str(directory), team.b.rig.hub.transact) == 1
    kept = Journal(team.b.rig.journal.path.rpartition("/")[0]).replay().team.owed
    assert list(kept.items()) == list(team.b.rig.hub.state.team.owed.items()) != []
    asyncio.run(delivered(team))
    assert len(told(team)) == 1 and owed(team) == 0


def test_a_hook_s_own_report_of_it_is_taken_whoever_grants_there(team: Pair) -> None:
    """It went in: a hub that must not grant in the namespace has it on record, and once."""
    body = OverrideBody(agent="ben", namespace=NAMESPACE, worktree="wt:1", paths=["src/a.py"], reason_text="it burns")
    for _ in range(2):
        answer = asyncio.run(team.b.ask("/v2/overrides", msgspec.to_builtins(body), idempotency_key="k"))
        assert answer.status_code == 200
        team.b.rig.clock.at += 100
    assert owed(team) == 1


def test_what_the_owner_cannot_take_does_not_keep_the_rest_back(team: Pair) -> None:
    """A report that is refused for what it says is done with; one whose hub may not ask at present waits."""

    async def turn() -> None:
        team.b.rig.answer(msgspec.structs.replace(EDIT, tasks=((NAMESPACE, " "),)))
        team.b.rig.answer(OVERRIDE)
        team.a.knows_of(NAMESPACE, Namespace(owner="a"))
        await delivered(team)
        assert owed(team) == 2
        team.a.knows_of(NAMESPACE, Namespace(owner="a", members=("b",)))
        await delivered(team)
        assert owed(team) == 0 and len(told(team)) == 1

    asyncio.run(turn())


def test_whoever_owns_it_by_now_is_told(team: Pair) -> None:
    """This hub itself perhaps; nobody where it has no part in it any more."""

    async def turn() -> None:
        team.way.closed = True
        team.b.rig.answer(OVERRIDE)
        state = team.a.rig.hub.state
        heir = InheritNamespace(
            namespace=NAMESPACE, owner="b", giver="a", term=1, epoch=9, claims=tuple(state.claims.values()), answers=()
        )
        team.b.rig.answer(heir)
        await delivered(team)
        assert [one.sent.to for one in team.b.rig.hub.state.mail.box("ana")] == ["ana"] and owed(team) == 0

    asyncio.run(turn())


def test_nobody_is_told_of_a_team_that_was_left(team: Pair) -> None:
    """Nothing is owed there any more."""
    team.way.closed = True
    team.b.rig.answer(OVERRIDE)
    team.b.knows(HubFile(id="b"))
    team.b.rig.answer(FreeNamespace(namespace=NAMESPACE))
    asyncio.run(delivered(team))
    assert owed(team) == 0


def test_a_hub_that_grants_itself_owes_nobody(team: Pair) -> None:
    """Nor does one whose agent got its own content back."""
    team.a.rig.answer(OVERRIDE)
    team.b.rig.answer(msgspec.structs.replace(EDIT, quarantine="q1"))
    assert owed(team) == 0 and len(team.a.rig.hub.state.team.owed) == 0
