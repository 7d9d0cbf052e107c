"""The doorkeeper of the TCP listener for clients of this machine: a token that only this user can read.

A browser is on this machine as well, and goes where any page sends it: whoever comes with an ``Origin``, under a name
that is not this listener's, or with a body that a form could send, is turned away.
"""

from __future__ import annotations

import os
import secrets
import socket

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from synapse_git.protocol.path import PATHS_TYPE
from synapse_hub.core.outcome import Refusal
from synapse_hub.web.desk import PEER, Desk
from synapse_hub.web.doors.door import turn_away

_NAMES = ("127.0.0.1", "localhost", "[::1]")
_TYPES = ("application/json", PATHS_TYPE)


class Loopback:
    """ASGI middleware. Who passes is this user, as on the socket."""

    def __init__(self, app: ASGIApp, desk: Desk, token: str, port: int) -> None:
        self._app = app
        self._desk = desk
        self._token = token
        self._hosts = {f"{name}:{port}" for name in _NAMES}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if refusal := self._refusal(Headers(scope=scope), scope):
            await turn_away(self._desk, refusal, scope, receive, send)
            return
        scope[PEER] = os.geteuid()
        await self._app(scope, receive, send)

    def _refusal(self, headers: Headers, scope: Scope) -> Refusal | None:
        if headers.get("host", "").lower() not in self._hosts:
            return Refusal("NOT_AUTHORISED", "this listener is not called so", f"Use one of {', '.join(self._hosts)}")
        if "origin" in headers:
            return Refusal("NOT_AUTHORISED", "requests from web pages are not taken")
        given = headers.get("authorization", "")
        if not secrets.compare_digest(given.encode(), f"Bearer {self._token}".encode()):
            return Refusal(
                "NOT_AUTHORISED",
                "the token is not this hub's",
                "Send Authorization: Bearer with what the file 'token' beside the journal holds",
            )
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if scope.get("method") not in ("GET", "HEAD", None) and kind not in _TYPES:
            return Refusal(
                "INVALID_REQUEST", "the body must be application/json", "Send Content-Type: application/json"
            )
        return None


def token(path: str) -> str:
    """The token in the file ``path``, which is made if there is none, for this user's eyes only.

    Raises:
        OSError: it cannot be read or made, or others can read it.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        pass
    else:
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
    found = os.lstat(path)
    if found.st_mode & 0o77 or found.st_uid != os.geteuid():
        raise OSError(0, f"{path} is open to others. Delete it: another is made")
    with open(path, encoding="ascii") as file:
        text = file.read().strip()
    if len(text) < 16:
        raise OSError(0, f"{path} holds no token. Delete it: another is made")
    return text


def port_of(listener: socket.socket) -> int:
    """The port it is bound to."""
    found: int = listener.getsockname()[1]
    return found
