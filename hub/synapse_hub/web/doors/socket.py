"""The hub's own socket: where it lies, who may use it, and how clients learn of it."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Mapping
from contextlib import suppress

from synapse_git import address

_BACKLOG = 1024


class SocketUnavailable(Exception):
    """No place for a socket was found; the text says why."""


def bind(state: str, env: Mapping[str, str]) -> tuple[socket.socket, str]:
    """A listening socket, 0600, at the best of `address.candidates`, and its path.

    Call it with the hub's lock held: a socket that is found there is a dead hub's.

    Raises:
        SocketUnavailable: with what was tried.
    """
    tried = []
    for path in address.candidates(state, env):
        try:
            return _bind(path), path
        except OSError as error:
            tried.append(f"{path}: {error.strerror or error}")
    raise SocketUnavailable("no socket can be made. Tried " + "; ".join(tried))


def _bind(path: str) -> socket.socket:
    directory = os.path.dirname(path)
    with suppress(FileExistsError):
        os.mkdir(directory, 0o700)
    if not address.owned_private(directory):
        raise OSError(0, f"{directory} is not a directory that is yours alone (mode 0700)")
    _clear(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Bound by us, since a server asked to bind by itself would make the socket 0666 first.
    before = os.umask(0o177)
    try:
        listener.bind(path)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    finally:
        os.umask(before)
    return listener


def _clear(path: str) -> None:
    """Remove a dead hub's socket, and nothing else: one that is served is that of a hub with another state."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.geteuid():
        raise OSError(0, "something else is there; move it away")
    if _served(path):
        raise OSError(0, "another hub serves it")
    os.unlink(path)


def _served(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.setblocking(False)
        try:
            caller.connect(path)
        except BlockingIOError:
            return True  # one that hangs has its backlog full
        except OSError:
            return False
        return True


def announce(state: str, path: str) -> None:
    """Write the address down for clients, whole or not at all."""
    target = address.address_file(state)
    draft = target + ".draft"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, os.fsencode(path) + b"\n")
    finally:
        os.close(descriptor)
    os.replace(draft, target)


def remove(path: str) -> None:
    """Take the socket away, and its directory where it was made for nothing else."""
    with suppress(OSError):
        os.unlink(path)
        if path.startswith("/tmp/"):  # noqa: S108 - ours, made by `_bind`
            os.rmdir(os.path.dirname(path))


def inode(path: str) -> int:
    """What tells this socket from one that replaced it; 0 if there is none."""
    try:
        return os.lstat(path).st_ino
    except OSError:
        return 0
