"""The client against hubs that answer badly, late or not at all: real sockets, scripted answers."""

from __future__ import annotations

import json
import os
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from synapse_git import client
from synapse_git.errors import HubUnreachable, Refused

Answer = bytes | None


def _http(status: int, body: object, kind: str = "application/json") -> bytes:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(raw)}\r\n\r\n"
    return head.encode() + raw


class ScriptedHub:
    """Answers one connection after another with what the script says; None hangs up without a word."""

    def __init__(self, path: str, script: list[Answer]) -> None:
        self.requests: list[bytes] = []
        self._script = script
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        os.chmod(path, 0o600)
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        for answer in self._script:
            line, _ = self._listener.accept()
            with line:
                self.requests.append(self._request(line))
                if answer is not None:
                    line.sendall(answer)

    def _request(self, line: socket.socket) -> bytes:
        data = b""
        while b"\r\n\r\n" not in data:
            data += line.recv(65536)
        head, _, body = data.partition(b"\r\n\r\n")
        length = int(next(part for part in head.split(b"\r\n") if part.startswith(b"Content-Length")).split()[1])
        while len(body) < length:
            body += line.recv(65536)
        return head + b"\r\n\r\n" + body

    def close(self) -> None:
        self._thread.join(5)
        self._listener.close()

    def header(self, number: int, name: str) -> str:
        lines = self.requests[number].partition(b"\r\n\r\n")[0].decode().split("\r\n")
        return next((line.partition(": ")[2] for line in lines if line.startswith(name + ":")), "")


