"""What is asked of the owner through another hub is answered as at the owner itself, however odd the words."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from synapse_git.constants import HUB_AGENT
from synapse_hub.hubfile import Namespace
from tests.team.desks import NAMESPACE, Pair, Side, pair

# Owned by a as well, and asked of by its own agents only: what those hold is in nobody's way.
AT_HOME = "acme/home"
VOLATILE = ("seq", "now", "granted_at", "lease_expires_at", "epoch", "namespace", "hub_id", "instance")

LONG = "x" * 4096
LATIN = {"b64": base64.b64encode(b"src/caf\xe9.py").decode()}
NAMES = (
    "plain",
    "zażółć gęślą",
    "日本語",
    "a b",
    "x/y",
    "%41",
    "é" * 127,
    "x" * 255,
    "x" * 256,
    "",
    " ",
    "a\nb",
    "🦀",
    HUB_AGENT,
    7,
)
PATHS: tuple[Any, ...] = (
    ["src"], [], ["."], ["ſ", "S"], ["é", "e\u0301"], [LONG], [LONG + "x"], ["a/../b"], ["/abs"], [""], [LATIN],
    [LATIN, "src/café.py"], [{"b64": "!"}], ["a\0b"], [f"d{n}" for n in range(512)], [f"d{n}" for n in range(513)],
    ["a\nb", "-x", "~", "*"], "src", [7],
)  # fmt: skip
KEYS = ("k", "é", "k" * 255, "ÿ" * 255, "k" * 256, "a b", '"q"', "a\tb", "%C3%A9")
TTLS = (60, -1, 1e999, True, None, "60", 10**30, 0)
DATA: tuple[Any, ...] = (None, "", {}, [[]], {"é": ["\u2028", 2**53]}, 1e300, "x" * 200_000, 10**400)


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Pair]:
    with pair(tmp_path) as made:
        made.a.knows_of(AT_HOME, Namespace(owner="a"))
        yield made


def said(answer: httpx.Response) -> Any:
    """Of an answer, what does not depend on when and where."""
    document = answer.json()
    told = {name: value for name, value in document.items() if name not in VOLATILE}
    for one in told.get("conflicts", ()):
        one.update(dict.fromkeys(("namespace", "lease_expires_at")))
    return answer.status_code, told


async def alike(team: Pair, verb: str, body: dict[str, Any], **headers: str) -> int:
    """Ask at the owner and through the other hub; the status, which both have in common."""

    async def ask(side: Side, namespace: str) -> Any:
        whole = {"agent": "ann", "namespace": namespace, **body}
        return said(await side.ask(f"/v2/{verb}", whole, **headers))

    here, through = await ask(team.a, AT_HOME), await ask(team.b, NAMESPACE)
    assert through == here, (verb, json.dumps(body)[:200], headers)
    status: int = here[0]
    return status


def play(team: Pair, asked: list[tuple[str, dict[str, Any]]]) -> set[int]:
    async def turn() -> set[int]:
        return {await alike(team, verb, body) for verb, body in asked}

    return asyncio.run(turn())


def test_odd_tasks_and_agents(team: Pair) -> None:
    """Taken, renewed, refused to another, updated, kept, handed over and given back under any name."""
    asked: list[tuple[str, dict[str, Any]]] = []
    for number, name in enumerate(NAMES):
        paths = [f"p{number}"]
        for odd in ({"task_id": name, "agent": "ann"}, {"task_id": f"t{number}", "agent": name}):
            asked += [
                ("claim", odd | {"paths": paths}),
                ("claim", odd),
                ("claim", odd | {"agent": "bea", "task_id": "other", "paths": paths}),
                ("task_update", odd | {"status": "half way", "note": "né"}),
                ("task_update", odd | {"agent": "bea"}),
                ("checkpoint", odd | {"data": {"at": 1}}),
                ("handoff", odd | {"to": "ann"}),
                ("release", {"task_id": odd["task_id"], "agent": "ann"}),
                ("release", odd),
            ]
        asked += [
            ("claim", {"task_id": f"give{number}", "paths": [f"give{number}"]}),
            ("handoff", {"task_id": f"give{number}", "to": name}),
        ]
    assert {200, 400, 403, 409} <= play(team, asked)


def test_odd_scopes_and_times(team: Pair) -> None:
    """Any path that Git can store, limits on both sides of their edge, and lifetimes that are none."""
    asked: list[tuple[str, dict[str, Any]]] = []
    for number, paths in enumerate(PATHS):
        asked += [
            ("claim", {"task_id": f"s{number}", "paths": paths}),
            ("claim", {"task_id": f"s{number}", "paths": paths, "add": True}),
            ("claim", {"task_id": "bea", "agent": "bea", "paths": paths}),
            ("release", {"task_id": f"s{number}"}),
            ("release", {"task_id": "bea", "agent": "bea"}),
        ]
    asked += [
        ("claim", {"task_id": f"t{number}", "paths": [f"t{number}"], "ttl_s": ttl}) for number, ttl in enumerate(TTLS)
    ]
    asked += [
        ("claim", {"task_id": "w", "paths": ["src"], "worktree": tree}) for tree in ("", "wt:x", "é", "x" * 300, 7)
    ]
    asked += [
        ("claim", {"task_id": "n", "paths": ["n"], "note": note}) for note in ("", "é", "x" * 4096, "x" * 99_999, 7)
    ]
    asked += [("claim", {"task_id": "z", "paths": ["z"], "wait_s": wait}) for wait in (0, -1, "x", None)]
    asked += [("claim", {"task_id": "e", "paths": ["e"], "epoch": epoch}) for epoch in (1, "1", 2**70)]
    assert {200, 400} <= play(team, asked)


def test_odd_versions_checkpoints_and_reasons(team: Pair) -> None:
    """And verbs on what nobody holds, with members that do not exist."""
    hold = ("claim", {"task_id": "t", "paths": ["src"]})
    asked: list[tuple[str, dict[str, Any]]] = [hold]
    asked += [("checkpoint", {"task_id": "t", "data": data}) for data in DATA]
    asked += [("task_update", {"task_id": "t", "expected_version": at, "note": "n"}) for at in (0, 1, -1, "0", 2**70)]
    asked += [("task_update", {"task_id": "t", "status": status}) for status in ("", " ", "é", "x" * 256, "a\nb", 7)]
    for reason in ("", " ", "x" * 99_999, 7):
        asked.append(("release", {"task_id": "t", "agent": "bea", "force": True, "reason_text": reason}))
    asked += [
        (verb, {"task_id": "t", "odd": 1}) for verb in ("claim", "release", "task_update", "handoff", "checkpoint")
    ]
    asked += [(verb, {"task_id": "nobody's", "to": "b", "data": 1}) for verb in ("handoff", "checkpoint")]
    asked += [(verb, {"task_id": "nobody's"}) for verb in ("release", "task_update", "claim")]
    asked += [("release", {"task_id": "t", "epoch": epoch}) for epoch in ("1", -1.5)]
    assert {200, 400, 409} <= play(team, asked)


@pytest.mark.parametrize("key", KEYS)
def test_inv_cr_1_any_key_counts_once_through_another_hub_too(team: Pair, key: str) -> None:
    """Headers between hubs are signed and hold no letters but plain ones; the key counts all the same."""

    async def turn() -> None:
        body = {"task_id": "t", "paths": ["src"]}
        first = await alike(team, "claim", body, idempotency_key=key)
        assert first == (400 if len(key) > 255 else 200)
        if first == 200:
            again = await team.b.ask("/v2/claim", {"agent": "ann", "namespace": NAMESPACE, **body}, idempotency_key=key)
            assert again.json()["replayed"] is True and again.json()["epoch"] == 2
            assert await alike(team, "claim", body | {"paths": ["other"]}, idempotency_key=key) == 409

    asyncio.run(turn())


def test_a_name_spelled_as_others_do_is_known_at_home(team: Pair) -> None:
    """On a, a/ann is ann, and on b, b/ben is ben: for claims handed over as for messages."""

    async def turn() -> None:
        for side, namespace in ((team.a, AT_HOME), (team.b, NAMESPACE)):
            await side.ask("/v2/claim", {"task_id": "t", "agent": "ann", "namespace": namespace, "paths": ["src"]})
            given = {"task_id": "t", "agent": "ann", "namespace": namespace, "to": f"{side.name}/bea"}
            assert (await side.ask("/v2/handoff", given)).json()["owner"] == "bea"
            await side.ask("/v2/messages", {"agent": "ann", "to": f"{side.name}/bea", "body": "yours"})
            assert [one.sent.body for one in side.rig.hub.state.mail.box("bea") if not one.notice] == ["yours"]
            hub = await side.ask("/v2/handoff", given | {"agent": "bea", "to": f"{side.name}/{HUB_AGENT}"})
            assert hub.json()["reason"] == "NAME_OWNED"

    asyncio.run(turn())


def test_nothing_goes_back_under_an_edit_through_another_hub_either(team: Pair) -> None:
    """What its owner's word covers, and what the owner was asked about, may be edited: then the claim stays."""

    async def turn() -> None:
        for side, namespace in ((team.a, AT_HOME), (team.b, NAMESPACE)):
            task = {"task_id": "t", "agent": "ann", "namespace": namespace}
            await side.ask("/v2/claim", task | {"paths": ["src"]})
            since = str(side.rig.clock.at - 1)
            edit = {"agent": "ann", "namespace": namespace, "worktree": "", "paths": ["src/a.py"], "action": "edit"}
            assert (await side.ask("/v2/guard", edit)).json()["verdict"] == "allow"
            for verb, more in (("release", {}), ("claim", {"paths": ["src/b.py"]})):
                refused = await side.ask(f"/v2/{verb}", task | more, synapse_unedited_since=since)
                assert refused.json()["reason"] == "VERSION_MISMATCH"
            side.rig.clock.at += 5
            later = str(side.rig.clock.at - 1)
            assert (await side.ask("/v2/release", task, synapse_unedited_since=later)).status_code == 200

    asyncio.run(turn())


def test_every_answer_about_a_claim_says_whose_word_it_is(team: Pair) -> None:
    """Receipts of one hub's are told by it from another's: whatever it was asked for."""

    async def turn() -> None:
        whose = team.a.rig.hub.hub_id
        for side, namespace in ((team.a, AT_HOME), (team.b, NAMESPACE)):
            task = {"task_id": "t", "agent": "ann", "namespace": namespace}
            assert (await side.ask("/v2/claim", task | {"paths": ["src"]})).json()["hub_id"] == whose
            (beating,) = (await side.ask("/v2/heartbeat", {"agent": "ann"})).json()["claims"]
            edit = {"agent": "ann", "namespace": namespace, "worktree": "wt:1", "paths": ["b"], "claim": True}
            taken = (await side.ask("/v2/guard", edit | {"action": "edit"})).json()["claim"]
            assert beating["hub_id"] == taken["hub_id"] == whose
        await team.b.desk.embassy.settled()
        assert {one.hub_id for one in team.b.rig.hub.state.team.receipts.values()} == {whose}

    asyncio.run(turn())
