"""A way between two hosts that misbehaves as told: bytes pass, are swallowed, or the way is closed."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Self


class Proxy:
    """Listens on a free port and passes on to ``port``. Use it as a context manager.

    ``swallow``: how many more connections that ask from now on get no answer, and are closed when the other side has
    answered; one that only listens is no such connection;
    ``closed``: whether nobody is let in; ``delay_s``: how long at most each piece of a request is held up, so that
    those of several connections overtake each other; ``met``: called before anything passes on a new connection.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._swallow = 0
        self._asked: set[socket.socket] = set()
        self.closed = False
        self.delay_s = 0.0
        self.met: Callable[[], object] = lambda: None
        self._lines: list[socket.socket] = []

    @property
    def swallow(self) -> int:
        return self._swallow

    @swallow.setter
    def swallow(self, count: int) -> None:
        self._asked.clear()
        self._swallow = count

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closed = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def cut(self) -> None:
        """End what is open."""
        for line in self._lines:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
            line.close()
        self._lines.clear()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self.closed:
                near.close()
                continue
            self.met()
            try:
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:  # the hub behind is down, which who asks is to hear as well
                near.close()
                continue
            self._lines += [near, far]
            threading.Thread(target=self._pass, args=(near, far), daemon=True).start()
            threading.Thread(target=self._answer, args=(near, far), daemon=True).start()

    def _pass(self, near: socket.socket, far: socket.socket) -> None:
        with suppress(OSError):
            while data := near.recv(65536):
                self._asked.add(near)
                time.sleep(random.uniform(0, self.delay_s))
                far.sendall(data)
            far.shutdown(socket.SHUT_WR)

    def _answer(self, near: socket.socket, far: socket.socket) -> None:
        with suppress(OSError):
            while data := far.recv(65536):
                # A record of application data: the connection is kept, its handshake is over.
                if self._swallow and near in self._asked and data[:1] == b"\x17":
                    self._swallow -= 1
                    break
                near.sendall(data)
        for line in (near, far):
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