Start = Callable[..., tuple[dict[str, str], ScriptedHub]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a scripted hub; gives the environment that leads there."""
    hubs: list[ScriptedHub] = []
    with tempfile.TemporaryDirectory(dir="/tmp") as short:

        def starts(*script: Answer) -> tuple[dict[str, str], ScriptedHub]:
            path = f"{short}/hub.sock"
            hub = ScriptedHub(path, list(script))
            hubs.append(hub)
            return {"HOME": str(tmp_path), "SYNAPSE_HUB": path}, hub

        yield starts
        for hub in hubs:
            hub.close()


def test_a_success_is_given_as_it_came(start: Start) -> None:
    """The document is read, and its bytes are kept for --json."""
    env, hub = start(_http(200, {"task_id": "t", "epoch": 4}))
    reply = client.command(env, "/v2/claim", {"task_id": "t", "ttl_s": 30.0, "paths": ["ü"]})
    assert reply.document == {"task_id": "t", "epoch": 4}
    assert json.loads(reply.raw) == reply.document
    assert hub.requests[0].startswith(b"POST /v2/claim HTTP/1.1\r\n")
    assert json.loads(hub.requests[0].partition(b"\r\n\r\n")[2]) == {"task_id": "t", "ttl_s": 30.0, "paths": ["ü"]}


def test_a_lost_answer_is_asked_for_again_with_the_same_key(start: Start) -> None:
    """A connection that breaks after the request left costs one retry, under one idempotency key (INV-CR-1)."""
    env, hub = start(None, _http(200, {"replayed": True}))
    assert client.command(env, "/v2/claim", {}).document == {"replayed": True}
    keys = {hub.header(number, "Idempotency-Key") for number in (0, 1)}
    assert len(keys) == 1
    assert all(len(key) == 32 for key in keys)


def test_each_command_has_a_key_of_its_own(start: Start) -> None:
    """Two commands are never taken for one."""
    env, hub = start(_http(200, {}), _http(200, {}))
    client.command(env, "/v2/claim", {})
    client.command(env, "/v2/claim", {})
    assert hub.header(0, "Idempotency-Key") != hub.header(1, "Idempotency-Key")


def test_an_answer_lost_twice_is_unknown_and_says_so(start: Start) -> None:
    """After the second broken connection the caller learns that it may have been done."""
    env, _ = start(None, None)
    with pytest.raises(HubUnreachable, match="may have been done all the same"):
        client.command(env, "/v2/claim", {})


def test_a_query_lost_twice_claims_no_such_thing(start: Start) -> None:
    """A question changes nothing, so nothing may have been done."""
    env, _ = start(None, None)
    with pytest.raises(HubUnreachable, match=r"^(?!.*may have been done)"):
        client.query(env, "/v2/claims")


def test_a_problem_document_is_a_refusal(start: Start) -> None:
    """The reason code and its members are carried, the exit status follows from the code."""
    env, _ = start(_http(409, {"reason": "SCOPE_CONFLICT", "detail": "held"}, "application/problem+json"))
    with pytest.raises(Refused, match="held") as refused:
        client.command(env, "/v2/claim", {})
    assert (refused.value.reason, refused.value.exit_status) == ("SCOPE_CONFLICT", 1)


def test_a_hub_that_cannot_write_is_exit_3(start: Start) -> None:
    """JOURNAL_UNAVAILABLE is a refusal whose exit status says that no hub could grant."""
    env, _ = start(_http(503, {"reason": "JOURNAL_UNAVAILABLE", "detail": "disk"}, "application/problem+json"))
    with pytest.raises(Refused) as refused:
        client.command(env, "/v2/claim", {})
    assert refused.value.exit_status == 3


@pytest.mark.parametrize("body", [b"Internal Server Error", b"[1]", b'{"detail": "odd"}', b'{"reason": "NEVER_HEARD"}'])
def test_any_other_answer_names_status_and_log(start: Start, body: bytes) -> None:
    """What is neither success nor a known refusal is a hub that failed: its log is named."""
    env, _ = start(_http(500, body))
    with pytest.raises(HubUnreachable, match=r"answered 500.*hub\.log"):
        client.command(env, "/v2/claim", {})


def test_no_hub_where_synapse_hub_points_says_so(tmp_path: Path) -> None:
    """A configured hub is never started for the caller; the message names the variable."""
    with pytest.raises(HubUnreachable, match="SYNAPSE_HUB"):
        client.query({"HOME": str(tmp_path), "SYNAPSE_HUB": str(tmp_path / "none")}, "/v2/claims")


def test_filters_are_percent_encoded_and_empty_ones_left_out(start: Start) -> None:
    """Names with any characters arrive as they are."""
    env, hub = start(_http(200, {"claims": [], "next": None}))
    client.claims(env, agent="a&b ü", task_id="")
    assert hub.requests[0].startswith(b"GET /v2/claims?agent=a%26b%20%C3%BC HTTP/1.1\r\n")


def test_all_pages_are_fetched(start: Start) -> None:
    """A listing goes on while the hub names a next page."""
    env, hub = start(
        _http(200, {"claims": [{"n": 1}, {"n": 2}], "next": "abc="}), _http(200, {"claims": [{"n": 3}], "next": None})
    )
    assert client.claims(env, agent="a") == [{"n": 1}, {"n": 2}, {"n": 3}]
    assert b"after=abc%3D&agent=a" in hub.requests[1]


def test_paths_to_judge_travel_as_bytes(start: Start) -> None:
    """Any name, any number: NUL-separated in the body, the rest percent-encoded in headers."""
    env, hub = start(_http(200, {"verdict": "allow"}))
    client.judge(env, "änn", "acme/api", "wt:1", ["a", "b/\udcff"])
    assert hub.requests[0].endswith(b"\r\n\r\na\0b/\xff")
    assert hub.header(0, "Synapse-Agent") == "%C3%A4nn"
    assert hub.header(0, "Synapse-Namespace") == "acme%2Fapi"
    assert hub.header(0, "Synapse-Worktree") == "wt%3A1"
    assert hub.header(0, "Content-Type") == "application/x-synapse-paths"


def _chunks(*parts: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (*parts, b""))


def test_events_are_put_together_from_whatever_chunks_come(start: Start) -> None:
    """An event may be split anywhere; comments are passed over."""
    env, hub = start(
        _chunks(
            b": hello\n\nid: 1:5\nevent: claim_gra", b'nted\ndata: {"at": 1}\n', b"\nid: 1:6\nevent: x\ndata: {}\n\n"
        )
    )
    found = list(client.events(env, "4", follow=False))
    assert found == [("1:5", "claim_granted", '{"at": 1}'), ("1:6", "x", "{}")]
    assert hub.requests[0].startswith(b"GET /v2/events?after=4&follow=false HTTP/1.1\r\n")


def test_a_stream_that_breaks_off_is_an_error(start: Start) -> None:
    """A hub that goes away in the middle is not taken for the end."""
    env, _ = start(_chunks(b"id: 1:5\nevent: x\ndata: {}\n\n")[:-5])
    with pytest.raises(HubUnreachable, match="broke off"):
        list(client.events(env, "", follow=True))
