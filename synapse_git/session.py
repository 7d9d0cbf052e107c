"""A session: the connection to the hub that a name is bound to, kept in a thread of its own.

Its secret is what others prove with that they belong to it; it is never part of a command line. A hub that is gone is
waited for, not started: whoever needs one starts it.
"""

from __future__ import annotations

import json
import queue
import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import connect

from synapse_git import starter
from synapse_git.constants import CLIENT_DEADLINE_SECONDS, IDENTITY_CLOSE_CODE, NAME_OWNED_CLOSE_CODE
from synapse_git.errors import HubUnreachable, Refused, SynapseError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from websockets.sync.connection import Connection

    from synapse_git.exchange import Line

_RETRY_S = 0.5
_URI = "ws://hub/v2/session"
# The hub is the one that asks for signs of life.
_OPTIONS: dict[str, Any] = {
    "compression": None,
    "proxy": None,
    "open_timeout": CLIENT_DEADLINE_SECONDS,
    "close_timeout": _RETRY_S,
    "ping_interval": None,
}
_LOST = (NAME_OWNED_CLOSE_CODE, IDENTITY_CLOSE_CODE)


class Session:
    """``secret`` is the hub's once `open` has returned; ``on_lost`` is told why the name is gone before its time."""

    def __init__(self, env: Mapping[str, str], agent: str, secret: str, on_lost: Callable[[str], None]) -> None:
        self.secret = secret
        self._env = env
        self._agent = agent
        self._on_lost = on_lost
        self._opened: queue.SimpleQueue[SynapseError | None] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._connection: Connection | None = None
        self._thread = threading.Thread(target=self._keep, name="session", daemon=True)

    def open(self) -> None:
        """Bind the name.

        Raises:
            Refused: it is another session's, or no more can be bound.
            HubUnreachable: nobody can tell.
        """
        self._thread.start()
        if error := self._opened.get():
            raise error

    def close(self, *, release: bool) -> None:
        """Disconnect. With ``release`` the name is free at once, else it waits for this session to come back."""
        self._ended.set()
        if self._connection:
            with suppress(ConnectionClosed):
                if release:
                    self._connection.send(json.dumps({"type": "release"}))
                    self._thread.join(CLIENT_DEADLINE_SECONDS)
                self._connection.close()
        self._thread.join(CLIENT_DEADLINE_SECONDS)

    def _keep(self) -> None:
        try:
            deadline = time.monotonic() + CLIENT_DEADLINE_SECONDS
            self._hold(starter.connect(self._env, deadline=deadline, start_deadline=deadline))
            while not self._ended.wait(_RETRY_S):
                self._come_back()
        except SynapseError as error:
            if self._connection is None:
                self._opened.put(error)
            elif not self._ended.is_set():
                self._on_lost(str(error))

    def _come_back(self) -> None:
        try:
            line = starter.connect_running(self._env, deadline=time.monotonic() + CLIENT_DEADLINE_SECONDS)
            if line is not None:
                self._hold(line)
        except HubUnreachable:
            pass  # one that is on its way, or about to be replaced

    def _hold(self, line: Line) -> None:
        """Register over ``line`` and stay until either side ends it. Raises: Refused, HubUnreachable."""
        try:
            with socket.socket(fileno=line.detach()) as sock:
                sock.settimeout(None)
                with connect(_URI, sock=sock, **_OPTIONS) as connection:
                    self.secret = _register(connection, self._agent, self.secret)
                    self._connection = connection
                    self._opened.put(None)
                    while True:
                        connection.recv()  # read so that the hub sees somebody alive; `inbox` shows what is for it
        except ConnectionClosed as closed:
            if closed.rcvd and closed.rcvd.code in _LOST:
                raise Refused({"reason": "NAME_OWNED", "detail": closed.rcvd.reason}) from closed
            if self._connection is None:
                raise HubUnreachable("the hub went away before the session began") from closed
        except (WebSocketException, OSError, ValueError) as broken:
            raise HubUnreachable(f"no session with the hub: {broken or type(broken).__name__}") from broken


def _register(connection: Connection, agent: str, secret: str) -> str:
    """The secret by which the name is bound now. Raises: Refused."""
    given = {"secret": secret} if secret else {}
    connection.send(json.dumps({"type": "register", "agent": agent, **given}))
    answer: dict[str, Any] = json.loads(connection.recv(timeout=CLIENT_DEADLINE_SECONDS))
    if answer["type"] == "welcome":
        return str(answer["secret"])
    raise Refused(answer)
