"""An owner whose state was put back to an earlier day, by what its peers heard of it. In this process."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from synapse_hub.federation.link import Link, Unreachable
from synapse_hub.federation.refresh import Refresher
from synapse_hub.federation.witness import Witness
from synapse_hub.hub import Hub
from synapse_hub.journal import restart, testimony
from synapse_hub.journal.journal import Journal
from synapse_hub.journal.testimony import Stamp
from tests.hub.desk import FakeClock, running, take
from tests.team.desks import NAMESPACE, Pair, Side, Way, pair


@contextmanager
def started(directory: Path, team: Pair) -> Iterator[Side]:
    """The owner anew, over ``directory``: whoever asks it from now on gets there."""
    with running(directory, FakeClock()) as rig:
        side = Side(directory, "a", rig)
        side.team.load(rig.hub.transact)
        team.way.lead_to(side.door)
        yield side


@asynccontextmanager
async def put_back(root: Path) -> AsyncIterator[tuple[Pair, Path]]:
    """A team, and the owner's state as it was before ben was granted ``src``."""
    with pair(root) as team:
        earlier = root / "earlier"
        assert (await team.b.claim("before", "docs"))["epoch"] == 1
        shutil.copytree(root / "a", earlier)
        assert (await team.b.claim("since", "src"))["epoch"] == 2
        yield team, earlier


async def _refresh(side: Side) -> None:
    await side.desk.embassy.settled()
    side.rig.clock.at += 1
    desk = side.desk
    await Refresher(desk.hub, side.team, desk.transact, desk.embassy.forwarder).refresh(side.team.link("a"))


def _refused(answer: dict[str, Any]) -> None:
    assert answer["reason"] == "JOURNAL_UNAVAILABLE", answer
    assert "the journal of a" in answer["detail"] and "b heard of its event" in answer["detail"]
    assert answer["fix"].removeprefix("On a: ").startswith("synapse-git hub stop; ")
    assert "synapse-git hub import" in answer["fix"]


def test_inv_mh_1_what_was_put_back_grants_nothing_until_it_begins_anew(tmp_path: Path) -> None:
    """Neither to who knows better nor to its own agents, also after a restart; then above every epoch of before."""

    async def play() -> None:
        async with put_back(tmp_path) as (team, earlier):
            with started(earlier, team) as owner:
                _refused(await team.b.claim("more", "lib"))
                _refused(await owner.claim("mine", "src", agent="ana"))
                assert owner.rig.answer(take("t", "ana", ("src",)))["task_id"] == "t"  # what concerns no team goes on
                with pytest.raises(Unreachable, match="JOURNAL_UNAVAILABLE"):
                    await _refresh(team.b)  # what it does not list is not taken for over
                assert len(team.b.rig.hub.state.team.receipts) == 2
            with started(earlier, team) as owner:
                _refused(await owner.claim("mine", "src", agent="ana"))
            assert restart.restart(str(earlier), "")["incarnation"] == 2
            with started(earlier, team) as owner:
                assert (await owner.claim("mine", "src", agent="ana"))["epoch"] > 2 + 10**6
                assert (await team.b.claim("more", "lib"))["epoch"] > 2 + 10**6
                await _refresh(team.b)
                told = "\n".join(message.sent.body for message in team.b.rig.hub.state.mail.box("ben"))
                assert "task since (src) is not yours any more, says a" in told and "claim -t since src" in told

    asyncio.run(play())


def test_inv_mh_1_an_import_goes_above_all_that_was_heard(tmp_path: Path) -> None:
    """In incarnation, events and epochs: else what is granted next would be taken for what was forgotten."""
    with running(tmp_path, FakeClock()) as rig:
        rig.answer(take())
        stamp = Stamp(rig.hub.hub_id[:8], "x", 5, 10**8, 10**9, "")
    testimony.keep(str(tmp_path), testimony.Testimony(against={"b": stamp.text()}))
    begun = restart.restart(str(tmp_path), "")
    assert begun["incarnation"] == 6 and begun["events"] > 10**8
    with running(tmp_path, FakeClock()) as rig:
        assert rig.hub.state.epoch > 10**9


def test_inv_mh_1_another_history_of_the_same_length_is_none_of_it(tmp_path: Path) -> None:
    """What it granted in the moments before anyone who knows better asked does not make up for what it forgot."""

    async def play() -> None:
        async with put_back(tmp_path) as (team, earlier):
            with started(earlier, team) as owner:
                for number in range(9):
                    assert (await owner.claim(f"t{number}", f"x{number}", agent="ana"))["owner"] == "ana"
                assert owner.rig.hub.state.epoch > 2
                _refused(await team.b.claim("more", "lib"))

    asyncio.run(play())


