"""Opens the doors that ``hub.toml`` asks for. One that cannot be opened is said in the log and closes nothing else."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec
import uvicorn
from starlette.types import ASGIApp

from synapse_git import address
from synapse_hub import hubfile
from synapse_hub.hubfile import HubFile, Place
from synapse_hub.web import loopback
from synapse_hub.web.desk import Desk
from synapse_hub.web.doors import bind, open_door

# What one hub may ask of another.
PEER_ROUTES = (("POST", "/v2/ping"),)

log = logging.getLogger("synapse_hub")


class Listening:
    """The doors of one hub. ``state``: its directory; ``app``: its routes; ``file``: as it is now."""

    def __init__(self, state: str, app: ASGIApp, desk: Desk, file: Callable[[], HubFile]) -> None:
        self._state = state
        self._app = app
        self._desk = desk
        self._file = file

    async def open(self, server: uvicorn.Server) -> None:
        """All that the file names."""
        file = self._file()
        for name, place, opens in (
            ("loopback", file.loopback, self._open_loopback),
            ("listen", file.listen, self._open_peers),
        ):
            if place is None:
                continue
            try:
                port = await opens(server, place)
            except (OSError, ValueError) as error:
                log.error("%s = %s in hub.toml cannot be opened: %s", name, place, error)
                continue
            log.info("listening at %s:%d (%s)", place.host, port, name)
            if not place.port:
                self._write_down(name, Place(place.host, port))

    def _write_down(self, name: str, place: Place) -> None:
        try:
            now = hubfile.read(self._state) or self._file()
            hubfile.write(self._state, msgspec.structs.replace(now, **{name: place}))
        except (OSError, hubfile.HubFileBroken) as error:
            log.warning("the port %d of %s could not be written down: %s", place.port, name, error)

    async def _open_loopback(self, server: uvicorn.Server, place: Place) -> int:
        token = loopback.token(address.token_file(self._state))
        listener = bind(place)
        port = loopback.port_of(listener)
        await open_door(server, listener, loopback.Loopback(self._app, self._desk, token, port))
        return port

    async def _open_peers(self, server: uvicorn.Server, place: Place) -> int:
        # A hub without peers does without these libraries.
        from synapse_hub.federation.identity import identity, public_key
        from synapse_hub.web.signed import Signed

        listener = bind(place)
        app = Signed(
            self._app,
            self._desk,
            recipient=self._file().id,
            keys=lambda: {name: public_key(peer.key) for name, peer in self._file().peers.items()},
            routes=PEER_ROUTES,
        )
        await open_door(server, listener, app, identity(self._state).server_context())
        return loopback.port_of(listener)
