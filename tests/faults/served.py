"""A hub as its own process, from the checkout or from a broken copy, to be killed and started again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from synapse_git.errors import HubUnreachable
from synapse_git.exchange import Line
from tests.faults import child, tree

JSON = ("Content-Type", "application/json")
_PATIENCE_S = 20.0


class Served:
    """Use it as a context manager: it is killed at the end. ``state``: its directory; ``pid``: of the one that runs."""

    def __init__(
        self,
        home: Path,
        root: Path = tree.ROOT,
        prepare: Callable[[], None] | None = None,
        before: Sequence[str] = (),
    ) -> None:
        """``prepare`` runs in the child before the hub does; ``before`` stands in front of its command."""
        self._root = root
        self._before = before
        self._prepare = prepare
        # Sockets have short names by law.
        self._runtime = Path(tempfile.mkdtemp(prefix="hub-", dir="/tmp"))
        self._env = child.environment(root, home) | {"XDG_RUNTIME_DIR": str(self._runtime)}
        self.state = home / "state" / "synapse-git"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self._runtime, ignore_errors=True)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Returns when it grants."""
        self.state.mkdir(parents=True, exist_ok=True)
        with open(self.state / "test.log", "ab") as log:
            self._process = subprocess.Popen(
                [*self._before, sys.executable, "-m", "synapse_hub", "run"],
                cwd=self._root, env=self._env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                preexec_fn=self._prepare,
            )  # fmt: skip
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                with self.line(2.0) as line:
                    if line.ask("GET", "/v2/health").status == 200:
                        return
            except (OSError, HubUnreachable):
                pass
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise RuntimeError((self.state / "test.log").read_text()[-2000:])
            time.sleep(0.01)

    def kill(self) -> None:
        """End it and wait until it is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(_PATIENCE_S)

    def signal(self, number: signal.Signals) -> None:
        """Send it and go on."""
        assert self._process is not None
        self._process.send_signal(number)

    def line(self, seconds: float) -> Line:
        """A connection. Raises: OSError, HubUnreachable."""
        path = os.fsdecode((self.state / "address").read_bytes().removesuffix(b"\n"))
        return Line(path, time.monotonic() + seconds)

    def path(self) -> str:
        """Of its socket."""
        return os.fsdecode((self.state / "address").read_bytes().removesuffix(b"\n"))


def ask(line: Line, target: str, body: Mapping[str, Any] | None = None, key: str = "") -> dict[str, Any]:
    """One exchange: the answer's members, and its status as ``http``."""
    headers = [JSON] + ([("Idempotency-Key", key)] if key else [])
    method, raw = ("GET", b"") if body is None else ("POST", json.dumps(body).encode())
    answer = line.ask(method, target, headers, raw)
    return {**json.loads(answer.body), "http": answer.status}
