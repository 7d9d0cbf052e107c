"""Many clients at once on few paths, each with a connection of its own, while the hub is killed under them."""

from __future__ import annotations

import itertools
import random
import threading
import time
from contextlib import closing
from typing import Any

from synapse_git.errors import HubUnreachable
from synapse_git.exchange import Line
from tests.faults import history
from tests.faults.history import Answer, Call
from tests.faults.served import Served, ask

CLIENTS = 200
PATHS = [f"d{number % 10}/f{number}" for number in range(50)]
_PATIENCE_S = 60.0


class Crowd:
    """Makes ``operations`` requests, kills the hub ``kills`` times on the way; what came of it is in ``calls``.

    ``applied``: what stood in the journal at each kill, for it is compacted on the way.
    """

    def __init__(
        self, hub: Served, operations: int, kills: int, clients: int = CLIENTS, kind: type[Client] | None = None
    ) -> None:
        self._hub = hub
        self._operations = operations
        self._kills = kills
        self._clients = clients
        self._kind = kind or Client
        self._numbers = itertools.count()
        self._done = 0
        self.calls: list[Call] = []
        self.applied: dict[tuple[str, str, str], tuple[int, float, Answer]] = {}
        self.broken: list[Exception] = []

    def run(self) -> list[Call]:
        """Returns when all have finished."""
        threads = [threading.Thread(target=self._client, args=(number,)) for number in range(self._clients)]
        for thread in threads:
            thread.start()
        for kill in range(1, self._kills + 1):
            while self._done < self._operations * kill // (self._kills + 1) and any(one.is_alive() for one in threads):
                time.sleep(0.01)
            self._hub.kill()
            self._hub.start()
            self._read_journal()
        for thread in threads:
            thread.join(_PATIENCE_S)
            assert not thread.is_alive()
        if self.broken:
            raise self.broken[0]
        return self.calls

    def _read_journal(self) -> None:
        last = max((seq for seq, _, _ in self.applied.values()), default=0)
        self.applied |= history.applied(self._hub.state / "journal.db", last)

    def _client(self, number: int) -> None:
        try:
            with closing(self._kind(self._hub, f"a{number}", random.Random(number))) as one:
                while (at := next(self._numbers)) < self._operations:
                    self.calls += one.request(f"k{at}")
                    self._done += 1
        except Exception as error:  # noqa: BLE001 - the edge of a thread, whose starter raises it
            self.broken.append(error)


class Client:
    """One agent. It remembers epochs it had, so as to use stale ones."""

    def __init__(self, hub: Served, agent: str, chance: random.Random) -> None:
        self._hub = hub
        self._agent = agent
        self._chance = chance
        self._line: Line | None = None
        self._epochs: dict[str, list[int]] = {}

    def close(self) -> None:
        """The next request connects anew."""
        if self._line:
            self._line.close()
        self._line = None

    def request(self, key: str) -> list[Call]:
        """One operation; asked again under its key where no answer came."""
        verb, body = self._choose(key)
        made: list[Call] = []
        while not made or made[-1].answer is None:
            made.append(self._once(verb, body, key))
        answer = made[-1].answer
        if answer and answer["http"] == 200 and verb == "claim":
            self._epochs.setdefault(body["task_id"], []).append(answer["epoch"])
        return made

    def _choose(self, key: str) -> tuple[str, dict[str, Any]]:
        """What to ask: mostly about own tasks, sometimes about one that all want."""
        chance = self._chance
        task = f"{self._agent}-{chance.randrange(2)}" if chance.random() < 0.7 else f"shared-{chance.randrange(8)}"
        body: dict[str, Any] = {"agent": self._agent, "task_id": task}
        epochs = self._epochs.get(task, [])
        if epochs and chance.random() < 0.6:
            body["epoch"] = epochs[-1] if chance.random() < 0.6 else chance.choice(epochs)
        kind = chance.random()
        if kind < 0.45:
            paths = [chance.choice(PATHS) if chance.random() < 0.95 else f"d{chance.randrange(10)}"]
            return "claim", body | {"worktree": "wt:1", "paths": paths, "ttl_s": 3600.0}
        if kind < 0.75:
            return "release", body
        if kind < 0.85:
            return "task_update", body | {"status": "busy", "expected_version": chance.choice([0, 1, None])}
        if kind < 0.88:
            return "handoff", body | {"to": f"a{chance.randrange(CLIENTS)}"}
        return "look", {"agent": self._agent, "task_id": task}

    def _once(self, verb: str, body: dict[str, Any], key: str) -> Call:
        called = time.monotonic()
        answer: dict[str, Any] | None = None
        try:
            line = self._line = self._line or self._connected()
            called = time.monotonic()
            answer = self._exchange(line, verb, body, key)
        except (OSError, HubUnreachable):
            self.close()
        return Call(verb, body, key, called, time.monotonic(), answer)

    def _exchange(self, line: Line, verb: str, body: dict[str, Any], key: str) -> dict[str, Any]:
        if verb == "look":
            return ask(line, f"/v2/claims?namespace=&task_id={body['task_id']}")
        return ask(line, f"/v2/{verb}", body, key)

    def _connected(self) -> Line:
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                return self._hub.line(600.0)
            except (OSError, HubUnreachable):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
