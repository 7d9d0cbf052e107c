"""Durable claims per second of many clients on the hub's socket, beside an empty POST on the same server."""

from __future__ import annotations

import json
import selectors
import socket
import statistics
import time
from collections.abc import Callable, Iterator

from tests.bench.measure import Row
from tests.box import Box

CLIENTS = 16
TASKS = 6
ROUNDS = 7
ROUND_S = 1.5
GOAL = 0.5


def rows(box: Box) -> list[Row]:
    """One row: each client takes its own tasks again and again, on a path that is new each time."""
    box.done("synapse-git", "hub", "start")
    path = box.address()
    claims, pings = [], []
    for _ in range(ROUNDS):
        pings.append(_rate(path, _pings))
        claims.append(_rate(path, _claims))
    what = f"durable claims per second, {CLIENTS} clients; floor: empty POSTs"
    return [Row(what, statistics.median(claims), statistics.median(pings), GOAL, unit="/s", at_least=True)]


def _pings(_: int) -> Iterator[bytes]:
    while True:
        yield _request("/v2/ping", b"")


def _claims(client: int) -> Iterator[bytes]:
    number = 0
    while True:
        number += 1
        body = {
            "task_id": f"load-{client}-{number % TASKS}",
            "agent": f"load-{client}",
            "worktree": "load",
            "paths": [f"src/{client}/{number % 200}/{number}"],
        }
        yield _request("/v2/claim", json.dumps(body).encode())


def _request(target: str, body: bytes) -> bytes:
    head = (
        f"POST {target} HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class _Client:
    """A connection with one request in flight."""

    def __init__(self, path: str, requests: Iterator[bytes]) -> None:
        self.line = socket.socket(socket.AF_UNIX)
        self.line.connect(path)
        self._requests = requests
        self._answer = b""
        self._ask()

    def read(self) -> int:
        """Take what has arrived, and ask again if that was the end of an answer; how many ended."""
        self._answer += self.line.recv(65536)
        head, mark, body = self._answer.partition(b"\r\n\r\n")
        if not mark or len(body) < int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]):
            return 0
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"the hub answered {self._answer[:500]!r}")
        self._answer = b""
        self._ask()
        return 1

    def _ask(self) -> None:
        self.line.sendall(next(self._requests))


def _rate(path: str, requests: Callable[[int], Iterator[bytes]]) -> float:
    """Answers per second, all clients driven by this one thread."""
    answered = 0
    with selectors.DefaultSelector() as selector:
        clients = [_Client(path, requests(number)) for number in range(CLIENTS)]
        for client in clients:
            selector.register(client.line, selectors.EVENT_READ, client)
        start = now = time.perf_counter()
        while now < start + ROUND_S:
            for key, _ in selector.select(1.0):
                answered += key.data.read()
            now = time.perf_counter()
        for client in clients:
            client.line.close()
    return answered / (now - start)
