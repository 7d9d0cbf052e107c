"""What the hub keeps of a refused change that goes in all the same, and of one whose author is gone."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from synapse_hub import spool
from synapse_hub.web.app import make_app
from synapse_hub.web.desk import PEER, Desk
from tests.hub.desk import FakeClock, Rig, running, take

CHANGE: dict[str, Any] = {"agent": "ben", "namespace": "", "worktree": "wt:1", "paths": ["src/a"], "action": "commit"}
OVERRIDE = CHANGE | {"reason_text": "it burns"}
LATER = OVERRIDE | {"spooled_at": 7.0}
HOUR_S = 3600.0


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """Ana holds ``src``."""
    with running(tmp_path, FakeClock()) as made:
        made.answer(take("t1", ttl_s=10 * HOUR_S))
        yield made


def post(rig: Rig, target: str, body: dict[str, Any], **headers: str) -> httpx.Response:
    """As a hook of this user asks."""
    app = make_app(Desk(rig.hub))

    async def as_user(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, PEER: os.geteuid()}, receive, send)

    async def once() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=as_user), base_url="http://hub") as client:
            named = {name.replace("_", "-"): said for name, said in headers.items()}
            return await client.post(target, json=body, headers=named)

    return asyncio.run(once())


def tell(rig: Rig, key: str = "k-1") -> None:
    assert post(rig, "/v2/overrides", OVERRIDE, idempotency_key=key).status_code == 200


def leave(directory: Path, name: str = "k-1") -> None:
    """A hook writes it down for later."""
    directory.mkdir(exist_ok=True)
    (directory / f"{name}.json").write_text(json.dumps(LATER))


def letters(rig: Rig) -> list[str]:
    """What was said to ana."""
    return [one.sent.body for one in rig.hub.state.mail.box("ana")]


def take_in(rig: Rig, directory: Path) -> None:
    assert spool.ingest(str(directory), rig.hub.transact) == 1
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize("first", ["told", "left"])
def test_inv_cr_1_an_override_is_on_record_once_by_whichever_way_it_comes(rig: Rig, tmp_path: Path, first: str) -> None:
    """A hub that hung while it was told finds it in a file as well, and the holder hears of it once."""
    steps: list[Callable[[], None]] = [lambda: tell(rig), lambda: take_in(rig, tmp_path / "spool")]
    leave(tmp_path / "spool")
    for step in steps if first == "told" else reversed(steps):
        step()
        rig.clock.at += 60
    assert len(letters(rig)) == 1 and "went over your claim" in letters(rig)[0]
    leave(tmp_path / "spool", "k-2")
    take_in(rig, tmp_path / "spool")
    assert len(letters(rig)) == 2


def test_inv_cr_1_a_hub_killed_before_it_removed_the_file_records_it_once(tmp_path: Path) -> None:
    """What it finds again after the restart it knows already."""
    for _ in range(2):
        with running(tmp_path, FakeClock()) as rig:
            if not rig.hub.state.claims:
                rig.answer(take("t1", ttl_s=10 * HOUR_S))
            leave(tmp_path / "spool")
            rig.clock.at += HOUR_S
            take_in(rig, tmp_path / "spool")
            assert len(letters(rig)) == 1


def test_a_refusal_that_is_overridden_is_none(rig: Rig) -> None:
    """Nobody is told of a refused change that went in; without an override it is evidence."""
    verdict = post(rig, "/v2/guard", CHANGE, synapse_overriding="1")
    assert verdict.json()["reason"] == "SCOPE_CONFLICT"
    tell(rig)
    assert len(letters(rig)) == 1 and "went over your claim" in letters(rig)[0]
    assert post(rig, "/v2/guard", CHANGE).json()["reason"] == "SCOPE_CONFLICT"
    assert "was refused a commit" in letters(rig)[1]


def test_who_does_not_wait_for_the_answer_may_have_gone_in(rig: Rig) -> None:
    """A hub that was stopped finds questions of hooks that gave up on it: nobody was refused anything by it."""
    body = json.dumps(CHANGE).encode()
    heard = [{"type": "http.request", "body": body, "more_body": False}]
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v2/guard",
        "raw_path": b"/v2/guard",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
        "scheme": "http",
        "server": None,
        "client": None,
        "http_version": "1.1",
        "root_path": "",
        PEER: os.geteuid(),
    }

    async def receive() -> dict[str, Any]:
        return heard.pop(0) if heard else {"type": "http.disconnect"}

    async def send(_: Any) -> None:
        pass

    asyncio.run(make_app(Desk(rig.hub))(scope, receive, send))
    assert letters(rig) == []
