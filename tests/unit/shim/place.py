"""A git dir with hooks of ours in it, and a program for them to start."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from synapse_hooks import process
from synapse_hooks.setup import shims
from tests.hooking import script

OLD, NEW, ZERO = "1" * 40, "2" * 40, "0" * 40
REFUSED, CRASHED = 10, 1
NEXT = 'echo "next $0 $*" >>"$LOG"; cat >>"$LOG"; exit 7'
"""A hook of others', which says what it was given."""


class Place:
    """A git dir whose hooks start a program that notes what it is asked, and ends with ``status``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.git_dir = root / ".git"
        self.hooks = self.git_dir / "hooks"
        self.record = self.git_dir / "synapse"
        self.record.mkdir(parents=True)
        self.log = root / "log"
        self.status = root / "status"
        self.python = root / "venv/bin/python3"
        self.judge_with(0)
        script(self.python, 'shift 3; echo "$*" >>"$LOG"; read status <"$STATUS"; exit $status')

    def judge_with(self, status: int) -> None:
        self.status.write_text(f"{status}\n")

    def put(self, name: str, *, kept: str = "", here: str = "", at: str = "") -> Path:
        """The shim ``name``, in the file ``at`` of the directory of hooks, or under its own name."""
        file = self.hooks / (at or name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(shims.text(name, kept=kept, here=here))
        file.chmod(0o755)
        return file

    def run(self, hook: Path, *arguments: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        """Run it as Git would, here in place of Git."""
        given = {"PATH": os.defpath, "LOG": str(self.log), "STATUS": str(self.status)} | env
        return subprocess.run(
            [hook, *arguments], cwd=self.root, env=given, input=stdin, capture_output=True, text=True, check=False
        )

    def told(self) -> list[str]:
        """What the program was asked and hooks of others wrote since the last time."""
        found = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.write_text("")
        return [line.replace(f" {os.getpid()} ", " PID ") for line in found]

    def settle(self) -> None:
        """Leave the record of a verdict for this process, under which nothing has changed."""
        for name in ("tree", "shared"):
            (self.git_dir / name).touch()
            os.link(self.git_dir / name, self.git_dir / f"{name}.pin")
        index = self.git_dir / "index"
        index.touch()
        os.link(index, self.record / "judged-index")
        pins = [str(self.git_dir / "tree"), ".pin", str(self.git_dir / "shared"), ".pin"]
        lines = [str(os.getpid()), process.started(os.getpid(), os.environ), str(index), *pins, ""]
        (self.record / "judged").write_text("\n".join(lines))
        stamp = index.stat().st_mtime_ns
        os.utime(self.record / "judged", ns=(stamp, stamp))
