"""The routes' own guards, in this process: who is charged, whose keys they are, what is not let in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from synapse_git.constants import DEFAULT_RESOURCE_TTL_SECONDS, MAX_BODY_BYTES, MAX_JSON_DEPTH, MAX_MESSAGE_BYTES
from synapse_git.protocol.talk import MessageBody
from synapse_hub.core.commands.names import BindName
from synapse_hub.web.app import make_app
from synapse_hub.web.desk import PEER, Desk
from synapse_hub.web.messages import message_command
from tests.hub.desk import FakeClock, Rig, running, take

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

    def exchange(
        method: str, target: str, body: object = None, uid: int = 1, key: str = "", **meant: str
    ) -> tuple[int, Any]:
        async def as_peer(scope: Any, receive: Any, send: Any) -> None:
            await app({**scope, PEER: uid}, receive, send)

        async def once() -> httpx.Response:
            raw = body if isinstance(body, bytes) else json.dumps(body).encode()
            headers = {"Content-Type": "application/json", **meant} | ({"Idempotency-Key": key} if key else {})
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app=as_peer), base_url="http://hub") as client:
                return await client.request(method, target, content=raw, headers=headers)

        response = asyncio.run(once())
        return response.status_code, response.json()

    return exchange


def test_what_another_hub_was_meant_to_do_is_not_done(ask: Ask, rig: Rig) -> None:
    """It may stand in the place of one that granted, and knows nothing of that."""
    status, told = ask("POST", "/v2/claim", CLAIM, **{"Synapse-Hub": "0" * 32})
    assert (status, told["reason"]) == (421, "INVALID_REQUEST") and not rig.hub.state.claims
    assert ask("POST", "/v2/claim", CLAIM, **{"Synapse-Hub": rig.hub.hub_id})[0] == 200


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


def test_messages_on_the_wire(ask: Ask, rig: Rig) -> None:
    """The members of the contract, and the watermark by which they go."""
    status, sent = ask("POST", "/v2/messages", {"agent": "ana", "to": "ben", "body": "hi", "client_msg_id": "m"})
    assert status == 200 and sent == {"seq": 1, "timestamp": rig.clock.at, "delivered": False, "now": rig.clock.at}
    ask("POST", "/v2/messages", {"agent": "cyd", "body": "all"})
    status, found = ask("GET", "/v2/messages?agent=ben")
    assert (status, found["pending"]) == (200, 2)
    assert found["messages"][0] == {
        "seq": 1, "sender": "ana", "to": "ben", "body": "hi", "client_msg_id": "m",
        "timestamp": rig.clock.at, "client_timestamp": None,
    }  # fmt: skip
    _, later = ask("GET", "/v2/messages?agent=ben&since_seq=1")
    assert [one["seq"] for one in later["messages"]] == [2] and later["pending"] == 2
    assert ask("POST", "/v2/ack", {"agent": "ben", "seq": 1})[1]["pending"] == 1
    assert [one["body"] for one in ask("GET", "/v2/messages?agent=ben&since_seq=0")[1]["messages"]] == ["all"]


def test_inv_dg_1_the_idempotency_key_is_ignored_for_chat(ask: Ask) -> None:
    """A retry is another copy, never a replay."""
    body = {"agent": "ana", "to": "ben", "body": "hi", "client_msg_id": "m"}
    answers = [ask("POST", "/v2/messages", body, key="k")[1] for _ in range(2)]
    assert answers[0]["seq"] < answers[1]["seq"] and "replayed" not in answers[1]
    assert ask("POST", "/v2/messages", {**body, "body": "other"}, key="k")[0] == 200
    assert [one["client_msg_id"] for one in ask("GET", "/v2/messages?agent=ben")[1]["messages"]] == ["m"] * 3


@pytest.mark.parametrize("stamp", ["NaN", "Infinity", "-Infinity", "1e999", '"12"', "true", "null", "[1]", "{}"])
def test_inv_ck_1_a_client_timestamp_that_is_no_finite_number_is_dropped(ask: Ask, stamp: str) -> None:
    """The message is taken all the same."""
    raw = b'{"agent": "ana", "to": "ben", "body": "hi", "client_timestamp": %s}' % stamp.encode()
    assert ask("POST", "/v2/messages", raw)[0] == 200
    assert ask("GET", "/v2/messages?agent=ben")[1]["messages"][0]["client_timestamp"] is None


def test_messages_that_are_not_taken(ask: Ask, rig: Rig) -> None:
    """Blank, too long, unprintable ids, unknown filters, the hub's own name, numbers that are none."""

    def refused(method: str, target: str, body: object = None) -> str:
        reason: str = ask(method, target, body)[1]["reason"]
        return reason

    good = {"agent": "ana", "body": "hi"}
    assert refused("POST", "/v2/messages", {**good, "body": " "}) == "INVALID_REQUEST"
    assert refused("POST", "/v2/messages", {**good, "body": 7}) == "INVALID_REQUEST"
    assert refused("POST", "/v2/messages", {**good, "body": "x" * (MAX_MESSAGE_BYTES + 1)}) == "TOO_LARGE"
    assert refused("POST", "/v2/messages", {**good, "client_msg_id": "a\u0007"}) == "INVALID_REQUEST"
    assert refused("POST", "/v2/messages", {**good, "client_msg_id": "x" * 257}) == "INVALID_REQUEST"
    assert refused("POST", "/v2/messages", {**good, "to": ""}) == "INVALID_REQUEST"
    for name in ("synapse-git", " Synapse-Git"):
        assert refused("POST", "/v2/messages", {**good, "agent": name}) == "NAME_OWNED"
        assert refused("POST", "/v2/claim", {**CLAIM, "agent": name}) == "NAME_OWNED"
    assert refused("GET", "/v2/messages") == "INVALID_REQUEST"
    for query in ("agent=ben&since_seq=x", "agent=ben&since_seq=-1", "agent=ben&to=x"):
        assert refused("GET", f"/v2/messages?{query}") == "INVALID_REQUEST"
    for seq in (-1, "1", 1.5, None):
        assert refused("POST", "/v2/ack", {"agent": "ben", "seq": seq}) == "INVALID_REQUEST"
    assert rig.hub.state.seq == 0
    assert ask("POST", "/v2/messages", {**good, "body": "x" * MAX_MESSAGE_BYTES})[0] == 200


