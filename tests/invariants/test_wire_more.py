"""The routes' own guards, in this process: who is charged, whose keys they are, what is not let in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from synapse_git.constants import MAX_BODY_BYTES, MAX_JSON_DEPTH
from synapse_hub.web.app import make_app
from synapse_hub.web.desk import PEER, Desk
from tests.hub.desk import FakeClock, Rig, running

Ask = Callable[..., tuple[int, dict[str, Any]]]
CLAIM = {"task_id": "t1", "agent": "ana", "worktree": "wt:1", "paths": ["src"]}


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with running(tmp_path, FakeClock()) as made:
        yield made


@pytest.fixture
def ask(rig: Rig) -> Ask:
    """``ask(method, target, body, uid=…, key=…)`` → status and document."""
    app = make_app(Desk(rig.hub))

    def exchange(method: str, target: str, body: object = None, uid: int = 1, key: str = "") -> tuple[int, Any]:
        async def as_peer(scope: Any, receive: Any, send: Any) -> None:
            await app({**scope, PEER: uid}, receive, send)

        async def once() -> httpx.Response:
            raw = body if isinstance(body, bytes) else json.dumps(body).encode()
            headers = {"Content-Type": "application/json"} | ({"Idempotency-Key": key} if key else {})
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app=as_peer), base_url="http://hub") as client:
                return await client.request(method, target, content=raw, headers=headers)

        response = asyncio.run(once())
        return response.status_code, response.json()

    return exchange


def test_inv_cr_1_a_key_counts_within_its_agent_and_user(ask: Ask) -> None:
    """Another agent's or another user's request under the same key is another request."""
    assert ask("POST", "/v2/claim", CLAIM, key="k")[0] == 200
    other = {**CLAIM, "agent": "ben", "task_id": "t2", "paths": ["docs"]}
    assert ask("POST", "/v2/claim", other, key="k")[1]["owner"] == "ben"
    assert ask("POST", "/v2/claim", CLAIM, key="k")[1]["replayed"] is True
    assert "replayed" not in ask("POST", "/v2/claim", CLAIM, uid=2, key="k")[1]


def test_inv_me_5_the_principal_is_the_peers_uid(ask: Ask, rig: Rig) -> None:
    """Whatever names the client gives itself."""
    ask("POST", "/v2/claim", CLAIM, uid=7)
    assert rig.hub.state.claims["", "t1"].principal == "uid:7"


def test_inv_ll_1_a_lease_that_is_over_is_not_listed(ask: Ask, rig: Rig) -> None:
    """Swept or not."""
    ask("POST", "/v2/claim", {**CLAIM, "ttl_s": 30})
    assert len(ask("GET", "/v2/claims")[1]["claims"]) == 1
    rig.clock.at += 30
    assert ask("GET", "/v2/claims")[1]["claims"] == []


def test_a_forced_release_needs_a_reason_that_says_something(ask: Ask) -> None:
    """The holder is told it."""
    ask("POST", "/v2/claim", CLAIM)
    for reason in ("", "  "):
        body = {"task_id": "t1", "agent": "ben", "force": True, "reason_text": reason}
        assert ask("POST", "/v2/release", body)[1]["reason"] == "INVALID_REQUEST"
    assert ask("POST", "/v2/release", {**body, "reason_text": "gone"})[0] == 200


@pytest.mark.parametrize("name", ["", " ", "a\x07", "x" * 257])
def test_names_are_printable_and_not_blank(ask: Ask, name: str) -> None:
    """Of agents and of tasks."""
    assert ask("POST", "/v2/claim", {**CLAIM, "agent": name})[1]["reason"] == "INVALID_REQUEST"
    assert ask("POST", "/v2/claim", {**CLAIM, "task_id": name})[1]["reason"] == "INVALID_TASK"


def test_a_body_has_a_size_a_depth_and_known_fields(ask: Ask) -> None:
    """Each over its limit is refused and does nothing."""
    large = json.dumps(CLAIM).encode() + b" " * MAX_BODY_BYTES
    assert ask("POST", "/v2/claim", large)[1]["reason"] == "TOO_LARGE"
    deep = (
        b'{"task_id": "t1", "agent": "ana", "data": ' + b"[" * (MAX_JSON_DEPTH + 1) + b"]" * (MAX_JSON_DEPTH + 1) + b"}"
    )
    assert ask("POST", "/v2/checkpoint", deep)[1]["reason"] == "INVALID_REQUEST"
    assert ask("POST", "/v2/claim", {**CLAIM, "colour": "red"})[1]["reason"] == "INVALID_REQUEST"
    assert ask("GET", "/v2/claims")[1]["claims"] == []


@pytest.mark.parametrize("data", ['"\\ud800"', '{"\\udcff": 1}', "1e999", "[NaN]", "1" + "0" * 5000])
def test_what_the_journal_could_not_give_back_is_refused(ask: Ask, data: str) -> None:
    """And the writer goes on."""
    ask("POST", "/v2/claim", CLAIM)
    raw = b'{"task_id": "t1", "agent": "ana", "data": ' + data.encode() + b"}"
    assert ask("POST", "/v2/checkpoint", raw)[1]["reason"] == "INVALID_REQUEST"
    assert ask("POST", "/v2/checkpoint", {"task_id": "t1", "agent": "ana", "data": [1.5, "\u00e9", 10**300]})[0] == 200


def test_a_root_that_is_no_path_is_refused(ask: Ask) -> None:
    """Not answered with a bug."""
    for root in ({}, {"b64": "!"}, "\ud800"):
        assert ask("POST", "/v2/worktrees", {"worktree": "wt:1", "root": root})[1]["reason"] == "INVALID_REQUEST"
