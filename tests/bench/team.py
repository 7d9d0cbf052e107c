"""What a team costs: a claim that is carried to the owner, and a commit that a receipt covers, beside local ones."""

from __future__ import annotations

import itertools
import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench.measure import Action, Row, medians, process
from tests.box import Box
from tests.team.hosts import NAMESPACE, Host, pair

CLAIMS = 400
COMMITS = 30
CLAIM_GOAL = 3.0
# An agent claims now and then. Right behind a release, what the hub has yet to write of that is in the way.
APART_S = 0.012
COMMIT_GOAL = 1.1


def rows(box: Box) -> list[Row]:
    """Two hubs on one machine, over TLS on the loopback; what is local is asked of the same hub."""
    with pair(box, box.cwd) as (_, b):
        return [_claims(b), _commits(b)]


def _claims(host: Host) -> Row:
    line = _Line(host.state)
    actions: dict[str, Action] = {}
    before: dict[str, Action] = {}
    for name, namespace in (("carried", NAMESPACE), ("local", "local:bench")):
        actions[name], before[name] = _pair(line, namespace)
    taken = medians(actions, CLAIMS, before)
    return Row(
        "a claim carried to its owner; floor: a local one", taken["carried"] * 1e3, taken["local"] * 1e3, CLAIM_GOAL
    )


def _pair(line: _Line, namespace: str) -> tuple[Callable[[], None], Callable[[], None]]:
    """A claim of a free path, and its release with a moment after it."""
    numbers = itertools.count()
    held: list[str] = []

    def claim() -> None:
        task = f"bench-{next(numbers)}"
        held.append(task)
        line.ask("/v2/claim", {"task_id": task, "agent": "ben", "namespace": namespace, "paths": [f"bench/{task}"]})

    def release() -> None:
        if held:
            line.ask("/v2/release", {"task_id": held.pop(), "agent": "ben", "namespace": namespace})
            time.sleep(APART_S)

    return claim, release


class _Line:
    """A kept connection to the hub whose state lies in ``state``."""

    def __init__(self, state: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(os.fsdecode((state / "address").read_bytes().removesuffix(b"\n")))

    def ask(self, target: str, body: dict[str, object]) -> None:
        raw = json.dumps(body).encode()
        head = (
            f"POST {target} HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\nContent-Length: {len(raw)}\r\n"
        )
        self._socket.sendall(head.encode() + b"\r\n" + raw)
        answer = b""
        while True:
            answer += self._socket.recv(65536)
            head_, mark, rest = answer.partition(b"\r\n\r\n")
            if mark and len(rest) >= int(head_.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]):
                break
        if not answer.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"the hub answered {answer[:500]!r}")


def _commits(host: Host) -> Row:
    """A commit of one claimed file: in a repository of the team, and in one of this machine alone."""
    home = host.repo.with_name("alone")
    host.done("git", "clone", "-q", host.repo, home)
    host.done("synapse-git", "install", cwd=home)
    actions: dict[str, Action] = {}
    before: dict[str, Action] = {}
    env = host.env | {"SYNAPSE_AGENT": "ben"}
    for name, root in (("covered", host.repo), ("local", home)):
        host.done("synapse-git", "claim", "-t", f"bench-{name}", "src", "--ttl", "2h", cwd=root, agent="ben")
        actions[name] = process(["git", "commit", "-qm", "change"], env, root)
        before[name] = _change(host, root)
    taken = medians(actions, COMMITS, before)
    return Row(
        "a commit that a receipt covers; floor: a local one", taken["covered"] * 1e3, taken["local"] * 1e3, COMMIT_GOAL
    )


def _change(host: Host, root: Path) -> Action:
    numbers = itertools.count()

    def change() -> None:
        host.write("src/bench.py", f"{next(numbers)}\n", cwd=root)
        host.done("git", "add", ".", cwd=root)

    return change
