"""End a hub: the one that listens, found through its socket, so that no pid file can name a stranger."""

from __future__ import annotations

import _socket
import os
import signal
import time
from contextlib import closing

from synapse_git import __version__, address, exchange
from synapse_git.constants import CLIENT_DEADLINE_SECONDS
from synapse_git.errors import HubUnreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_POLL_S = 0.02


def outdated(version: str) -> bool:
    """Is a hub of that version older than this program? A newer one, or one nobody can place, is left alone."""
    return [] < _parts(version) < _parts(__version__)


def _parts(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isascii() and part.isdigit()]


def retire(env: Mapping[str, str], version: str, pid: int) -> bool:
    """Drain and end the hub ``pid`` if it is of an older ``version``; whoever needs one next starts this one.

    A hub that SYNAPSE_HUB names is somebody else's business. Is it gone?
    """
    return not address.configured(env) and outdated(version) and end(pid, signal.SIGTERM)


def serving(env: Mapping[str, str]) -> int:
    """The process that listens on the socket, from the kernel: a hub that hangs need not answer. 0: there is none."""
    path = address.configured(env) or address.recorded(address.state_dir(env))
    if "://" in path:
        raise HubUnreachable("a hub that SYNAPSE_HUB names by URL is ended where it runs. Unset SYNAPSE_HUB there")
    try:
        with closing(_socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)) as sock:
            sock.settimeout(CLIENT_DEADLINE_SECONDS)
            sock.connect(path)
            if (uid := exchange.peer_uid(sock)) != os.geteuid():
                raise HubUnreachable(f"{path} is served by uid {uid}, not by you; leaving it alone")
            return exchange.peer_pid(sock)
    except OSError:
        return 0


def end(pid: int, number: int) -> bool:
    """Signal ``pid`` and wait up to `CLIENT_DEADLINE_SECONDS`; is it gone?"""
    deadline = time.monotonic() + CLIENT_DEADLINE_SECONDS
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return True
    while time.monotonic() < deadline:
        if _gone(pid):
            return True
        time.sleep(_POLL_S)
    return False


def _gone(pid: int) -> bool:
    """Is the process over? One that nobody has reaped yet, as in a container without an init, is."""
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except ProcessLookupError:
        return True
    except OSError:
        return False
