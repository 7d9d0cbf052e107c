"""A line to a hub over TCP on this machine, where ``SYNAPSE_HUB`` is a URL. Light: hooks use it."""

from __future__ import annotations

import _socket

from synapse_git.errors import HubUnreachable
from synapse_git.exchange import Line

_SCHEME = "http://"
_HOSTS = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "[::1]": "::1"}


class LoopbackLine(Line):
    """Like `Line`; what proves who is asking is the hub's token, which only its user can read."""

    def __init__(self, url: str, token_file: str, deadline: float) -> None:
        """Connect to ``http://127.0.0.1:PORT``.

        Raises:
            OSError: nobody listens there.
            HubUnreachable: it is no such URL, the token cannot be read, or the deadline passed.
        """
        host, port = _place(url)
        proof = ("Authorization", f"Bearer {_token(token_file)}")
        self._begin(url.removeprefix(_SCHEME).rstrip("/"), url, (proof,))
        self._deadline = deadline
        self._socket = _socket.socket(_socket.AF_INET6 if ":" in host else _socket.AF_INET, _socket.SOCK_STREAM)
        self._connect((host, port))

    def server_pid(self) -> int:
        """0: the kernel does not tell."""
        return 0


def _place(url: str) -> tuple[str, int]:
    name, _, port = url.removeprefix(_SCHEME).rstrip("/").rpartition(":")
    host = _HOSTS.get(name)
    if not url.startswith(_SCHEME) or host is None or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise HubUnreachable(
            f"SYNAPSE_HUB={url}: it is the path of a socket, or http://127.0.0.1:PORT on this machine. "
            "Hubs on other machines are reached through one's own"
        )
    return host, int(port)


def _token(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read(256).strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise HubUnreachable(
            f"{path}, the token of the hub that SYNAPSE_HUB names, cannot be read ({why}). "
            "It is made by a hub whose hub.toml has a loopback listener"
        ) from error
