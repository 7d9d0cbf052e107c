"""A box: a user's account for one test, with its own home, Git identity, hub and environment."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple, Self

PROGRAMS = Path(sys.executable).parent
"""Where this environment's executables lie, `synapse-git` among them."""

BASE = {"src/a.py": "a = 1\n", "src/b.py": "b = 1\n", "docs/guide.md": "# Guide\n"}
"""The files of the base commit that `Box.init` makes."""

_GIT = """
[user]
	name = Tester
	email = tester@example.invalid
[init]
	defaultBranch = main
[maintenance]
	auto = false
"""

_KEPT = ("LANG", "TMPDIR", "USER")
_STOP_S = 10.0

Argument = str | bytes | Path


class Result(NamedTuple):
    """How a command ended: exit status, standard output, standard error (undecodable bytes as surrogates)."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err

    def json(self) -> Any:
        return json.loads(self.out)


class Box:
    """Use it as a context manager: leaving it stops its hub and removes its runtime directory.

    ``home``; ``state``: where the hub keeps its journal; ``cwd``: where commands run unless told otherwise;
    ``env``: what they get, ``within``: what stands before each, both free for a test to change.
    """

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.cwd = root / "work"
        self.within: tuple[str, ...] = ()
        # Sockets have short names by law, temporary directories of tests do not.
        self._runtime = Path(tempfile.mkdtemp(prefix="box-", dir="/tmp"))
        self.env = _environment(self.home, self._runtime)
        self.state = Path(self.env["XDG_STATE_HOME"]) / "synapse-git"
        self.home.mkdir(parents=True)
        self.cwd.mkdir(parents=True)
        (self.home / ".gitconfig").write_text(_GIT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_hub()
        shutil.rmtree(self._runtime, ignore_errors=True)

    def run(
        self,
        *argv: Argument,
        agent: str = "",
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
        stdin: bytes = b"",
        timeout_s: float = 60,
    ) -> Result:
        """Run a program and wait. ``agent`` sets SYNAPSE_AGENT, ``env`` is laid over the box's environment."""
        where = self.env | (env or {}) | ({"SYNAPSE_AGENT": agent} if agent else {})
        ended = subprocess.run(
            [os.fsencode(part) for part in (*self.within, *argv)],
            cwd=cwd or self.cwd,
            env=where,
            input=stdin,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
        return Result(ended.returncode, _text(ended.stdout), _text(ended.stderr))

    def synapse(self, *arguments: Argument, agent: str = "", cwd: Path | None = None, **given: Any) -> Result:
        """``synapse-git ARGUMENTS``."""
        return self.run(PROGRAMS / "synapse-git", *arguments, agent=agent, cwd=cwd, **given)

    def git(self, *arguments: Argument, agent: str = "", cwd: Path | None = None, **given: Any) -> Result:
        """``git ARGUMENTS``, its hooks acting for ``agent``."""
        return self.run("git", *arguments, agent=agent, cwd=cwd, **given)

    def done(self, *argv: Argument, **given: Any) -> str:
        """Run a program that must succeed; its standard output."""
        ended = self.run(*argv, **given)
        assert ended.code == 0, f"{argv} ended with {ended.code}:\n{ended.text}"
        return ended.out

    def write(self, path: str, text: str = "changed\n", *, cwd: Path | None = None) -> Path:
        """Make or overwrite a file below ``cwd``."""
        file = (cwd or self.cwd) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def init(self, name: str = "repo") -> Path:
        """A repository with one commit of `BASE`, below the working directory. No guard."""
        root = self.cwd / name
        self.done("git", "init", "-q", root)
        for path, text in BASE.items():
            self.write(path, text, cwd=root)
        self.done("git", "add", ".", cwd=root)
        self.done("git", "commit", "-qm", "base", cwd=root)
        return root

    def address(self) -> str:
        """The recorded socket. Raises: FileNotFoundError, where no hub ever ran."""
        return os.fsdecode((self.state / "address").read_bytes().removesuffix(b"\n"))

    def hub_pid(self) -> int:
        """The process that serves the recorded socket, by the kernel's word; 0 if none does."""
        try:
            with socket.socket(socket.AF_UNIX) as line:
                line.connect(self.address())
                return _peer_pid(line)
        except OSError:
            return 0

    def stop_hub(self) -> None:
        """End the box's hub, if one runs, and wait until it is gone."""
        pid = self.hub_pid()
        if pid in (0, os.getpid()):
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
            patience = time.monotonic() + _STOP_S
            while _alive(pid):
                if time.monotonic() > patience:
                    os.kill(pid, signal.SIGKILL)
                time.sleep(0.01)


def _environment(home: Path, runtime: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return kept | {
        "HOME": str(home),
        "PATH": f"{PROGRAMS}:{os.environ.get('PATH', os.defpath)}",
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        "XDG_RUNTIME_DIR": str(runtime),
        "XDG_STATE_HOME": str(home / ".local/state"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "GIT_CONFIG_NOSYSTEM": "1",
    }


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _peer_pid(line: socket.socket) -> int:
    if sys.platform == "darwin":
        return int(line.getsockopt(0, 2))  # SOL_LOCAL, LOCAL_PEERPID
    pid, _, _ = struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(pid)


def _alive(pid: int) -> bool:
    """Also false for a zombie, whose parent, PID 1 of a container perhaps, may never reap it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return sys.platform == "darwin"
