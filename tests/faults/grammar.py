"""Requests that are wrong in one way each, for every route, as bytes on the wire. None of them may change anything."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from synapse_git.constants import MAX_BODY_BYTES, MAX_DECLARED_PATHS, MAX_HEADER_BYTES, MAX_JSON_DEPTH, MAX_PATH_BYTES

TASK: dict[str, Any] = {"task_id": "hostile", "agent": "eve"}
BODIES: dict[str, dict[str, Any]] = {
    "/v2/claim": {**TASK, "worktree": "wt:1", "paths": ["hostile"]},
    "/v2/release": TASK,
    "/v2/task_update": {**TASK, "status": "x"},
    "/v2/handoff": {**TASK, "to": "ana"},
    "/v2/checkpoint": {**TASK, "data": 1},
    "/v2/heartbeat": {"agent": "eve"},
    "/v2/guard": {"agent": "eve", "namespace": "", "worktree": "wt:1", "paths": ["a"], "action": "edit"},
    "/v2/overrides": {
        "agent": "eve", "namespace": "", "worktree": "wt:1", "paths": ["a"], "action": "commit", "reason_text": "x",
    },
    "/v2/messages": {"agent": "eve", "to": "ana", "body": "x"},
    "/v2/ack": {"agent": "eve", "seq": 1},
    "/v2/notes": {"agent": "eve", "text": "x"},
    "/v2/resources": {"agent": "eve", "name": "x"},
    "/v2/resources/withdraw": {"agent": "eve", "name": "x"},
    "/v2/worktrees": {"worktree": "wt:1", "root": "/x"},
}  # fmt: skip
_OTHER_ROUTES = ["/v2/claims", "/v2/events", "/v2/health"]
_NO_NAMES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.lists(st.text(max_size=2), max_size=2),
    st.just({}),
    st.just({"b64": "!"}),
)
_BAD_PATHS = st.sampled_from(
    [["/a"], [".."], ["a/../b"], ["a\0"], [1], [None], [{"b64": "!"}], [{"b64": "Lw=="}], [{}], "a", 7, {},
     ["\ud800"], ["a/\udcff"], ["x" * (MAX_PATH_BYTES + 1)]]
)  # fmt: skip
_TOO_MANY = [f"f{number}" for number in range(MAX_DECLARED_PATHS + 1)]
_BAD_DATA = st.sampled_from(["\ud800", {"\udcff": 1}, [float("nan")], float("inf"), {"a": [float("-inf")]}])
_ROUTES = st.sampled_from(sorted(BODIES))
_NOT_JSON = st.one_of(
    st.binary(max_size=60).map(lambda junk: b"\xff" + junk),
    st.sampled_from(
        [b"", b"{", b"[]", b"null", b"7", b'"x"', b"{}", b'{"agent": "eve"', b"\xef\xbb\xbf{}", b"{'a': 1}"]
    ),
)


def message(method: str, target: str, body: bytes = b"", *headers: str, length: str = "") -> bytes:
    """A request that asks to be the last on its connection."""
    lines = [f"{method} {target} HTTP/1.1", "Host: hub", "Connection: close"]
    lines += [f"Content-Length: {length or len(body)}", *(headers or ("Content-Type: application/json",))]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def _post(target: str, document: object) -> bytes:
    return message("POST", target, json.dumps(document).encode())


@st.composite
def _one_field_wrong(draw: st.DrawFn) -> bytes:
    target = draw(_ROUTES)
    body = dict(BODIES[target])
    match draw(st.sampled_from(["unknown", "missing", "name", "paths", "epoch", "data"])):
        case "unknown":
            body[draw(st.text(min_size=1, max_size=8)) + " "] = draw(_NO_NAMES)
        case "missing":
            del body["worktree" if target == "/v2/worktrees" else "agent"]
        case "name":
            body["root" if target == "/v2/worktrees" else "agent"] = draw(_NO_NAMES)
        case "paths":
            # Only a claim has a limit: a change may be of any number of paths.
            body["paths"] = draw(_BAD_PATHS | st.just(_TOO_MANY) if target == "/v2/claim" else _BAD_PATHS)
        case "epoch":
            body["epoch"] = draw(st.sampled_from(["1", 1.5, [], {}, True]))
        case "data":
            target, body = "/v2/checkpoint", {**TASK, "data": draw(_BAD_DATA)}
    return _post(target, body)


@st.composite
def _no_document(draw: st.DrawFn) -> bytes:
    return message("POST", draw(_ROUTES), draw(_NOT_JSON))


@st.composite
def _too_deep(draw: st.DrawFn) -> bytes:
    depth = draw(st.sampled_from([MAX_JSON_DEPTH + 1, 1100, 100_000]))
    opened, closed = draw(st.sampled_from([(b"[", b"]"), (b'{"a":', b"}")]))
    body = b'{"task_id": "hostile", "agent": "eve", "data": ' + opened * depth + b"1" + closed * depth + b"}"
    return message("POST", draw(_ROUTES), body)


@st.composite
def _too_large(draw: st.DrawFn) -> bytes:
    if draw(st.booleans()):
        return message("POST", draw(_ROUTES), b" " * (MAX_BODY_BYTES + 1))
    size = draw(st.sampled_from([MAX_HEADER_BYTES, 4 * MAX_HEADER_BYTES]))
    return message("GET", "/v2/health", b"", "X-Large: " + "x" * size)


@st.composite
def _no_such_route(draw: st.DrawFn) -> bytes:
    target = draw(st.sampled_from([*BODIES, *_OTHER_ROUTES]))
    if draw(st.booleans()):
        return message(draw(st.sampled_from(["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])), target, b"{}")
    # Escaped, since a target with spaces or control characters is no request at all.
    tail = draw(st.binary(min_size=1, max_size=6)).hex("%")
    return message(draw(st.sampled_from(["GET", "POST"])), f"{target}/%{tail}", b"{}")


@st.composite
def _bad_headers(draw: st.DrawFn) -> bytes:
    target = draw(_ROUTES)
    body = json.dumps(BODIES[target]).encode()
    kind = draw(st.sampled_from(["type", "length", "key", "chunks", "stream", "twice"]))
    if kind == "type":
        return message(
            "POST", target, body, draw(st.sampled_from(["Content-Type: text/plain", "Content-Type:", "X: y"]))
        )
    if kind == "length":
        return message("POST", target, body, length=draw(st.sampled_from(["-1", "x", "99999999999999999999", "1e3"])))
    if kind == "key":
        return message("POST", "/v2/claim", b"{}", "Content-Type: application/json", "Idempotency-Key: " + "k" * 300)
    if kind == "chunks":
        head = f"POST {target} HTTP/1.1\r\nHost: hub\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        return head + draw(st.sampled_from([b"zz\r\n", b"-5\r\nhello", b"fffffffffffffffff\r\n", b"5\r\nhelloX"]))
    if kind == "twice":
        return message("POST", target, body, "Content-Length: 1", "Content-Type: application/json")
    agent = draw(st.sampled_from(["", "%", "%ff", "%00", " "]))
    return message("POST", "/v2/guard", b"a\0", "Content-Type: application/x-synapse-paths", f"Synapse-Agent: {agent}")


@st.composite
def _bad_query(draw: st.DrawFn) -> bytes:
    junk = draw(st.binary(min_size=1, max_size=8)).hex("%")
    return message("GET", draw(st.sampled_from(["/v2/claims?limit=%", "/v2/claims?after=%", "/v2/claims?x=%"])) + junk)


_GARBAGE = st.binary(min_size=1, max_size=200).map(lambda junk: b"\x16" + junk + b"\r\n\r\n")

HOSTILE: st.SearchStrategy[bytes] = st.one_of(
    _one_field_wrong(), _one_field_wrong(), _no_document(), _too_deep(), _no_such_route(), _bad_headers(), _bad_query(),
    _GARBAGE, _too_large(),
)  # fmt: skip
