"""A team begins in the midst of work: what was claimed before and what is claimed afterwards meet on one tree."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from synapse_hub.core.commands.team import FreeNamespace
from synapse_hub.hubfile import HubFile, Namespace, Place
from synapse_hub.web.desk import Rejected
from tests.team.desks import NAMESPACE, Pair, pair

WEB, URL = "acme/web", "https://host/acme/web"
REPOSITORY = {"namespace": "local:r", "remotes": ["git@host:acme/web.git"]}


class Beginner:
    """Hub a, which is about to own `WEB`; its peer b joins once it does."""

    def __init__(self, team: Pair) -> None:
        self.a, self.b = team.a, team.b
        self.a.desk.open_for_peers = self.listens

    async def listens(self) -> Place:
        return Place("127.0.0.1", 1)

    async def holds(self, task_id: str, path: str, agent: str = "ana", **where: str) -> None:
        body = {"task_id": task_id, "agent": agent, "namespace": "local:r", "worktree": "wt:1", "paths": [path]}
        assert (await self.a.ask("/v2/claim", body | where)).status_code == 200

    async def init(self, **more: Any) -> dict[str, Any]:
        body = {"namespace": WEB, "remotes": [URL], "repositories": [REPOSITORY]} | more
        document: dict[str, Any] = (await self.a.ask("/v2/team/init", body)).json()
        return document

    async def contended(self, path: str) -> str:
        """The reason why an agent of b, which has joined, cannot have ``path``; '' if it can."""
        entry = self.a.team.settled.namespaces[WEB]
        self.a.knows_of(WEB, Namespace(owner="a", remotes=entry.remotes, members=("b",)))
        self.b.knows_of(WEB, Namespace(owner="a"))
        reply = await self.b.claim("theirs", path, namespace=WEB)
        return str(reply.get("reason", ""))

    def held(self) -> dict[tuple[str, str], str]:
        return {claim.key: claim.worktree for claim in self.a.rig.hub.state.claims.values()}

    def unchanged(self, before: dict[tuple[str, str], str]) -> bool:
        unknown = WEB not in self.a.rig.hub.state.team.governed and WEB not in self.a.team.settled.namespaces
        return unknown and self.held() == before


@pytest.fixture
def beginner(tmp_path: Path) -> Iterator[Beginner]:
    with pair(tmp_path) as team:
        yield Beginner(team)


def play(turn: Coroutine[Any, Any, None]) -> None:
    asyncio.run(turn)


@pytest.mark.parametrize("how", ["by its remote", "by its configuration", "under the name already"])
def test_inv_mh_2_what_was_held_before_a_team_began_is_held_against_its_members(beginner: Beginner, how: str) -> None:
    """Refused as long as it would not be, and nothing is changed; converted with all that belongs to it."""
    namespace = WEB if how == "under the name already" else "local:r"
    repository = {**REPOSITORY, "remotes": [], "configured": WEB} if how == "by its configuration" else REPOSITORY

    async def turn() -> None:
        if namespace == WEB:  # which is granted in as long as there is no team at all
            beginner.a.knows(HubFile(id="a", peers={"b": beginner.b.peer()}))
            beginner.a.rig.answer(FreeNamespace(namespace=NAMESPACE))
        await beginner.holds("login", "src/a.py", namespace=namespace, note="mine")
        await beginner.holds("other", "src/a.py", "cy", namespace="local:other", worktree="wt:2")
        task = {"task_id": "login", "agent": "ana", "namespace": namespace}
        await beginner.a.ask("/v2/task_update", task | {"status": "half way"})
        await beginner.a.ask("/v2/checkpoint", task | {"data": [7]})
        before = beginner.held()
        refused = await beginner.init(repositories=[repository])
        assert refused["reason"] == "LEASE_LIVE" and [one["owner"] for one in refused["conflicts"]] == ["ana"]
        assert "--convert" in refused["fix"] and beginner.unchanged(before)
        assert (await beginner.init(repositories=[repository], convert=True))["converted"] == ["login"]
        assert beginner.held() == {(WEB, "login"): "", ("local:other", "other"): "wt:2"}
        claim = beginner.a.rig.hub.state.claims[WEB, "login"]
        assert (claim.note, claim.status, claim.checkpoint, claim.owner) == ("mine", "half way", [7], "ana")
        assert await beginner.contended("src/A.py") == "SCOPE_CONFLICT"

    play(turn())


def test_the_next_token_asks_nothing_of_claims_in_their_place(beginner: Beginner) -> None:
    """Also where a later command names another repository, whose claims it asks about."""

    async def turn() -> None:
        await beginner.init(repositories=[])
        await beginner.a.ask("/v2/claim", {"task_id": "t", "agent": "ana", "namespace": WEB, "paths": ["docs"]})
        assert (await beginner.init(repositories=[]))["converted"] == []
        await beginner.holds("late", "src", worktree="wt:3")
        assert (await beginner.init())["reason"] == "LEASE_LIVE"
        assert (await beginner.init(convert=True))["converted"] == ["late"]
        assert await beginner.contended("src/b.py") == "SCOPE_CONFLICT"

    play(turn())


def test_paths_are_given_one_holder_only_where_nobody_disagrees(beginner: Beginner) -> None:
    """Two agents held one path in two checkouts, or one task name twice: nothing begins, and who is said."""

    async def turn() -> None:
        await beginner.holds("one", "src")
        await beginner.holds("two", "src/a.py", "ben", worktree="wt:2")
        before = beginner.held()
        refused = await beginner.init(convert=True)
        assert refused["reason"] == "SCOPE_CONFLICT" and "two of ben" in refused["detail"]
        assert beginner.unchanged(before)
        await beginner.a.ask("/v2/release", {"task_id": "two", "agent": "ben", "namespace": "local:r"})
        second = {"namespace": "local:s", "remotes": [URL]}
        await beginner.holds("one", "docs", "ben", namespace="local:s", worktree="wt:2")
        refused = await beginner.init(convert=True, repositories=[REPOSITORY, second])
        assert refused["reason"] == "LEASE_LIVE" and "called alike" in refused["detail"]

    play(turn())


def test_a_hub_is_renamed_as_long_as_nobody_knows_it_and_by_a_name_only(beginner: Beginner) -> None:
    """After a beginning that failed, say; what is no name is refused before anything happens."""

    async def turn() -> None:
        assert "is no name of a hub" in (await beginner.init(name="b ad"))["detail"]
        assert "called a already" in (await beginner.init(name="other"))["detail"]
        beginner.a.knows(HubFile(id="a"))
        beginner.a.rig.answer(FreeNamespace(namespace=NAMESPACE))
        assert (await beginner.init(name="other"))["id"] == "other"

    play(turn())


def test_tasks_may_exclude_each_other_first_and_paths_later(beginner: Beginner) -> None:
    """Within one checkout claims stay in it; when paths come to have one holder everywhere, they move."""

    async def turn() -> None:
        await beginner.holds("login", "src/a.py")
        assert (await beginner.init(exclusion="worktree", convert=True))["converted"] == ["login"]
        assert beginner.held() == {(WEB, "login"): "wt:1"}
        assert (await beginner.init(exclusion="repository"))["reason"] == "LEASE_LIVE"
        assert beginner.a.team.exclusion(WEB) == "worktree"
        assert (await beginner.init(exclusion="repository", convert=True))["converted"] == ["login"]
        assert await beginner.contended("src") == "SCOPE_CONFLICT"

    play(turn())


def test_what_is_claimed_in_the_instant_of_the_beginning_is_not_left_behind(beginner: Beginner) -> None:
    """By somebody who did not know of the namespace yet: as if it had been there before."""

    async def claims_meanwhile() -> Place:
        await beginner.holds("login", "src/a.py")
        return await beginner.listens()

    async def turn() -> None:
        beginner.a.desk.open_for_peers = claims_meanwhile
        refused = await beginner.init()
        assert refused["reason"] == "LEASE_LIVE" and beginner.unchanged({("local:r", "login"): "wt:1"})
        await beginner.a.ask("/v2/release", {"task_id": "login", "agent": "ana", "namespace": "local:r"})
        assert (await beginner.init(convert=True))["converted"] == ["login"]
        assert await beginner.contended("src") == "SCOPE_CONFLICT"

    play(turn())


def test_where_nobody_can_listen_no_team_has_begun(beginner: Beginner) -> None:
    """The next try may name another place."""

    async def fails() -> Place:
        raise Rejected("INVALID_REQUEST", "peers cannot be listened for: the port is taken")

    async def turn() -> None:
        await beginner.holds("login", "src/a.py")
        before = beginner.held()
        beginner.a.desk.open_for_peers = fails
        refused = await beginner.init(convert=True, listen="127.0.0.1:7")
        assert "port is taken" in refused["detail"] and beginner.unchanged(before)
        beginner.a.desk.open_for_peers = beginner.listens
        assert (await beginner.init(convert=True, listen="127.0.0.1:8"))["converted"] == ["login"]

    play(turn())
