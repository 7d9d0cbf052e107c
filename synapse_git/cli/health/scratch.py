"""A directory that is gone afterwards whatever happens, Ctrl-C included, and programs run in it."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# A program that hangs must not take the one that looks after it along, in seconds.
_PATIENCE_S = 60.0
_TERMINATED = 143


class Ended:
    """How a program ended: ``status`` and what it ``said`` on both streams."""

    __slots__ = ("said", "status")

    def __init__(self, status: int, said: str) -> None:
        self.status = status
        self.said = said


def run(argv: Sequence[str], env: Mapping[str, str], cwd: str) -> Ended:
    """Run ``argv`` without a terminal and wait; status 124 if it hung."""
    try:
        done = subprocess.run(
            argv,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Ended(124, f"no end within {_PATIENCE_S:.0f} s")
    return Ended(done.returncode, done.stdout.decode("utf-8", "replace").strip())


@contextmanager
def directory(purpose: str) -> Iterator[str]:
    """A new private directory. SIGTERM ends the block like Ctrl-C does, so that it is removed then too."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    path = tempfile.mkdtemp(prefix=f"synapse-{purpose}-")
    try:
        yield path
    finally:
        with undisturbed():
            shutil.rmtree(path, ignore_errors=True)
        signal.signal(signal.SIGTERM, before)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Cleaning up: an impatient second Ctrl-C does not cut it short."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
