"""One process that wants the name all others want: ``python -m tests.faults.contender SOCKET MARK SECONDS SEED``.

Who has the name holds an OS lock on the file MARK, so that two of them would meet. Prints a line for each turn it had
and for all that must not be. It gives the name up, hangs up and comes back, or dies, as the seed has it.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from synapse_git.exchange import Line

NAME = "one"
TURN = "turn"
_JSON = ("Content-Type", "application/json")
_PATIENCE_S = 20.0
# Less than the hub keeps a name: longer it may have taken this process to be back.
_SURELY_KEPT_S = 0.2


def main(argv: Sequence[str]) -> int:
    """Contend for so many seconds."""
    path, mark, seconds, seed = argv
    chance, deadline = random.Random(seed), time.monotonic() + float(seconds)
    secret = f"{chance.getrandbits(256):064x}"
    hung_up = 0.0
    while time.monotonic() < deadline:
        hung_up = _attempt(path, mark, secret, chance, hung_up)
        time.sleep(0 if hung_up else chance.random() * 0.05)
    return 0


def _attempt(path: str, mark: str, secret: str, chance: random.Random, hung_up: float) -> float:
    """Try for one turn. When this process hung up, with the name kept for it; 0 where it has not."""
    line = socket.socket(socket.AF_UNIX)
    line.connect(path)
    try:
        with connect("ws://hub/v2/session", sock=line, compression=None, ping_interval=None) as session:
            session.send(json.dumps({"type": "register", "agent": NAME, "secret": secret}))
            if json.loads(session.recv(_PATIENCE_S))["type"] != "welcome":
                if time.monotonic() < hung_up + _SURELY_KEPT_S:
                    print("the name was not kept for its session", flush=True)
                return 0.0
            with _alone(mark):
                _try_without_secret(path)
                time.sleep(chance.random() * 0.02)
            return _leave(session, line, chance)
    except ConnectionClosed:
        return 0.0


@contextmanager
def _alone(mark: str) -> Iterator[None]:
    descriptor = os.open(mark, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        print(TURN, flush=True)
        yield
    except BlockingIOError:
        print("two have the name", flush=True)
    finally:
        os.close(descriptor)


def _try_without_secret(path: str) -> None:
    body = json.dumps({"agent": NAME, "body": "it is me"}).encode()
    with Line(path, time.monotonic() + _PATIENCE_S) as line:
        if json.loads(line.ask("POST", "/v2/messages", [_JSON], body).body).get("reason") != "NAME_OWNED":
            print("somebody acted under the name without its secret", flush=True)


def _leave(session: ClientConnection, line: socket.socket, chance: random.Random) -> float:
    kind = chance.random()
    if kind < 0.1:
        os.kill(os.getpid(), signal.SIGKILL)
    if kind < 0.4:
        hung_up = time.monotonic()
        line.shutdown(socket.SHUT_RDWR)
        return hung_up
    session.send(json.dumps({"type": "release"}))
    session.recv(_PATIENCE_S)  # the end, or there is something left to say
    return 0.0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
