"""What a peer is told of the journal: what concerns it, without a gap, and again from where it was."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from synapse_hub.core.commands.claims import SaveCheckpoint, UpdateTask
from synapse_hub.core.commands.talk import Acknowledge, SendMessage
from synapse_hub.federation.observation.tidings import (
    AnyTiding,
    Asserted,
    ClaimEnded,
    ClaimHeld,
    Letter,
    PictureBegun,
    PictureDone,
)
from synapse_hub.federation.observation.view import View
from synapse_hub.federation.team import Team
from synapse_hub.hubfile import HubFile, Namespace, Peer
from synapse_hub.journal import sqlite
from synapse_hub.web.desk import Desk
from synapse_hub.web.team.following import Telling
from tests.hub.desk import Rig, give, running, take

SHARED = "acme/api"


class Teller:
    """Hub a in a team with b, as b hears it."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.team = Team(rig.hub)
        self.share(SHARED)
        self.desk = Desk(rig.hub, journal_path=rig.journal.path, team=self.team)
        self.view = View()
        self.raw = b""

    def share(self, *namespaces: str) -> None:
        entries = {name: Namespace(owner="a", members=("b",)) for name in namespaces}
        self.team.file = HubFile(id="a", peers={"b": Peer(key="k"), "c": Peer(key="k")}, namespaces=entries)

    def held(self, task_id: str, namespace: str = SHARED, **more: Any) -> None:
        self.rig.answer(take(task_id, paths=(f"src/{task_id}",), namespace=namespace, worktree="", **more))

    def hear(self) -> list[AnyTiding]:
        """Connect, take what there is, and part again."""
        at = int(self.view.position.rpartition(":")[2] or 0)
        self.raw = asyncio.run(self._first(Telling(self.desk, "b", at, self.view.picture)))
        heard = []
        for block in self.raw.split(b"\n\n")[:-1]:
            fields = dict(line.split(b": ", 1) for line in block.split(b"\n"))
            tiding: AnyTiding = msgspec.json.decode(fields[b"data"], type=AnyTiding)
            self.view.take(tiding, fields.get(b"id", b"").decode(), self.rig.clock.at)
            heard.append(tiding)
        return heard

    async def _first(self, telling: Telling) -> bytes:
        heard = b""
        stream = telling.stream()
        while telling.at < self.rig.hub.synced_seq:
            heard += await anext(stream)
        await stream.aclose()
        return heard

    def known(self) -> dict[str, str]:
        return {claim.task_id: claim.owner for claim in self.view.claims(self.rig.clock.at)}


@pytest.fixture
def teller(tmp_path: Path) -> Iterator[Teller]:
    with running(tmp_path) as rig:
        yield Teller(rig)


def test_a_peer_is_told_of_shared_namespaces_only_and_never_of_principals_or_checkpoints(teller: Teller) -> None:
    """Neither in the picture nor afterwards."""
    for turn in ("early", "late"):
        teller.held(f"{turn}-shared", principal="uid:4711")
        teller.held(f"{turn}-private", "local:1")
        teller.held(f"{turn}-other", "acme/web")
        teller.rig.answer(
            SaveCheckpoint(agent="ana", namespace=SHARED, task_id=f"{turn}-shared", epoch=None, data="confidential")
        )
        teller.hear()
        for secret in (b"4711", b"confidential", b"private", b"other", b"local:1"):
            assert secret not in teller.raw
    assert teller.known() == {"early-shared": "a/ana", "late-shared": "a/ana"}


def test_a_peer_goes_on_from_where_it_was(teller: Teller) -> None:
    """Without the picture again, and without a gap."""
    teller.held("one")
    teller.held("two")
    assert isinstance(teller.hear()[1], PictureBegun)
    teller.rig.answer(UpdateTask(agent="ana", namespace=SHARED, task_id="one", epoch=None, note="half way"))
    teller.rig.answer(msgspec.structs.replace(give("two"), namespace=SHARED))
    teller.held("three")
    assert [type(one).__name__ for one in teller.hear()] == ["Asserted", "ClaimChanged", "ClaimEnded", "ClaimHeld"]
    assert set(teller.known()) == {"one", "three"}
    assert next(teller.view.claims(0)).note == "half way"


@pytest.mark.parametrize("cause", ["forgotten", "another journal", "another share", "put back"])
def test_where_something_may_be_missing_the_picture_is_told_anew(teller: Teller, cause: str) -> None:
    """Rows are gone, the place is one in another journal or beyond this one, or more is shared than was shown."""
    teller.held("one")
    teller.held("elsewhere", "acme/web")
    teller.hear()
    teller.rig.answer(msgspec.structs.replace(give("one"), namespace=SHARED))
    teller.held("two")
    if cause == "forgotten":
        store = sqlite.SqliteStore(teller.rig.journal.path)
        assert store.forget(teller.rig.hub.synced_seq - 1, 1000)
        store.close()
    elif cause == "another journal":
        teller.view.picture = "of another"
    elif cause == "put back":
        teller.view.position = "1:5000"
    else:
        teller.share(SHARED, "acme/web")
    assert any(isinstance(one, PictureBegun) for one in teller.hear())
    assert set(teller.known()) == ({"two", "elsewhere"} if cause == "another share" else {"two"})