def test_a_long_inbox_is_read_in_pages(ask: Ask, rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest first, `pending` counts all, and `since_seq` goes on."""
    monkeypatch.setattr("synapse_hub.web.messages.MAX_LISTED_MESSAGES", 3)
    for number in range(7):
        ask("POST", "/v2/messages", {"agent": "ana", "to": "ben", "body": f"{number}"})
    read: list[str] = []
    since = 0
    while page := ask("GET", f"/v2/messages?agent=ben&since_seq={since}")[1]["messages"]:
        assert len(page) <= 3
        read += [one["body"] for one in page]
        since = page[-1]["seq"]
    assert read == [f"{number}" for number in range(7)]


def test_inv_dg_3_letters_are_listed_until_they_are_acknowledged(
    ask: Ask, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By sender and recipient, in pages; what was said to everyone and what the hub says are none; the gauge counts."""
    monkeypatch.setattr("synapse_hub.web.messages.MAX_LISTED_MESSAGES", 2)
    for sender, to in (("ana", "ben"), ("ana", None), ("cyd", "ben"), ("ana", "dan"), ("ana", "ben")):
        ask("POST", "/v2/messages", {"agent": sender, "to": to, "body": "x"})
    rig.answer(take(agent="ben"))
    rig.reason(take("t2", agent="ana"))

    def listed(query: str) -> tuple[list[int], int]:
        found = ask("GET", f"/v2/letters?{query}")[1]
        assert not any(one["delivered"] for one in found["letters"])
        return [one["seq"] for one in found["letters"]], found["total"]

    assert listed("") == ([1, 3], 4) and listed("since_seq=3") == ([4, 5], 4)
    assert listed("sender=ana&to=ben") == ([1, 5], 2)
    ask("POST", "/v2/ack", {"agent": "ben", "seq": 3})
    assert listed("") == ([4, 5], 2) and listed("sender=cyd") == ([], 0)
    assert ask("GET", "/v2/letters?agent=ana")[0] == 400


def test_the_board_on_the_wire(ask: Ask, rig: Rig) -> None:
    """Members, filters, defaults, and what is not taken."""
    clock = rig.clock
    given = {"agent": "ana", "namespace": "acme", "task_id": "t1", "text": "half"}
    assert ask("POST", "/v2/notes", given) == (200, {**given, "at": clock.at, "seq": 1, "now": clock.at})
    ask("POST", "/v2/notes", {"agent": "ben", "text": "other"})
    (one,) = ask("GET", "/v2/notes?namespace=acme&agent=ana&task_id=t1")[1]["notes"]
    assert one == {**given, "at": clock.at, "seq": 1}
    assert len(ask("GET", "/v2/notes")[1]["notes"]) == 2 and ask("GET", "/v2/notes?agent=cyd")[1]["notes"] == []
    for ttl in ("NaN", "null", '"9"', "1e999"):
        raw = b'{"agent": "ana", "name": "db", "note": "n", "ttl_s": %s}' % ttl.encode()
        assert ask("POST", "/v2/resources", raw)[1]["expires_at"] == clock.at + DEFAULT_RESOURCE_TTL_SECONDS
    assert ask("POST", "/v2/resources", {"agent": "ana", "name": "db", "ttl_s": 1})[1]["expires_at"] == clock.at + 30
    (offer,) = ask("GET", "/v2/resources?name=db")[1]["resources"]
    assert offer == {
        "agent": "ana", "namespace": "", "name": "db", "note": "", "offered_at": clock.at, "expires_at": clock.at + 30,
    }  # fmt: skip
    mine = {"agent": "ana", "name": "db"}
    assert ask("POST", "/v2/resources/withdraw", {**mine, "agent": "ben"})[1]["reason"] == "NOT_HELD"
    assert ask("POST", "/v2/resources/withdraw", mine)[1]["expires_at"] == clock.at + 30
    assert ask("GET", "/v2/resources")[1]["resources"] == []
    assert ask("POST", "/v2/resources/withdraw", mine)[1]["reason"] == "NOT_HELD"
    ask("POST", "/v2/resources", {**mine, "ttl_s": 30})
    clock.at += 30
    assert ask("GET", "/v2/resources")[1]["resources"] == []
    for target, body in (
        ("/v2/notes", {"agent": "ana", "text": " "}),
        ("/v2/notes", {"agent": "ana", "text": "x" * 4097}),
        ("/v2/notes", {"agent": "", "text": "x"}),
        ("/v2/resources", {"agent": "ana", "name": ""}),
        ("/v2/resources", {"agent": "ana", "name": "a\x07"}),
    ):
        assert ask("POST", target, body)[1]["reason"] == "INVALID_REQUEST"
    assert ask("POST", "/v2/notes", {"agent": "ana", "text": "x", "task_id": " "})[1]["reason"] == "INVALID_TASK"
    assert ask("GET", "/v2/notes?since=1")[0] == ask("GET", "/v2/resources?x=1")[0] == 400


def test_inv_dg_3_delivered_says_that_a_session_was_open_and_no_more(rig: Rig) -> None:
    """Of the recipient; of anyone else, where it goes to all. The message waits in any case."""
    desk = Desk(rig.hub)
    proven = "d" * 64
    rig.answer(BindName(agent="ben", principal="uid:1", secret_sha256=proven))
    for sender, to, expected in (
        ("ana", "ben", True),
        ("ana", "cyd", False),
        ("ana", None, True),
        ("ben", None, False),
    ):
        command = message_command(desk, MessageBody(agent=sender, to=to, body="hi"), proven if sender == "ben" else "")
        assert rig.answer(command)["delivered"] is expected
    assert [one.sent.delivered for one in rig.hub.state.mail.waiting("ben", rig.clock.at)] == [True, True]
