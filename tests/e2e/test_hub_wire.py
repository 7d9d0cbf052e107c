"""The wire as a raw client meets it: shapes, refusals, and what the hub does with clients that misbehave."""

from __future__ import annotations

import json
import os
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from synapse_git.constants import MAX_DECLARED_PATHS, MAX_HEADER_BYTES, WIRE_PROTOCOL_VERSION
from synapse_git.exchange import Answer, Line
from synapse_git.starter import connect
from tests.box import Box

JSON = ("Content-Type", "application/json")
PATHS = ("Content-Type", "application/x-synapse-paths")


class Wire:
    """Speaks to the box's hub."""

    def __init__(self, box: Box) -> None:
        self.box = box
        end = time.monotonic() + 15
        with connect(box.env, deadline=end, start_deadline=end) as line:
            self.path: str = json.loads(line.ask("GET", "/v2/health").body)["socket"]

    def ask(
        self, method: str, target: str, body: Any = None, *headers: tuple[str, str], raw: bytes | None = None
    ) -> Answer:
        """``body`` is sent as JSON, ``raw`` as it is."""
        data = raw if raw is not None else json.dumps(body).encode() if body is not None else b""
        given = headers if any(name == "Content-Type" for name, _ in headers) else (JSON, *headers)
        with Line(self.path, time.monotonic() + 10) as line:
            return line.ask(method, target, given, data)

    def post(self, route: str, body: Any = None, *headers: tuple[str, str], raw: bytes | None = None) -> dict[str, Any]:
        answer = self.ask("POST", f"/v2/{route}", body, *headers, raw=raw)
        found: dict[str, Any] = json.loads(answer.body)
        assert found.get("status") in (answer.status, "claimed", "released", None)
        return found

    def claim(self, task: str = "t1", agent: str = "ana", paths: Any = ("src",), **more: Any) -> dict[str, Any]:
        scope = {} if paths is None else {"paths": list(paths)}
        return self.post("claim", {"task_id": task, "agent": agent, "worktree": "wt:x"} | scope | more)


@pytest.fixture
def wire(box: Box) -> Iterator[Wire]:
    """A started hub."""
    yield Wire(box)


def test_a_claim_has_the_members_of_the_contract(wire: Wire) -> None:
    """Top-level members, ``seq`` and ``now`` among them, and the protocol version in a header."""
    answer = wire.ask("POST", "/v2/claim", {"task_id": "t", "agent": "ana", "paths": ["a"], "note": "why"})
    assert answer.status == 200 and answer.headers["synapse-protocol"] == str(WIRE_PROTOCOL_VERSION)
    claim = json.loads(answer.body)
    assert set(claim) == {
        "task_id", "namespace", "owner", "worktree", "paths", "status", "note", "epoch", "version",
        "granted_at", "lease_expires_at", "checkpoint", "hub_id", "seq", "now",
    }  # fmt: skip
    assert (claim["namespace"], claim["worktree"], claim["note"], claim["checkpoint"]) == ("", "", "why", None)


def test_a_refusal_is_a_problem_document(wire: Wire) -> None:
    """RFC 9457 with reason, conflicts, seq and now."""
    wire.claim("t1", "ana", note="refactoring")
    answer = wire.ask("POST", "/v2/claim", {"task_id": "t2", "agent": "ben", "paths": ["src/a"], "worktree": "wt:x"})
    problem = json.loads(answer.body)
    assert answer.status == problem["status"] == 409
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["reason"] == "SCOPE_CONFLICT" and {"seq", "now", "title", "type", "detail", "fix"} <= set(problem)
    (conflict,) = problem["conflicts"]
    assert conflict.pop("lease_expires_at") > problem["now"]
    assert conflict == {
        "task_id": "t1", "namespace": "", "owner": "ana", "paths": ["src"], "worktree": "wt:x", "note": "refactoring",
        "changed": ["src/a"], "changed_total": 1,
    }  # fmt: skip


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999", '"90"', "true", "null", "[1]"])
def test_inv_ll_3_a_ttl_that_is_no_finite_number_means_the_default(wire: Wire, text: str) -> None:
    """Also where the JSON grammar does not know it."""
    claim = wire.post("claim", raw=f'{{"task_id":"t","agent":"a","paths":[],"ttl_s":{text}}}'.encode())
    assert claim["lease_expires_at"] - claim["granted_at"] == pytest.approx(3600)