def test_what_the_hub_owns_is_told_at_once(teller: Teller) -> None:
    """So that two that own the same find out. Spec: INV-CR-4."""
    teller.held("one")
    (asserted,) = (one for one in teller.hear() if isinstance(one, Asserted))
    assert asserted.owns == (SHARED,)


def test_a_view_has_its_bound_and_counts_what_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that tells without end takes no more memory; what was known already is kept up."""
    monkeypatch.setattr("synapse_hub.federation.observation.view.MAX_OBSERVED_CLAIMS", 2)
    view = View()
    for task in ("one", "two", "three", "one"):
        view.take(_held(task), "", 0.0)
    assert (len(view), view.left_out) == (2, 1)


def test_times_are_told_by_this_hubs_clock() -> None:
    """The peer's may stand anywhere; what is over is not shown."""
    view = View()
    view.take(PictureBegun(picture="p", now=5000.0), "", 100.0)
    view.take(_held("one"), "1:7", 100.0)
    assert view.position == ""  # half a picture is none to go on from
    view.take(msgspec.convert({"kind": "picture_done"}, AnyTiding), "1:7", 100.0)
    assert view.position == "1:7"
    (shown,) = view.claims(109.9)
    assert shown.lease_expires_at == 110.0
    assert not list(view.claims(110.0)) and view.page(110.0, ("", ""), 5) == ([], False)


def _held(task_id: str) -> ClaimHeld:
    return ClaimHeld(
        namespace=SHARED,
        task_id=task_id,
        owner="a/ana",
        host="a",
        worktree="",
        paths=("src",),
        status="claimed",
        note="",
        epoch=1,
        version=0,
        granted_at=4000.0,
        lease_expires_at=5010.0,
    )


def test_letters_for_agents_of_the_peer_are_told_until_they_are_acknowledged(teller: Teller) -> None:
    """Nobody else's, in the picture as afterwards."""
    for turn in ("first", "second"):
        for to in ("b/ben", "ben", "c/cy", "bb/ben", None):
            teller.rig.answer(SendMessage(agent="ana", to=to, body=f"{turn} for {to}"))
        (letter,) = (one for one in teller.hear() if isinstance(one, Letter))
        assert (letter.sender, letter.to, letter.body) == ("a/ana", "ben", f"{turn} for b/ben")
    teller.rig.answer(Acknowledge(agent="b/ben", seq=letter.seq))
    teller.view.picture = ""
    assert not any(isinstance(one, Letter) for one in teller.hear())


def test_what_is_said_to_everyone_is_told_to_those_who_share_a_namespace_of_this_hub_with_its_author(
    teller: Teller,
) -> None:
    """Neither what was said before there was a team, nor what came from a hub of another one, nor their own words."""
    for command in (
        SendMessage(agent="ana", to=None, body="before"),
        SendMessage(agent="ana", to=None, body="ours", abroad=True),
        SendMessage(agent="c/cy", to=None, body="of c", origin="c k", number=7),
        SendMessage(agent="b/ben", to=None, body="of b", origin="b k", number=3),
    ):
        teller.rig.answer(command)
    assert chat(teller) == [("a/ana", "ours", "", 0)]
    entry = Namespace(owner="a", members=("b", "c"))
    teller.team.file = msgspec.structs.replace(teller.team.settled, namespaces={SHARED: entry})
    teller.view.picture = ""
    teller.held("one")
    assert chat(teller) == [("a/ana", "ours", "", 0), ("c/cy", "of c", "c k", 7)]


def chat(teller: Teller) -> list[tuple[str, str, str, int]]:
    """What b hears now that was said to everyone."""
    letters = [one for one in teller.hear() if isinstance(one, Letter)]
    return [(one.sender, one.body, one.origin, one.number) for one in letters if not one.to]


@pytest.mark.parametrize(
    ("path", "covered"), [("src", True), ("SRC/A.py", True), ("src/deep/b", True), ("srcs", False), ("docs", False)]
)
def test_a_view_tells_what_covers_a_path(path: str, covered: bool) -> None:
    """At it or above it, as a shared tree compares; nothing any more once it has ended."""
    view = View()
    for tiding in (PictureBegun(picture="p", now=5000.0), _held("one"), PictureDone()):
        view.take(tiding, "", 100.0)
    assert bool(view.covering(SHARED, "wt:1", path, 100.0)) is covered
    assert not view.covering("other", "wt:1", path, 100.0) and not view.covering(SHARED, "wt:1", path, 200.0)
    view.take(ClaimEnded(namespace=SHARED, task_id="one"), "", 100.0)
    assert not view.covering(SHARED, "wt:1", path, 100.0)
