"""Machines with a network of their own: hosts in network namespaces, and a router between them that obeys.

Made without privileges, in a user namespace around them all. Linux only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple, Self

from tests.team.hosts import Host

_PROGRAMS = ("unshare", "nsenter", "ip", "nft")
_ROUTED = "/proc/sys/net/ipv4/ip_forward"
_TABLE = "table inet faults { chain way { type filter hook forward priority 0; }; }\n"


def missing() -> str:
    """Why there are no such networks here, '' if there are."""
    if absent := [name for name in _PROGRAMS if not shutil.which(name, path=_path())]:
        return f"{' and '.join(absent)} not installed"
    with Network() as made:
        return made.broken


def _path() -> str:
    # Users' paths often leave out where these two lie.
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


class _Room:
    """Namespaces that last as long as this process; ``inside``: what stands before a command that is to run there."""

    def __init__(self, *command: str) -> None:
        self._keeper = subprocess.Popen(
            [*command, "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self._keeper.stdin is not None and self._keeper.stdout is not None
        self.ready = False
        try:
            self._keeper.stdin.write(b"\n")
            self._keeper.stdin.flush()
            self.ready = bool(self._keeper.stdout.readline())
        except OSError:
            pass
        self.pid = str(self._keeper.pid)
        self.inside = ("nsenter", "--preserve-credentials", "-U", "-n", "-t", self.pid)

    def close(self) -> None:
        self._keeper.communicate()

    def run(self, *command: str, stdin: str = "") -> None:
        """Raises: RuntimeError, with what the command said."""
        where = {**os.environ, "PATH": _path()}
        ended = subprocess.run([*self.inside, *command], env=where, input=stdin, capture_output=True, text=True)
        if ended.returncode:
            raise RuntimeError(f"{' '.join(command)}: {ended.stderr.strip()}")


class Network:
    """Use it as a context manager, with hosts left before it is. ``broken``: why it does not work, '' if it does."""

    def __init__(self) -> None:
        self._router = _Room("unshare", "-Urn")
        self._rooms: dict[str, _Room] = {}
        self.broken = "" if self._router.ready else "network namespaces cannot be made here"
        try:
            if self._router.ready:
                self._router.run("tee", _ROUTED, stdin="1")
                self._router.run("nft", "-f", "-", stdin=_TABLE)
        except RuntimeError as error:
            self.broken = f"a router cannot be set up here: {error}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for room in (*self._rooms.values(), self._router):
            room.close()

    def host(self, root: Path, name: str) -> Host:
        """A machine that is joined to the others; all that it runs, it runs there."""
        room = self._rooms[name] = _Room(*self._router.inside, "unshare", "-n")
        near, far = self.address(name), self._gate(name)
        self._router.run("ip", "link", "add", "name", name, "type", "veth", "peer", "name", "way", "netns", room.pid)
        self._router.run("ip", "address", "add", f"{far}/24", "dev", name)
        self._router.run("ip", "link", "set", "dev", name, "up")
        room.run("ip", "link", "set", "dev", "lo", "up")
        room.run("ip", "address", "add", f"{near}/24", "dev", "way")
        self._join(room, name)
        made = Host(root, name)
        made.within = room.inside
        return made

    def address(self, name: str) -> str:
        return f"10.9.{list(self._rooms).index(name)}.2"

    def _gate(self, name: str) -> str:
        return f"10.9.{list(self._rooms).index(name)}.1"

    def _join(self, room: _Room, name: str) -> None:
        room.run("ip", "link", "set", "dev", "way", "up")
        room.run("ip", "route", "replace", "default", "via", self._gate(name))

    # ---- what happens to it ----

    def unplug(self, name: str) -> None:
        """Nothing reaches the host or leaves it, and nobody is told."""
        self._router.run("ip", "link", "set", "dev", name, "down")

    def plug(self, name: str) -> None:
        self._router.run("ip", "link", "set", "dev", name, "up")

    def drop(self, *which: str) -> None:
        """Packets that match any of ``which``, as nft says it, get lost from now on; all others pass."""
        rules = "".join(f"add rule inet faults way {one} drop\n" for one in which)
        self._router.run("nft", "-f", "-", stdin=f"flush chain inet faults way\n{rules}")


class Wired(NamedTuple):
    """``hosts``: the owner first, by name in the ``net``."""

    net: Network
    hosts: tuple[Host, ...]
