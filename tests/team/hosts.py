"""Several machines in one: boxes with clones of one repository, each with a hub of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from synapse_git import starter
from tests.box import Box, Result

NAMESPACE = "acme/api"


class Host(Box):
    """``name``: what its hub is called in the team; ``repo``: its clone, with the guard installed."""

    def __init__(self, root: Path, name: str) -> None:
        super().__init__(root / name)
        self.name = name
        self.repo = self.cwd

    def clone(self, origin: Path) -> None:
        """Commands run in a fresh clone of ``origin`` from now on."""
        self.repo = self.cwd / "api"
        self.done("git", "clone", "-q", origin, self.repo)
        self.cwd = self.repo
        self.done("synapse-git", "install")

    def ask(self, target: str, body: dict[str, Any], *, key: str) -> dict[str, Any]:
        """The hub's answer to a request under a key."""
        now = time.monotonic()
        headers = [("Content-Type", "application/json"), ("Idempotency-Key", key)]
        with starter.connect(self.env, deadline=now + 10, start_deadline=now + 10) as line:
            document: dict[str, Any] = json.loads(line.ask("POST", target, headers, json.dumps(body).encode()).body)
        return document

    def commit(self, path: str, agent: str) -> Result:
        """Change ``path`` and try to commit it."""
        self.write(path, f"by {agent}\n")
        self.done("git", "add", path)
        return self.git("commit", "-qm", "x", agent=agent)


def origin(box: Box) -> Path:
    """A bare repository with one commit, that hosts clone."""
    made = box.init("origin")
    bare = made.parent / "api.git"
    box.done("git", "clone", "-q", "--bare", made, bare)
    return bare


def free_port() -> int:
    """One that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def found(owner: Host, *options: str, at: str = "127.0.0.1") -> tuple[str, str]:
    """Have ``owner`` own the namespace, listening ``at`` an address: its url and a token."""
    told = owner.synapse("team", "init", NAMESPACE, "--listen", f"{at}:0", "--name", owner.name, "--json", *options)
    assert told.code == 0, told.text
    document = told.json()
    assert set(document) >= {"url", "token"}
    return document["url"], document["token"]


def join(host: Host, url: str, token: str, *options: str) -> Result:
    return host.synapse("team", "join", url, "--name", host.name, *options, stdin=token.encode() + b"\n")


@contextmanager
def pair(box: Box, root: Path) -> Iterator[tuple[Host, Host]]:
    """Host a, whose hub owns the namespace, and host b, which has joined; each with a clone of one repository."""
    upstream = origin(box)
    with Host(root, "a") as a, Host(root, "b") as b:
        a.clone(upstream)
        b.clone(upstream)
        joined = join(b, *found(a))
        assert joined.code == 0, joined.text
        yield a, b


def heard(host: Host) -> None:
    """Have the host's hub ask its peers now, as it does by itself every twenty seconds."""
    os.kill(host.hub_pid(), signal.SIGHUP)


def until(condition: Callable[[], bool], most_s: float = 10.0) -> None:
    """Wait for it."""
    end = time.monotonic() + most_s
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.05)
