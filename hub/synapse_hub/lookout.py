"""The watcher's keeper: one child process for all worktrees that are to be watched, started and ended with need.

The child is told what to watch through its standard input, and ends when that does: also where this hub is killed.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Mapping

import msgspec

from synapse_git.protocol.path import WirePath

# How soon a child that ended by itself is started again; twice as late each time, until one lives for so long.
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 60.0
_PROVEN_S = 60.0
# A claim that is given back at once starts nothing, and the next one need not start everything anew.
_START_AFTER_S = 0.3
_LINGER_S = 30.0
_END_S = 2.0

log = logging.getLogger("synapse_hub")


class Wanted(msgspec.Struct, frozen=True):
    """A worktree to watch. ``since``: Unix seconds from which on changes count."""

    worktree: str
    root: WirePath
    since: float


class Lookout:
    """Not to be used by two threads at once."""

    def __init__(self, env: Mapping[str, str], socket_path: str) -> None:
        kept = {key: value for key, value in env.items() if not key.startswith(("GIT_", "SYNAPSE_"))}
        self._env = {**kept, "SYNAPSE_HUB": socket_path}
        self._child: subprocess.Popen[bytes] | None = None
        self._line = -1
        self._told: tuple[Wanted, ...] = ()
        self._wanted_at: float | None = None
        self._unwanted_at = 0.0
        self._started_at = 0.0
        self._not_before = 0.0
        self._pause_s = _FIRST_PAUSE_S

    def keep(self, wanted: tuple[Wanted, ...]) -> str | None:
        """Have exactly ``wanted`` watched. Why the child is gone, if it just went by itself, else None."""
        now = time.monotonic()
        ended = self._bury(now)
        if not wanted:
            self._wanted_at = None
            if self._child and self._told:
                self._unwanted_at = now
                self._tell(())
            elif self._child and now > self._unwanted_at + _LINGER_S:
                self.stop()
            return ended
        self._wanted_at = self._wanted_at or now
        if self._child is None and now >= max(self._not_before, self._wanted_at + _START_AFTER_S):
            self._start(now)
        if self._child and wanted != self._told:
            self._tell(wanted)
        return ended

    def settled(self, wanted: tuple[Wanted, ...]) -> bool:
        """Is there nothing to do for a while?"""
        return wanted == self._told and (bool(wanted) == (self._child is not None))

    def stop(self) -> None:
        """End the child, gently if that is quick."""
        child, self._child, self._told = self._child, None, ()
        if child is None:
            return
        os.close(self._line)
        try:
            child.wait(_END_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()

    def _bury(self, now: float) -> str | None:
        if self._child is None or (status := self._child.poll()) is None:
            return None
        self.stop()
        if now - self._started_at > _PROVEN_S:
            self._pause_s = _FIRST_PAUSE_S
        self._not_before = now + self._pause_s
        reason = f"the watcher ended ({status}); it is started again in {self._pause_s:g} s"
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
        log.warning("%s", reason)
        return reason

    def _start(self, now: float) -> None:
        given, self._line = os.pipe()
        self._child = subprocess.Popen(
            [sys.executable, "-I", "-m", "synapse_watch", "serve"],
            env=self._env,
            cwd="/",
            stdin=given,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(given)
        os.set_blocking(self._line, False)
        self._started_at = now
        self._told = ()

    def _tell(self, wanted: tuple[Wanted, ...]) -> None:
        line = json.dumps({"worktrees": msgspec.to_builtins(wanted)}).encode() + b"\n"
        try:
            heard = os.write(self._line, line) == len(line)
        except OSError:
            heard = False
        if not heard and self._child:
            self._child.kill()  # another will listen
        self._told = wanted