@pytest.mark.parametrize(
    ("raw", "status", "reason"),
    [
        (b"", 400, "INVALID_REQUEST"),
        (b"{", 400, "INVALID_REQUEST"),
        (b"[]", 400, "INVALID_REQUEST"),
        (b'{"task_id":"t"}', 400, "INVALID_REQUEST"),
        (b'{"task_id":"t","agent":"a","paths":[],"what":1}', 400, "INVALID_REQUEST"),
        (b'{"task_id":1,"agent":"a","paths":[]}', 400, "INVALID_REQUEST"),
        (b'{"task_id":"t","agent":"","paths":[]}', 400, "INVALID_REQUEST"),
        (b'{"task_id":"t","agent":"a\\u0007","paths":[]}', 400, "INVALID_REQUEST"),
        (b'{"task_id":"t","agent":"a\\ud800","paths":[]}', 400, "INVALID_REQUEST"),
        (b'{"task_id":"","agent":"a","paths":[]}', 400, "INVALID_TASK"),
        (b'{"task_id":"  ","agent":"a","paths":[]}', 400, "INVALID_TASK"),
        (b'{"task_id":"t","agent":"a","paths":["../x"]}', 400, "INVALID_SCOPE"),
        (b'{"task_id":"t","agent":"a","paths":["/x"]}', 400, "INVALID_SCOPE"),
        (b'{"task_id":"t","agent":"a","paths":["x\\u0000"]}', 400, "INVALID_SCOPE"),
        (b'{"task_id":"t","agent":"a","paths":[{"b64":"!!"}]}', 400, "INVALID_SCOPE"),
        (b'{"task_id":"t","agent":"a","paths":[{"b65":"aa"}]}', 400, "INVALID_SCOPE"),
        (b'{"task_id":"t","agent":"a"}', 400, "INVALID_SCOPE"),
        (b'{"task_id":"t","agent":"a","paths":["' + b"x" * 4097 + b'"]}', 400, "INVALID_SCOPE"),
        (b"[" * 100_000, 400, "INVALID_REQUEST"),
        (b'{"task_id":"' + b"x" * 1_100_000 + b'"}', 413, "TOO_LARGE"),
        (b"\xff\xfe", 400, "INVALID_REQUEST"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_reason(wire: Wire, raw: bytes, status: int, reason: str) -> None:
    """Nothing malformed reaches a decision, and nothing is a 500."""
    answer = wire.ask("POST", "/v2/claim", raw=raw)
    assert (answer.status, json.loads(answer.body)["reason"]) == (status, reason)


def test_over_512_declared_paths_is_refused_with_the_way_out(wire: Wire) -> None:
    """The limit is named, and the directory above is offered."""
    refused = wire.claim(paths=[f"f{number}" for number in range(MAX_DECLARED_PATHS + 1)])
    assert refused["reason"] == "INVALID_SCOPE" and str(MAX_DECLARED_PATHS) in refused["detail"]
    assert "director" in refused["detail"]
    assert wire.claim(paths=[f"f{number}" for number in range(MAX_DECLARED_PATHS)])["status"] == "claimed"


def test_a_path_that_is_not_utf_8_travels_as_base64(wire: Wire) -> None:
    """In and out, and through the streamed form."""
    claim = wire.claim(paths=[{"b64": "Y2Fm6Q=="}])
    assert claim["paths"] == [{"b64": "Y2Fm6Q=="}]
    verdict = guard(wire, b"caf\xe9\0", "ben")
    assert verdict["verdict"] == "refuse" and verdict["conflicts"][0]["changed"] == [{"b64": "Y2Fm6Q=="}]


def guard(wire: Wire, raw: bytes, agent: str, worktree: str = "wt:x", *headers: tuple[str, str]) -> dict[str, Any]:
    """The streamed form of the guard."""
    who = (("Synapse-Agent", agent), ("Synapse-Worktree", worktree), ("Synapse-Action", "commit"))
    answer = wire.ask("POST", "/v2/guard", None, PATHS, *who, *headers, raw=raw)
    found: dict[str, Any] = json.loads(answer.body)
    assert answer.headers.get("synapse-verdict") == found.get("verdict")
    return found


def test_the_guard_names_holder_paths_and_count(wire: Wire) -> None:
    """SCOPE_CONFLICT with up to ten paths and how many there are."""
    wire.claim("t1", "ana", ["src"])
    verdict = guard(wire, b"".join(b"src/%d\0" % number for number in range(300)) + b"docs/x\0", "ben")
    (conflict,) = verdict["conflicts"]
    assert (verdict["verdict"], verdict["reason"]) == ("refuse", "SCOPE_CONFLICT")
    assert len(conflict["changed"]) == 10 and conflict["changed_total"] == 300
    assert guard(wire, b"src/1\0", "ana")["verdict"] == "allow"


def test_a_query_extends_nothing_and_an_allowed_change_extends(wire: Wire) -> None:
    """Only what touches a claim keeps it alive; a fresh lease writes no event."""
    first = wire.claim("t1", "ana", ["src"])
    seq = wire.post("heartbeat", {"agent": "nobody"})["seq"]
    assert guard(wire, b"src/1\0", "ana")["seq"] == seq
    assert wire.post("heartbeat", {"agent": "ana"})["claims"][0]["lease_expires_at"] == first["lease_expires_at"]


def test_a_query_to_the_guard_leaves_no_trace(wire: Wire) -> None:
    """The same verdict, no evidence, no extension."""
    seq = wire.claim("t1", "ana", ["src"])["seq"]
    asked = guard(wire, b"src/1\0", "ben", "wt:x", ("Synapse-Query", "1"))
    assert asked["verdict"] == "refuse" and wire.post("heartbeat", {"agent": "nobody"})["seq"] == seq


def test_policy_unclaimed_warns_or_refuses(wire: Wire) -> None:
    """Paths that no claim of the agent covers, where the policy cares."""
    assert guard(wire, b"free\0", "ana", "wt:x", ("Synapse-Unclaimed", "refuse"))["reason"] == "UNCLAIMED"
    assert guard(wire, b"free\0", "ana", "wt:x", ("Synapse-Unclaimed", "warn"))["verdict"] == "warn"
    body = {"agent": "ana", "worktree": "wt:x", "paths": ["free"], "action": "edit", "policy": {"unclaimed": "refuse"}}
    assert wire.post("guard", body)["reason"] == "UNCLAIMED"


def test_the_shared_tree_binds_every_worktree_of_its_namespace(wire: Wire) -> None:
    """A claim on the shared tree refuses a commit in any worktree of that namespace, and in no other."""
    wire.claim("t1", "ana", ["Src"], worktree="", namespace="acme")
    assert guard(wire, b"src/a\0", "ben", "wt:1", ("Synapse-Namespace", "acme"))["verdict"] == "refuse"
    assert guard(wire, b"src/a\0", "ben", "wt:1", ("Synapse-Namespace", "other"))["verdict"] == "allow"


def test_thirty_thousand_paths_are_judged_in_one_request(wire: Wire) -> None:
    """No limit on the number of streamed paths."""
    wire.claim("t1", "ana", ["gen/zzz"])
    body = b"".join(b"gen/%s%06d\0" % (b"n" * 90, number) for number in range(30_000)) + b"gen/zzz\0"
    assert guard(wire, body, "ben")["conflicts"][0]["changed"] == ["gen/zzz"]


def test_inv_cr_1_a_key_makes_a_retry_harmless(wire: Wire) -> None:
    """The first answer again, marked, with the present seq and now."""
    body = {"task_id": "t", "agent": "ana", "paths": ["a"]}
    first = wire.post("claim", body, ("Idempotency-Key", "one"))
    wire.claim("other", "ben", ["b"])
    again = wire.post("claim", body, ("Idempotency-Key", "one"))
    assert again["replayed"] and again["epoch"] == first["epoch"] and again["seq"] > first["seq"]
    other = wire.post("claim", {**body, "paths": ["z"]}, ("Idempotency-Key", "one"))
    assert other["reason"] == "IDEMPOTENCY_CONFLICT"


def test_listings_page_and_filter(wire: Wire) -> None:
    """``next`` leads through all of them, each once."""
    for number in range(7):
        wire.claim(f"t{number}", f"agent{number % 2}", [f"d{number}"], worktree=f"wt:{number % 3}")
    seen: list[str] = []
    after: str | None = ""
    while after is not None:
        page = json.loads(wire.ask("GET", f"/v2/claims?limit=2&after={after}").body)
        seen += [claim["task_id"] for claim in page["claims"]]
        after = page["next"]
        assert after is None or re.fullmatch(r"[A-Za-z0-9_=-]+", after)
    assert seen == [f"t{number}" for number in range(7)]
    listed = json.loads(wire.ask("GET", "/v2/claims?agent=agent1&worktree=wt:0").body)["claims"]
    assert [claim["task_id"] for claim in listed] == ["t3"]
    assert wire.ask("GET", "/v2/claims?colour=blue").status == 400


def test_worktrees_are_registered_and_listed(wire: Wire) -> None:
    """With who is in them."""
    assert (
        wire.ask("POST", "/v2/claim", {"task_id": "t", "agent": "ana", "paths": ["a"], "worktree": "wt:x"}).headers[
            "synapse-worktree"
        ]
        == "unknown"
    )
    wire.post("worktrees", {"worktree": "wt:x", "root": "/r", "branch": "main", "layers": ["hooks"]})
    (listed,) = json.loads(wire.ask("GET", "/v2/worktrees").body)["worktrees"]
    assert (listed["root"], listed["agents"], listed["layers"]) == ("/r", ["ana"], ["hooks"])


def test_events_stream_the_journal(wire: Wire) -> None:
    """Server-Sent Events with ids of incarnation and seq; without ``follow`` they end at the present."""
    for number in range(3):
        wire.claim(f"t{number}", paths=[f"d{number}"])
    with Line(wire.path, time.monotonic() + 5) as line:
        text = b"".join(line.stream("/v2/events?after=1:1&follow=false")).decode()
    assert re.findall(r"^id: (.+)$", text, re.MULTILINE) == ["1:2", "1:3"]
    assert json.loads(text.split("data: ")[1].split("\n")[0])["claim"]["task_id"] == "t1"


def test_events_follow_what_comes(wire: Wire) -> None:
    """A subscriber hears of a grant without asking again."""
    with Line(wire.path, time.monotonic() + 5) as line:
        stream = line.stream("/v2/events?after=0")
        wire.claim("t1")
        assert b"claim_granted" in next(stream)
        wire.claim("t2", paths=["docs"])
        assert b'"t2"' in next(stream)


def test_unknown_routes_and_methods_are_problem_documents(wire: Wire) -> None:
    """404 and 405 are JSON too."""
    assert wire.ask("GET", "/v2/nope").status == 404
    answer = wire.ask("GET", "/v2/claim")
    assert answer.status == 405 and json.loads(answer.body)["reason"] == "INVALID_REQUEST"


def test_an_override_needs_a_reason_and_is_on_record(wire: Wire) -> None:
    """With the holders it went against."""
    wire.claim("t1", "ana", ["src"])
    body = {"agent": "ben", "worktree": "wt:x", "paths": ["src/a"], "reason_text": "outage"}
    assert wire.post("overrides", body)["conflicts"][0]["owner"] == "ana"
    assert wire.post("overrides", body | {"reason_text": " "})["reason"] == "INVALID_REQUEST"


def raw(wire: Wire) -> socket.socket:
    """A bare connection."""
    line = socket.socket(socket.AF_UNIX)
    line.settimeout(8)
    line.connect(wire.path)
    return line


def test_a_silent_and_a_dripping_client_are_cut_and_harm_nobody(wire: Wire) -> None:
    """Headers have two seconds, bodies and what is new of a stream of paths too; others are served meanwhile."""
    silent, dripping, stuck, stream = raw(wire), raw(wire), raw(wire), raw(wire)
    dripping.sendall(b"POST /v2/claim HTTP/1.1\r\n")
    stuck.sendall(b"POST /v2/claim HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{")
    paths = b"Content-Type: application/x-synapse-paths\r\nSynapse-Agent: ana\r\nSynapse-Worktree: wt:1\r\n"
    stream.sendall(b"POST /v2/guard HTTP/1.1\r\nHost: h\r\n" + paths + b"Content-Length: 99999\r\n\r\na\0")
    start = time.monotonic()
    wire.claim("t1")
    for line in (silent, dripping, stuck, stream):
        assert drained(line) == b""
    assert time.monotonic() - start < 6


def test_a_stream_of_paths_that_moves_on_may_take_its_time(wire: Wire) -> None:
    """Longer than two seconds in all, with enough in each of them."""
    line, part = raw(wire), b"a\0" * 5000
    paths = b"Content-Type: application/x-synapse-paths\r\nSynapse-Agent: ana\r\nSynapse-Worktree: wt:1\r\n"
    line.sendall(b"POST /v2/guard HTTP/1.1\r\nHost: h\r\n" + paths + b"Content-Length: 30000\r\n\r\n")
    for _ in range(3):
        line.sendall(part)
        time.sleep(0.8)
    assert drained(line).startswith(b"HTTP/1.1 200")


def drained(line: socket.socket) -> bytes:
    """What the hub still says before it hangs up."""
    try:
        return line.recv(1000)
    except ConnectionError:
        return b""
    finally:
        line.close()


def test_an_answer_leaves_whole_and_a_head_without_body_leaves_alone(wire: Wire) -> None:
    """One write wakes the asker once; a stream that has nothing to say yet, and HEAD, are answered all the same."""
    seq = wire.claim("t1")["seq"]
    with raw(wire) as line:
        line.sendall(b"POST /v2/ping HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
        head, _, body = line.recv(65536).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200") and json.loads(body)["seq"] == seq
        line.sendall(b"HEAD /v2/health HTTP/1.1\r\nHost: h\r\n\r\n")
        assert line.recv(65536).startswith(b"HTTP/1.1 200")
        line.sendall(b"GET /v2/events?after=%d&follow=1 HTTP/1.1\r\nHost: h\r\n\r\n" % seq)
        assert line.recv(65536).startswith(b"HTTP/1.1 200")


def test_huge_headers_are_cut(wire: Wire) -> None:
    """They take no memory worth speaking of."""
    line = raw(wire)
    with pytest.raises(ConnectionError):
        line.sendall(b"GET /v2/health HTTP/1.1\r\nX: " + b"x" * (MAX_HEADER_BYTES * 100))
        if not line.recv(10):
            raise ConnectionError
    line.close()


def test_four_hundred_idle_connections_harm_nobody(wire: Wire) -> None:
    """A flood of open connections leaves claims as they were."""
    lines = [raw(wire) for _ in range(400)]
    assert wire.claim("t1")["status"] == "claimed"
    for line in lines:
        line.close()


def test_spooled_overrides_are_recorded_at_start_and_bad_ones_kept(box: Box) -> None:
    """What a hook wrote down while no hub could be asked is put on record, once."""
    spool = box.state / "overrides"
    spool.mkdir(parents=True)
    box.state.chmod(0o700)
    fields = {"agent": "ben", "worktree": "wt:x", "paths": ["a"], "reason_text": "hub away", "spooled_at": 5.0}
    (spool / "1.json").write_text(json.dumps(fields))
    (spool / "2.json").write_text("{")
    wire = Wire(box)
    with Line(wire.path, time.monotonic() + 5) as line:
        text = b"".join(line.stream("/v2/events?follow=false")).decode()
    assert text.count("guard_override") >= 1 and '"spooled_at":5.0' in text
    assert sorted(path.name for path in spool.iterdir()) == ["2.json.rejected"]


def test_a_grant_removes_the_tree_s_generation_file(wire: Wire) -> None:
    """So that a hook that judged before knows that it must ask again."""
    folder = wire.box.state / "generations"
    folder.mkdir(mode=0o700)
    for name in ("tree-wt-x", "tree-wt-y"):
        (folder / name).touch()
    wire.claim("t1", worktree="wt:x")
    assert os.listdir(folder) == ["tree-wt-y"]


def test_the_log_is_quiet_about_ordinary_traffic(wire: Wire) -> None:
    """No line for each request."""
    wire.claim("t1")
    log: Path = wire.box.state / "hub.log"
    assert len(log.read_text().splitlines()) <= 3
