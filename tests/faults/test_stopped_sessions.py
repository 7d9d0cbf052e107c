"""Sessions whose other end is there no more and never said so: a stopped process looks just like a cut cable.

The hub's deadlines are shortened in a copy of its sources, so that they pass within a test.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults import tree
from tests.faults.served import JSON, Served
from tests.faults.tree import Breakage, breakage

CONSTANTS = "synapse_git/constants.py"
SERVER, SESSION = "hub/synapse_hub/web/doors/server.py", "hub/synapse_hub/web/session/protocol.py"
BRISK = breakage(
    "signs of life are wanted every second",
    (CONSTANTS, "SESSION_PING_SECONDS = 20.0", "SESSION_PING_SECONDS = 0.5"),
    (CONSTANTS, "SESSION_PONG_SECONDS = 10.0", "SESSION_PONG_SECONDS = 0.5"),
)
HASTY = breakage("a second to read", (CONSTANTS, "SESSION_SEND_SECONDS = 10.0", "SESSION_SEND_SECONDS = 0.5"))
UNASKED = breakage("no pings", (SERVER, "ws_ping_interval=SESSION_PING_SECONDS", "ws_ping_interval=None"))
PATIENT = breakage("sends wait for ever", (SESSION, "wait(), SESSION_SEND_SECONDS)", "wait(), None)"))
_WITHIN_S = 5.0
_CLIENT = """
import json, socket, sys, time
from websockets.sync.client import connect
line = socket.socket(socket.AF_UNIX)
line.connect(sys.argv[1])
with connect("ws://hub/v2/session", sock=line, compression=None, ping_interval=None) as session:
    session.send(json.dumps({"type": "register", "agent": "ana"}))
    print(json.loads(session.recv())["type"], flush=True)
    time.sleep(60)
"""


@contextmanager
def stopped(hub: Served) -> Iterator[None]:
    """A process that has the name ana, and was stopped the moment after."""
    with subprocess.Popen([sys.executable, "-c", _CLIENT, hub.path()], stdout=subprocess.PIPE, text=True) as client:
        try:
            assert client.stdout is not None and client.stdout.readline() == "welcome\n"
            client.send_signal(signal.SIGSTOP)
            yield
        finally:
            client.kill()


def connected(hub: Served) -> bool:
    with hub.line(_WITHIN_S) as line:
        (name,) = json.loads(line.ask("GET", "/v2/names").body)["names"]
    return bool(name["connected"])


def cut(hub: Served) -> bool:
    """Is its session over in time? Others are served meanwhile."""
    deadline = time.monotonic() + _WITHIN_S
    while time.monotonic() < deadline:
        begun = time.monotonic()
        if not connected(hub):
            return True
        assert time.monotonic() - begun < 1
        time.sleep(0.1)
    return False


def flood(hub: Served) -> None:
    """More than the socket and the hub's buffer take, in messages to everyone."""
    body = json.dumps({"agent": "ben", "body": "x" * 16_000}).encode()
    with hub.line(30.0) as line:
        for _ in range(60):
            assert line.ask("POST", "/v2/messages", [JSON], body).status == 200


def test_who_gives_no_sign_of_life_is_cut(tmp_path: Path) -> None:
    """Nothing is sent to it, and nothing ends its connection; its name is kept for it all the same."""
    with tree.copy(BRISK) as root, Served(tmp_path, root) as hub, stopped(hub):
        assert connected(hub) and cut(hub)
        with hub.line(_WITHIN_S) as line:
            body = json.dumps({"agent": "ana", "body": "it is me"}).encode()
            assert json.loads(line.ask("POST", "/v2/messages", [JSON], body).body)["reason"] == "NAME_OWNED"


def test_who_does_not_read_is_cut(tmp_path: Path) -> None:
    """Once the hub has tried for a while; what it did not take waits for it."""
    with tree.copy(HASTY) as root, Served(tmp_path, root) as hub, stopped(hub):
        flood(hub)
        assert cut(hub)


@pytest.mark.parametrize(("deadlines", "broken"), [(BRISK, UNASKED), (HASTY, PATIENT)], ids=["pings", "sends"])
def test_without_its_bound_a_stopped_session_stays(tmp_path: Path, deadlines: Breakage, broken: Breakage) -> None:
    """So the tests above would notice."""
    with tree.copy(deadlines, broken) as root, Served(tmp_path, root) as hub, stopped(hub):
        if deadlines is HASTY:
            flood(hub)
        time.sleep(1.3)
        assert connected(hub)
