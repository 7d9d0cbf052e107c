"""Opens the doors that ``hub.toml`` asks for, and those that cannot be opened yet later on."""

from __future__ import annotations

import asyncio
import logging

import msgspec
import uvicorn
from starlette.types import ASGIApp

from synapse_git import address
from synapse_hub.hubfile import Place
from synapse_hub.web.desk import Desk, Rejected
from synapse_hub.web.doors import loopback
from synapse_hub.web.doors.door import bind, open_door

# What one hub may ask of another.
PEER_ROUTES = (
    ("POST", "/v2/claim"),
    ("POST", "/v2/release"),
    ("POST", "/v2/task_update"),
    ("POST", "/v2/handoff"),
    ("POST", "/v2/checkpoint"),
    ("POST", "/v2/heartbeat"),
    ("POST", "/v2/guard"),
    ("GET", "/v2/claims"),
    ("GET", "/v2/receipts"),
    ("GET", "/v2/events"),
    ("POST", "/v2/messages"),
    ("POST", "/v2/ack"),
    ("POST", "/v2/overrides"),
    ("POST", "/v2/foreign_edits"),
    ("POST", "/v2/team/inherit"),
    ("POST", "/v2/team/depart"),
    ("POST", "/v2/ping"),
)
# What a hub may ask that is nobody's peer yet.
STRANGERS_ROUTES = (("POST", "/v2/team/admit"),)

# A machine may start before its network does, and another process may have the port for a while.
_AGAIN_S = 2.0

log = logging.getLogger("synapse_hub")


class Listening:
    """The doors of one hub. ``state``: its directory; ``again_s``: how often those that are shut are tried."""

    def __init__(self, state: str, app: ASGIApp, desk: Desk, again_s: float = _AGAIN_S) -> None:
        self._state = state
        self._app = app
        self._desk = desk
        self._team = desk.team
        self._server: uvicorn.Server | None = None
        self._open: set[str] = set()
        self._again_s = again_s
        self._again: asyncio.TimerHandle | None = None
        self._turn = asyncio.Lock()
        self._pending: set[asyncio.Future[None]] = set()
        desk.open_for_peers = self.open_for_peers

    async def open(self, server: uvicorn.Server) -> None:
        """All that the file names. One that cannot be opened closes nothing else, and is tried again."""
        self._server = server
        shut: dict[str, str] = {}
        for name in ("loopback", "listen"):
            try:
                await self._ensure(server, name)
            except (OSError, ValueError) as error:
                shut[name] = f"{name} in hub.toml cannot be opened: {error}"
        for said in set(shut.values()) - set(self._team.shut.values()):
            log.error("%s", said)
        self._team.shut = shut
        if shut and self._again is None:
            self._again = asyncio.get_running_loop().call_later(self._again_s, self._once_more, server)

    def _once_more(self, server: uvicorn.Server) -> None:
        self._again = None
        self._keep(asyncio.ensure_future(self.open(server)))

    def reload(self) -> None:
        """Read the file anew, and go by it."""
        self._keep(asyncio.ensure_future(self._reload()))

    def _keep(self, task: asyncio.Future[None]) -> None:
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    async def _reload(self) -> None:
        async with self._team.turn:
            await asyncio.to_thread(self._team.load, self._desk.hub.transact)
        if self._server is not None:
            await self.open(self._server)
        self._desk.embassy.keep_up()

    async def open_for_peers(self) -> Place:
        """Where peers come in, from now on if they did not before. Raises: Rejected."""
        try:
            if self._server is not None:
                await self._ensure(self._server, "listen")
        except (OSError, ValueError) as error:
            where, why = self._team.settled.listen, getattr(error, "strerror", None) or str(error)
            raise Rejected(
                "INVALID_REQUEST",
                f"peers cannot be listened for at {where}: {why}",
                "Name another place, at an address of this machine: --listen HOST:PORT",
            ) from None
        if (place := self._team.settled.listen) is None:
            raise Rejected("INVALID_REQUEST", "no place to listen at is known", "Name one: --listen HOST:PORT")
        return place

    async def _ensure(self, server: uvicorn.Server, name: str) -> None:
        """Raises: OSError, ValueError."""
        async with self._turn:
            place: Place | None = getattr(self._team.settled, name)
            if place is None or name in self._open:
                return
            port = await (self._open_loopback if name == "loopback" else self._open_peers)(server, place)
            self._open.add(name)
        log.info("listening at %s:%d (%s)", place.host, port, name)
        if not place.port:
            file = msgspec.structs.replace(self._team.settled, **{name: Place(place.host, port)})
            await asyncio.to_thread(self._team.change, file, self._desk.hub.transact)

    async def _open_loopback(self, server: uvicorn.Server, place: Place) -> int:
        token = loopback.token(address.token_file(self._state))
        listener = bind(place)
        port = loopback.port_of(listener)
        await open_door(server, listener, loopback.Loopback(self._app, self._desk, token, port))
        return port

    async def _open_peers(self, server: uvicorn.Server, place: Place) -> int:
        # A hub without peers does without these libraries.
        from synapse_hub.federation.identity import identity
        from synapse_hub.web.doors.signed import Signed

        listener = bind(place)
        app = Signed(
            self._app,
            self._desk,
            recipient=lambda: self._team.id,
            keys=self._team.keys,
            routes=PEER_ROUTES,
            unsigned=STRANGERS_ROUTES,
        )
        await open_door(server, listener, app, identity(self._state).server_context())
        return loopback.port_of(listener)
