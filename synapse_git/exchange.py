"""One HTTP/1.1 exchange with the hub, over its Unix socket, with a deadline.

Both ends are ours, so this reads what the hub writes and no more. Stdlib only, through ``_socket``: importing
``http.client`` costs a hook three times what the whole exchange does.
"""

from __future__ import annotations

import _socket
import os
import stat
import sys
import time

from synapse_git.errors import AnotherHub, HubUnreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MISDIRECTED = 421
"""The status by which a hub tells that somebody else was meant."""


class Answer:
    """What came back: ``status``, ``headers`` (lower-case names), ``body``."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body


class Line:
    """A connection to a hub whose identity was checked. Close it, or use it as a context manager."""

    def __init__(self, path: str, deadline: float) -> None:
        """Connect to the socket at ``path``; ``deadline`` is an instant of `time.monotonic`.

        Raises:
            OSError: nobody listens there.
            HubUnreachable: the socket or its server is not this user's, or the deadline passed.
        """
        self._begin("hub", path, ())
        self._deadline = deadline
        check_socket(path)
        self._socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        self._connect(path)

    def _begin(self, host: str, place: str, always: tuple[tuple[str, str], ...]) -> None:
        """``place``: where it is, for people; ``always``: headers of every request."""
        self._host = host
        self._place = place
        self._always = always
        self._buffer = b""
        self.sent = False

    def _connect(self, place: str | tuple[str, int]) -> None:
        try:
            self._wait()
            self._socket.connect(place)
            if isinstance(place, str):
                _check_server(self._socket)
        except TimeoutError:
            self._socket.close()
            raise HubUnreachable("the hub does not accept connections in time") from None
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def detach(self) -> int:
        """Give the connection away: its descriptor, which the caller closes."""
        return self._socket.detach()

    def expect(self, hub_id: str) -> None:
        """Let no other hub than ``hub_id`` answer: it is told whom each request is for, and does nothing of it."""
        self._always = (*self._always, ("Synapse-Hub", hub_id))

    def server_pid(self) -> int:
        """The process at the other end, from the kernel."""
        return peer_pid(self._socket)

    def ask(self, method: str, target: str, headers: Iterable[tuple[str, str]] = (), body: bytes = b"") -> Answer:
        """Send one request and read its whole answer.

        Raises:
            HubUnreachable: no whole answer before the deadline; ``sent`` tells whether the request left.
            AnotherHub: it is not the one to `expect`.
        """
        try:
            self._send(method, target, headers, body)
            status, found = self._meant()
            length = int(found.get("content-length", "0"))
            return Answer(status, found, self._exactly(length))
        except (OSError, ValueError, IndexError) as broken:
            raise HubUnreachable(f"the hub's answer broke off: {broken or type(broken).__name__}") from broken

    def stream(self, target: str, headers: Iterable[tuple[str, str]] = ()) -> Iterator[bytes]:
        """The chunks of a streamed answer, as they come. The deadline covers the head of the answer only.

        Raises:
            HubUnreachable: the hub went away or answered with something else than a stream.
            AnotherHub: it is not the one to `expect`.
        """
        try:
            self._send("GET", target, headers, b"")
            status, found = self._meant()
            if status != 200 or found.get("transfer-encoding") != "chunked":
                raise HubUnreachable(f"the hub answered {status} where a stream was expected")
            self._deadline = float("inf")
            while size := int(self._until(b"\r\n"), 16):
                yield self._exactly(size)
                self._exactly(2)
        except (OSError, ValueError, IndexError) as broken:
            raise HubUnreachable(f"the stream broke off: {broken or type(broken).__name__}") from broken

    def _send(self, method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes) -> None:
        lines = [f"{method} {target} HTTP/1.1", f"Host: {self._host}", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in (*self._always, *headers)]
        head = "\r\n".join([*lines, "", ""]).encode("ascii")
        self._wait()
        self.sent = True
        if len(body) < 65536:
            self._sendall(head + body)
        else:
            self._sendall(head)
            self._sendall(body)

    def _sendall(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            self._wait()
            try:
                rest = rest[self._socket.send(rest[:262144]) :]
            except BrokenPipeError:
                return  # the hub refused early; its answer is there to be read

    def _meant(self) -> tuple[int, dict[str, str]]:
        status, headers = self._head()
        if status == MISDIRECTED:
            raise AnotherHub(
                f"the hub at {self._place} is not the one that granted in this repository, and knows nothing of what "
                "is held here: the state directory of that one was lost, moved or replaced. If there is a copy of it, "
                "stop this hub (synapse-git hub stop) and put the copy back. If it is gone for good, have this hub "
                "grant here: synapse-git install"
            )
        return status, headers

    def _head(self) -> tuple[int, dict[str, str]]:
        lines = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        return int(lines[0].split(" ")[1]), headers

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._buffer:
            self._more()
        found, _, self._buffer = self._buffer.partition(mark)
        return found

    def _exactly(self, size: int) -> bytes:
        parts = [self._buffer]
        got = len(self._buffer)
        while got < size:
            self._buffer = b""
            self._more()
            parts.append(self._buffer)
            got += len(self._buffer)
        whole = b"".join(parts)
        self._buffer = whole[size:]
        return whole[:size]

    def _more(self) -> None:
        self._wait()
        data = self._socket.recv(262144)
        if not data:
            raise OSError("connection closed")
        self._buffer += data

    def _wait(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._socket.settimeout(None if left == float("inf") else left)


def check_socket(path: str) -> None:
    """Is this a socket of ours that nobody else can use?

    Raises:
        OSError: nothing is there.
        HubUnreachable: something is there that must not be trusted.
    """
    found = os.lstat(path)
    if not stat.S_ISSOCK(found.st_mode):
        raise HubUnreachable(
            f"{path}, where the hub should be, is no socket. Have it looked for anew: synapse-git doctor --fix    "
            "If SYNAPSE_HUB names it, unset that"
        )
    if found.st_uid != os.geteuid():
        raise HubUnreachable(f"{path} belongs to uid {found.st_uid}, not to you; not using it")
    if found.st_mode & 0o077:
        raise HubUnreachable(f"{path} is open to other users; not using it. Restart the hub: synapse-git hub stop")


def peer_uid(sock: _socket.socket) -> int:
    """The uid at the other end of a connected Unix socket, from the kernel."""
    if sys.platform == "darwin":
        # struct xucred of <sys/ucred.h>: cr_version, cr_uid, …; SOL_LOCAL 0, LOCAL_PEERCRED 1
        return int.from_bytes(sock.getsockopt(0, 1, 8)[4:8], sys.byteorder)
    raw = sock.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    return int.from_bytes(raw[4:8], sys.byteorder)


def peer_pid(sock: _socket.socket) -> int:
    """The process that listens at the other end of a connected Unix socket, from the kernel."""
    if sys.platform == "darwin":
        # SOL_LOCAL 0, LOCAL_PEERPID 2 of <sys/un.h>
        return int.from_bytes(sock.getsockopt(0, 2, 4), sys.byteorder)
    return int.from_bytes(sock.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)[:4], sys.byteorder)


def _check_server(sock: _socket.socket) -> None:
    if (uid := peer_uid(sock)) != os.geteuid():
        raise HubUnreachable(f"the hub's socket is served by uid {uid}, not by you; not using it")
