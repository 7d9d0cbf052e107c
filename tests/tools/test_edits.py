"""Claims that edits take by themselves: one per agent and tree, all or nothing, and small."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from synapse_git.constants import (
    AUTOMATIC_TTL_SECONDS,
    COARSEN_ABOVE,
    MAX_CLAIMS_PER_AGENT,
    MAX_DECLARED_PATHS,
    RESERVED_FOR_NAMED_CLAIMS,
)
from synapse_git.scope import covers
from synapse_hub.core.attribution import Announced
from synapse_hub.core.coarsening import coarsen
from synapse_hub.core.commands.claims import ClaimEdit, HandOff
from synapse_hub.core.outcome import Refusal
from synapse_hub.mentions import Mentions
from synapse_hub.web.closing import closing
from synapse_hub.web.desk import Desk, Rejected
from tests.hub import desk
from tests.hub.desk import Rig, take


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """A hub on a clock that the test turns."""
    with desk.running(tmp_path) as made:
        yield made


def edit(rig: Rig, agent: str, *paths: str, tree: str = "wt:1", unclaimed: str = "allow") -> dict[str, Any]:
    """What the hub says to an edit of ``paths``."""
    command = ClaimEdit(agent=agent, principal="uid:1", namespace="", worktree=tree, paths=paths, unclaimed=unclaimed)
    return rig.answer(command)


def paths(rig: Rig, agent: str) -> list[list[Any]]:
    """The scopes of the agent's live claims."""
    return [list(claim.paths) for claim in rig.hub.state.owned(agent, rig.clock.now())]


def test_an_edit_of_a_free_path_claims_it_and_the_next_widens_the_claim(rig: Rig) -> None:
    """One claim per agent and tree grows with what is edited; another tree has another one."""
    first = edit(rig, "ana", "src/a.py")
    assert (first["verdict"], first["claim"]["paths"]) == ("allow", ["src/a.py"])
    second = edit(rig, "ana", "src/b.py", "src/a.py")
    assert second["claim"]["task_id"] == first["claim"]["task_id"]
    assert second["claim"]["epoch"] > first["claim"]["epoch"]
    edit(rig, "ana", "src/a.py", tree="wt:2")
    assert sorted(paths(rig, "ana")) == [["src/a.py"], ["src/a.py", "src/b.py"]]


def test_an_edit_is_refused_as_a_whole_and_claims_nothing(rig: Rig) -> None:
    """One held path of several stops all of them, with evidence."""
    edit(rig, "ana", "src/a.py")
    refused = edit(rig, "ben", "src/free.py", "src/a.py")
    assert (refused["verdict"], refused["reason"]) == ("refuse", "SCOPE_CONFLICT")
    assert refused["conflicts"][0]["owner"] == "ana"
    assert paths(rig, "ben") == []
    assert len(rig.hub.state.denials) == 1


def test_what_a_claim_by_name_covers_is_not_claimed_again_and_keeps_it_alive(rig: Rig) -> None:
    """An edit inside one's own claim only extends it."""
    rig.answer(take("login", "ana", ("src",)))
    rig.clock.at += 2000
    assert "claim" not in edit(rig, "ana", "src/a.py")
    (claim,) = rig.hub.state.owned("ana", rig.clock.now())
    assert (claim.task_id, claim.lease_expires_at) == ("login", rig.clock.at + 3600)


def test_an_automatic_claim_ends_soon_without_edits_and_lives_with_them(rig: Rig) -> None:
    """Half an hour after the last edit what it claimed is free."""
    edit(rig, "ana", "a")
    rig.clock.at += AUTOMATIC_TTL_SECONDS - 1
    edit(rig, "ana", "a")
    rig.clock.at += AUTOMATIC_TTL_SECONDS - 1
    assert edit(rig, "ben", "a")["verdict"] == "refuse"
    rig.clock.at += 1
    assert edit(rig, "ben", "a")["verdict"] == "allow"


def test_many_files_of_a_directory_become_the_directory_where_nobody_else_is(rig: Rig) -> None:
    """The claim stays small; a directory with another's file in it stays a list of files."""
    edit(rig, "ben", "shared/his")
    for number in range(COARSEN_ABOVE + 1):
        edit(rig, "ana", f"lib/{number}", f"shared/{number}", f"{number}")
    (scope,) = paths(rig, "ana")
    assert "lib" in scope
    assert not [path for path in scope if path.startswith("lib/")]
    assert len([path for path in scope if path.startswith("shared/")]) == COARSEN_ABOVE + 1
    assert "" not in scope
    assert edit(rig, "ben", "lib/new")["verdict"] == "refuse"


def test_a_thousand_files_in_one_edit_fit_into_one_claim(rig: Rig) -> None:
    """However many paths an edit has, the claim declares no more than a claim may."""
    many = [f"d{number // 20}/s{number % 20}/f" for number in range(1000)]
    claim = edit(rig, "ana", *many)["claim"]
    assert 0 < len(claim["paths"]) <= MAX_DECLARED_PATHS