def test_inv_mh_1_who_is_asked_tells_as_well(tmp_path: Path) -> None:
    """An owner that asks its members when it starts learns it from them."""

    async def play() -> None:
        async with put_back(tmp_path) as (team, earlier):
            with started(earlier, team) as owner:
                way, peer = Way(team.b.door), team.b.peer("https://b:1")
                link = Link("a", owner.identity, "b", peer, owner.wall, way, owner.team.witness)
                await link.ask("GET", "/v2/receipts", {}, deadline_s=5.0)
                _refused(await owner.claim("mine", "src", agent="ana"))

    asyncio.run(play())


def test_a_hub_that_lost_nothing_goes_on(tmp_path: Path) -> None:
    """A journal that was only opened anew bears out what was heard of it; so does the newest copy, put back again."""

    async def play() -> None:
        async with put_back(tmp_path) as (team, earlier):
            team.a.rig.hub.stop()
            with started(tmp_path / "a", team) as owner:
                assert (await team.b.claim("more", "lib"))["epoch"] == 3
                assert owner.team.witness.stamp()
            with started(earlier, team):
                _refused(await team.b.claim("late", "x"))
            for name in ("journal.db", "journal.mark"):
                shutil.copy(tmp_path / "a" / name, earlier / name)
            with started(earlier, team) as owner:
                assert owner.team.resolve(NAMESPACE).kind == "local"
                assert (await team.b.claim("latest", "y"))["epoch"] == 4

    asyncio.run(play())


def test_a_mark_that_lags_behind_its_journal_proves_nothing(tmp_path: Path) -> None:
    """As a power cut may leave it: the rows are there."""
    with pair(tmp_path) as team:
        team.a.rig.answer(take("t1"))
        earlier = (tmp_path / "a/journal.mark").read_bytes()
        team.a.rig.answer(take("t2"))
        stamp = team.a.team.witness.stamp()
    (tmp_path / "a/journal.mark").write_bytes(earlier)
    journal = Journal(str(tmp_path / "a"))
    hub = Hub(journal, FakeClock(), state=journal.replay())
    assert hub.mark.seq < hub.state.seq
    assert Witness(hub, str(tmp_path / "a"), lambda: True).confirms("b", stamp)
    journal.close()


def test_a_member_may_come_from_a_backup(tmp_path: Path) -> None:
    """It grants nothing, so how old its journal is concerns nobody."""

    async def play() -> None:
        async with put_back(tmp_path) as (team, _):
            shutil.copytree(tmp_path / "b", tmp_path / "b-earlier")
            await team.b.claim("third", "x")
            with running(tmp_path / "b-earlier", FakeClock(5_000_000.0)) as rig:
                late = Side(tmp_path / "b-earlier", "b", rig)
                late.team.load(rig.hub.transact)
                witness = late.team.witness
                late.team.road = lambda name, peer: Link("b", late.identity, name, peer, late.wall, team.way, witness)
                assert "epoch" in await late.claim("fourth", "y")
                assert witness.confirms("a", Stamp(rig.hub.hub_id[:8], "x", 1, 10**6, 1, "").text())

    asyncio.run(play())


@pytest.mark.parametrize(
    "text", ["", "x", "a.b.1.2.3", "a.b.1.2.3.4.5", "a.b.-1.2.3.h", "a.b.\uff11.2.3.h", "a.b.1.9e9.3.h"]
)
def test_what_is_no_stamp_is_none(text: str) -> None:
    """It may come from a later version, or from nowhere, and proves nothing."""
    assert testimony.read(text) is None


def test_what_was_heard_of_another_journal_proves_nothing(tmp_path: Path) -> None:
    """Nor what was heard in an incarnation before this one."""
    with pair(tmp_path) as team:
        witness = team.a.team.witness
        stamp = testimony.read(witness.stamp())
        assert stamp is not None and stamp.seq > 0
        for other in (Stamp("0" * 8, "x", 1, 10**6, 9, ""), Stamp(stamp.hub_id, "x", 0, 10**6, 9, "")):
            assert witness.confirms("b", other.text())
        assert not witness.confirms("b", Stamp(stamp.hub_id, "x", 1, stamp.seq + 1, 9, "").text())
        assert witness.stamp() == ""
