"""Hubs on clocks that a test sets while they run, by libfaketime."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Self

from tests.team.hosts import Host, until

_PLACES = (
    "/usr/lib/*/faketime/libfaketime.so.1",
    "/usr/lib/faketime/libfaketime.so.1",
    "/usr/lib*/faketime/libfaketime.so.1",
)


def library() -> str:
    """Of libfaketime, '' where it is not installed."""
    found = (str(path) for place in _PLACES for path in Path("/").glob(place.lstrip("/")))
    return next(found, "") if sys.platform == "linux" else ""


class Clock:
    """The clocks that a host's hub goes by: of the wall only, or with ``every`` those as well that count since boot.

    Use it as a context manager: the hub runs meanwhile.
    """

    def __init__(self, host: Host, *, ahead_s: float = 0.0, every: bool = False) -> None:
        self._host = host
        self._file = host.home / "clock"
        self.set(ahead_s)
        self._env = {
            "LD_PRELOAD": library(),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "0" if every else "1",
        }

    def set(self, ahead_s: float) -> None:
        """By how much they are ahead of the machine's from now on."""
        draft = self._file.with_suffix(".draft")
        draft.write_text(f"{ahead_s:+.1f}\n")
        draft.replace(self._file)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._hub.kill()
        self._hub.wait()

    def restart(self) -> None:
        """As `start`, once the hub that runs has ended in peace."""
        self._hub.terminate()
        self._hub.wait()
        self.start()

    def start(self) -> None:
        """Returns when the hub answers."""
        command = [*self._host.within, sys.executable, "-I", "-m", "synapse_hub", "run"]
        with open(self._host.home / "hub.log", "ab") as log:
            self._hub = subprocess.Popen(
                command,
                cwd=self._host.home,
                env=self._host.env | self._env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        until(self._answers, 20)

    def _answers(self) -> bool:
        if self._hub.poll() is not None:
            raise RuntimeError((self._host.home / "hub.log").read_text()[-2000:])
        with suppress(OSError):
            return self._host.hub_pid() == self._hub.pid
        return False