def test_automatic_claims_leave_room_in_the_quota(rig: Rig) -> None:
    """With little left an edit goes in unclaimed, as policy has it, and a claim by name is still granted."""
    for number in range(MAX_CLAIMS_PER_AGENT - RESERVED_FOR_NAMED_CLAIMS):
        assert "claim" in edit(rig, f"agent-{number}", f"f{number}")
    late = edit(rig, "late", "free")
    assert (late["verdict"], late["unclaimed"], "claim" in late) == ("allow", ["free"], False)
    assert edit(rig, "late", "free", unclaimed="refuse")["reason"] == "UNCLAIMED"
    assert "claim" in edit(rig, "agent-0", "another")
    rig.answer(take("login", "late", ("src",)))


def test_an_automatic_claim_that_was_handed_over_is_not_in_the_way_of_the_next(rig: Rig) -> None:
    """Its id is somebody else's now, so the giver's next edit gets another one."""
    task = edit(rig, "ana", "a")["claim"]["task_id"]
    rig.answer(HandOff(agent="ana", namespace="", task_id=task, to="ben"))
    again = edit(rig, "ana", "b")
    assert (again["claim"]["owner"], again["claim"]["paths"]) == ("ana", ["b"])
    assert again["claim"]["task_id"] != task


@pytest.mark.parametrize("limit", [MAX_DECLARED_PATHS, MAX_DECLARED_PATHS * 3])
def test_coarsening_never_claims_what_it_must_not(limit: int) -> None:
    """Never the root, never a directory that is not free, and every path stays covered."""
    paths = [f"a/{number}" for number in range(limit)] + ["top", "b/c"]
    found = coarsen(paths, lambda directory: directory != "a")
    assert not {"", "a"} & set(found)
    assert all(any(covers(one, path) for one in found) for path in paths)
    assert set(coarsen(paths, lambda _: True)) == {"a", "b/c", "top"}


def test_a_session_and_its_subagents_share_and_siblings_do_not(rig: Rig) -> None:
    """What a session had claimed goes to the subagent that edits it; another subagent meets it there."""
    edit(rig, "s", "a", "b")
    taken = edit(rig, "s/1", "a")
    assert (taken["claim"]["owner"], taken["claim"]["paths"]) == ("s/1", ["a"])
    assert paths(rig, "s") == [["b"]]
    assert edit(rig, "s/2", "a")["verdict"] == "refuse"
    assert edit(rig, "s", "a")["verdict"] == "allow"
    assert edit(rig, "s/2", "b")["claim"]["paths"] == ["b"]
    assert paths(rig, "s") == []
    assert edit(rig, "sx", "a")["verdict"] == "refuse"


def test_a_claim_by_name_covers_the_subagents_of_its_holder(rig: Rig) -> None:
    """It stays whole, and they claim nothing of it."""
    rig.answer(take("login", "s", ("src",)))
    assert "claim" not in edit(rig, "s/1", "src/a")
    assert paths(rig, "s/1") == []
    assert edit(rig, "s/1", "src/a", unclaimed="refuse")["verdict"] == "allow"


def test_a_subagent_is_told_that_it_needs_no_claim_of_its_own(rig: Rig) -> None:
    """What the guard lets it do is what its refused claim says."""
    rig.answer(take("login", "s", ("src",)))
    refused = rig.do(take("mine", "s/1", ("src/a",)))
    assert isinstance(refused, Refusal) and refused.reason == "SCOPE_CONFLICT"
    assert "s/1 may edit and commit what s holds" in refused.fix
    assert edit(rig, "s/1", "src/a", unclaimed="refuse")["verdict"] == "allow"


def test_each_message_is_mentioned_once() -> None:
    """To each agent for itself; whoever comes back after many others hears of it again."""
    mentions = Mentions()
    assert [mentions.note(*told) for told in (("ana", 5), ("ana", 5), ("bo", 5), ("ana", 7), ("ana", 6))] == [
        *(True, False, True, True, False)
    ]
    for number in range(5000):
        mentions.note(f"s{number}", 1)
    assert mentions.note("ana", 7)


def test_what_is_edited_again_is_not_given_back_and_an_edit_waits_for_what_is(rig: Rig) -> None:
    """One of both comes first: an allowed edit stops the release, a release under way is waited for."""
    asyncio.run(_both_ways(rig))


async def _both_ways(rig: Rig) -> None:
    at, front = rig.clock.at, Desk(rig.hub)
    task = edit(rig, "ana", "a", "b")["claim"]["task_id"]
    front.announcements.add(("", "wt:1"), [("a", Announced("ana", at))])

    async def give_back(since: float, *kept: str) -> bool:
        headers = [(b"synapse-unedited-since", repr(since).encode())]
        with closing(front, Request({"type": "http", "headers": headers}), ("", task), kept):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(front.closings.over(), 0.01)
        await asyncio.wait_for(front.closings.over(), 1)
        return True

    with pytest.raises(Rejected):
        await give_back(at - 1)
    with pytest.raises(Rejected):
        await give_back(at - 1, "b")
    assert await give_back(at - 1, "a")
    assert await give_back(at)
