"""Lives of a bare writer, each ended by kill -9: ``python -m tests.faults.lives DIRECTORY KILLS SEED``.

A life is a fork of this process, so that it costs milliseconds. It opens the journal, checks that everything that was
acknowledged in earlier lives is there, and goes on claiming until it is killed. Prints a JSON document with what was
found. Journal and hub only: no socket, no web.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from synapse_hub.clock import open_clock
from synapse_hub.core.commands import Keyed
from synapse_hub.core.commands.claims import FamilyCommand, ReleaseClaim, TakeClaim
from synapse_hub.core.outcome import Decided
from synapse_hub.core.state import State
from synapse_hub.hub import Hub
from synapse_hub.journal.journal import Journal
from tests.machine.shadow import overlapping, parts

# A journal is left for a fresh one after so many lives, since each life replays it.
_LIVES_OF_A_JOURNAL = 250
_LONGEST_LIFE_S = 0.03
_PATIENCE_S = 10.0
_CLIENTS = 3
_TASKS = 12


class Acknowledged(NamedTuple):
    """An answer that a client saw. ``epoch``: of the grant, or of what was released."""

    sender: str
    verb: str
    key: str
    epoch: int


def main(arguments: Sequence[str]) -> int:
    directory, kills, seed = Path(arguments[0]), int(arguments[1]), int(arguments[2])
    chance = random.Random(seed)
    findings: list[str] = []
    total = 0
    for first in range(0, kills, _LIVES_OF_A_JOURNAL):
        where = directory / str(first)
        where.mkdir()
        seen: list[Acknowledged] = []
        lives = min(_LIVES_OF_A_JOURNAL, kills - first)
        for number in range(first, first + lives + 1):
            findings += _life(where, number, seen, chance, last=number == first + lives)
        epochs = Counter(one.epoch for one in seen if one.verb == "claim")
        findings += [f"epoch {epoch} was granted {times} times" for epoch, times in epochs.items() if times > 1]
        total += len(seen)
    print(json.dumps({"kills": kills, "acknowledged": total, "findings": findings[:20]}))
    return 0


def _life(where: Path, number: int, seen: list[Acknowledged], chance: random.Random, *, last: bool) -> list[str]:
    """One fork, from its start to the kill; what it acknowledged is added to ``seen``. What it found wrong."""
    inlet, outlet = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(inlet)
            _live(where, number, seen, outlet)
        except Exception:  # noqa: BLE001 - the edge of a process
            os.write(outlet, json.dumps(["wrong", traceback.format_exc(limit=-3)[-400:]]).encode() + b"\n")
        os._exit(1)
    os.close(outlet)
    text = b""
    if last or chance.random() < 0.9:  # the others are killed while they start
        patience = time.monotonic() + _PATIENCE_S
        while b"\n" not in text and time.monotonic() < patience and (more := os.read(inlet, 65536)):
            text += more
    time.sleep(chance.uniform(0, _LONGEST_LIFE_S))
    os.kill(child, signal.SIGKILL)
    while more := os.read(inlet, 65536):
        text += more
    os.close(inlet)
    os.waitpid(child, 0)
    lines: list[Any] = [json.loads(line) for line in text.splitlines()]
    seen += [Acknowledged(*line[1:]) for line in lines if line[0] == "done"]
    wrong = [f"life {number}: {line[1]}" for line in lines if line[0] == "wrong"]
    return wrong + ([f"life {number} never began"] if last and not lines else [])


def _live(where: Path, number: int, seen: Sequence[Acknowledged], outlet: int) -> None:
    journal = Journal(str(where))
    state = journal.replay()
    hub = Hub(journal, open_clock(str(where), state.last_at), state=state)
    for wrong in _missing(state, seen) or ["nothing"]:
        kind = "up" if wrong == "nothing" else "wrong"
        os.write(outlet, json.dumps([kind, wrong]).encode() + b"\n")
    hub.start()
    clients = [threading.Thread(target=_work, args=(hub, outlet, number, one)) for one in range(_CLIENTS)]
    for client in clients:
        client.start()
    clients[0].join()


def _missing(state: State, seen: Sequence[Acknowledged]) -> list[str]:
    """What a state must know, and must not hold."""
    wrong = []
    for one in seen:
        known = state.answers.get((one.sender, one.verb, one.key))
        if known is None or known[1][1]["epoch"] != one.epoch:
            wrong.append(f"{one} was acknowledged, and is lost")
        elif state.epoch < one.epoch:
            wrong.append(f"{one} was granted, and epochs start again at {state.epoch}")
    claims = list(state.claims.values())
    for at, a in enumerate(claims):
        for b in claims[at + 1 :]:
            both = ((parts(str(x)), parts(str(y))) for x in a.paths for y in b.paths)
            if a.owner != b.owner and any(overlapping(x, y) for x, y in both):
                wrong.append(f"{a.task_id} and {b.task_id} are both granted")
    return wrong[:5]


def _work(hub: Hub, outlet: int, life: int, client: int) -> None:
    """Claim and release for ever, over contended paths; each answer is made known the moment it is there."""
    chance = random.Random(f"{life} {client}")
    agent = f"agent-{client}"
    for number in range(1_000_000):
        task = f"t{chance.randrange(_TASKS)}"
        command: FamilyCommand
        if chance.random() < 0.7:
            verb, path = "claim", chance.choice(["a", "a/b", "ab", "b/c", "b", "c", f"own-{client}"])
            command = TakeClaim(
                agent=agent, principal="uid:1", namespace="", task_id=f"{agent}-{task}", worktree="wt:1", paths=(path,)
            )
        else:
            verb, command = "release", ReleaseClaim(agent=agent, namespace="", task_id=f"{agent}-{task}")
        key = f"{life}-{number}"
        outcome = hub.transact(Keyed(sender=agent, verb=verb, key=key, digest="d", command=command)).outcome
        if isinstance(outcome, Decided):
            os.write(outlet, json.dumps(["done", agent, verb, key, outcome.answer["epoch"]]).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
