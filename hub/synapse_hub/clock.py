"""The clock that leases run on: Unix seconds, anchored once per boot and advanced by a clock that counts sleep.

Setting the system's time neither ends nor extends a lease; a machine that sleeps lets leases run out.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Protocol

import msgspec

# A recorded past further ahead of the wall clock than this is an error of that past, not of the wall clock.
ABSURDLY_AHEAD_S = 365 * 86_400.0


class Clock(Protocol):
    def now(self) -> float:
        """Unix seconds."""
        ...


class Anchor(msgspec.Struct, frozen=True):
    """At ``boot_s`` seconds of the boot ``boot_id`` it was ``unix_s``."""

    boot_id: str
    boot_s: float
    unix_s: float


class LeaseClock:
    """See the module. ``now`` is safe from any thread."""

    def __init__(self, anchor: Anchor) -> None:
        self._offset = anchor.unix_s - anchor.boot_s

    def now(self) -> float:
        return self._offset + boot_seconds()


def open_clock(directory: str, last_event_at: float) -> LeaseClock:
    """The clock whose anchor is kept in ``directory``; a new boot anchors anew, not before the last event.

    Raises:
        OSError: the anchor cannot be written.
    """
    path = os.path.join(directory, "clock.json")
    identity = boot_id()
    anchor = _read(path)
    if anchor is None or anchor.boot_id != identity:
        anchor = Anchor(identity, boot_seconds(), _start(time.time(), last_event_at))
        _write(path, anchor)
    return LeaseClock(anchor)


def _start(wall: float, last_event_at: float) -> float:
    return wall if last_event_at - wall > ABSURDLY_AHEAD_S else max(wall, last_event_at)


def _read(path: str) -> Anchor | None:
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=Anchor)
    except (OSError, msgspec.MsgspecError):
        return None


def _write(path: str, anchor: Anchor) -> None:
    draft = path + ".draft"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, msgspec.json.encode(anchor))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(draft, path)


def boot_seconds() -> float:
    """Seconds since boot, sleep included."""
    if sys.platform == "darwin":
        return time.clock_gettime(time.CLOCK_MONOTONIC)
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def boot_id() -> str:
    """What tells this boot from every other."""
    if sys.platform == "darwin":
        import subprocess

        asked = ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]
        return subprocess.run(asked, capture_output=True, text=True, check=True, timeout=5).stdout.strip()
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()
