"""A checkout comes to belong to another project after agents have claimed in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from synapse_hub.hubfile import Namespace
from tests.team.desks import NAMESPACE, Pair, Side, pair
from tests.team.hosts import Host


async def holds(side: Side, task_id: str, path: str, agent: str = "ana") -> None:
    body = {"task_id": task_id, "agent": agent, "namespace": "local:r", "worktree": "wt:1", "paths": [path]}
    assert (await side.ask("/v2/claim", body | {"note": "mine"})).status_code == 200


async def registers(side: Side, namespace: str = NAMESPACE) -> dict[str, Any]:
    body = {"worktree": "wt:1", "root": "/r", "namespace": namespace}
    document: dict[str, Any] = (await side.ask("/v2/worktrees", body)).json()
    return document


def held(side: Side) -> list[tuple[str, str, str]]:
    state = side.rig.hub.state
    claims = [*state.claims.values(), *(kept.claim for kept in state.team.receipts.values())]
    return sorted((claim.namespace, claim.task_id, claim.worktree) for claim in claims)


def play(root: Path, turn: Callable[[Pair], Coroutine[Any, Any, None]]) -> None:
    with pair(root) as team:
        asyncio.run(turn(team))


@pytest.mark.parametrize("where", ["a", "b"])
def test_inv_mh_2_what_is_held_in_a_checkout_goes_where_the_checkout_went(tmp_path: Path, where: str) -> None:
    """To this hub's own project and to one that another hub owns; the others are held to it from then on."""

    async def turn(team: Pair) -> None:
        here, there = (team.a, team.b) if where == "a" else (team.b, team.a)
        await holds(here, "login", "src/a.py")
        assert (await registers(here, "local:r"))["moved"] == []
        assert (await registers(here))["moved"] == ["login"]
        assert held(here) == [(NAMESPACE, "login", "")]
        refused = await there.claim("theirs", "src", agent="cy")
        assert refused["reason"] == "SCOPE_CONFLICT" and refused["conflicts"][0]["note"] == "mine"

    play(tmp_path, turn)


@pytest.mark.parametrize("where", ["a", "b"])
def test_what_cannot_go_along_stays_and_says_why(tmp_path: Path, where: str) -> None:
    """Where somebody holds it there, and where its holder has a task of that name there already; all or nothing."""

    async def turn(team: Pair) -> None:
        here, there = (team.a, team.b) if where == "a" else (team.b, team.a)
        await holds(here, "login", "src/a.py")
        await holds(here, "words", "docs", "dan")
        await there.claim("theirs", "docs", agent="cy")
        stayed = await registers(here)
        assert stayed["stayed"] == ["login", "words"] and "words of dan" in stayed["why"] and stayed["moved"] == []
        await there.ask("/v2/release", {"task_id": "theirs", "agent": "cy", "namespace": NAMESPACE})
        await here.claim("login", "other.py", agent="ana")
        await here.desk.embassy.settled()
        before = held(here)
        stayed = await registers(here)
        assert stayed["stayed"] and "called alike" in stayed["why"] and held(here) == before
        here.knows_of(NAMESPACE, Namespace(owner="gone"))
        assert (await registers(here, "acme/none"))["stayed"] == ["login", "words"]

    play(tmp_path, turn)


def test_what_a_project_shares_is_named_when_a_checkout_leaves_it(tmp_path: Path) -> None:
    """Once: whose checkout it was for nobody knows."""

    async def turn(team: Pair) -> None:
        await registers(team.b)
        await team.b.claim("login", "src")
        left = await registers(team.b, "local:r")
        assert left["stayed"] == ["login"] and f"held in {NAMESPACE}" in left["why"]
        assert (await registers(team.b, "local:r"))["stayed"] == []

    play(tmp_path, turn)


def test_the_guard_says_that_the_hub_knows_a_checkout_in_another_place_or_project(tmp_path: Path) -> None:
    """On commits as on edits; until it was registered anew."""

    async def turn(team: Pair) -> None:
        question = {"agent": "ana", "namespace": NAMESPACE, "worktree": "wt:1", "paths": ["x"], "action": "commit"}
        assert "synapse-worktree" not in (await team.a.ask("/v2/guard", question)).headers
        await registers(team.a, "local:r")
        for namespace, strange in ((NAMESPACE, True), ("local:r", False), ("", False)):
            answer = await team.a.ask("/v2/guard", question | {"namespace": namespace})
            assert ("synapse-worktree" in answer.headers) == strange
        for root, strange in (("/r", False), ("/r%20%C3%A9", True)):
            answer = await team.a.ask("/v2/guard", question | {"namespace": "local:r"}, synapse_root=root)
            assert ("synapse-worktree" in answer.headers) == strange

    play(tmp_path, turn)


def test_a_commit_takes_what_is_held_along_when_the_configuration_named_a_team(team: tuple[Host, Host]) -> None:
    """And says so; nobody else in the team can have the path from then on."""
    a, b = team
    b.done("git", "remote", "remove", "origin")
    b.done("synapse-git", "claim", "src/a.py", "-t", "login", agent="ben")
    b.done("git", "config", "synapse.namespace", NAMESPACE)
    committed = b.commit("src/b.py", "ben")
    assert committed.code == 0 and f"what was held here goes on in {NAMESPACE}: login" in committed.text
    refused = a.synapse("claim", "src", agent="ana")
    assert refused.code == 1 and "b/ben" in refused.text
