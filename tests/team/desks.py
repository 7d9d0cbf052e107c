"""Two hubs of a team in this process: real journals, routes and signatures, and a way between them that obeys."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import msgspec

from synapse_hub import hubfile
from synapse_hub.federation.form import SignedRequest
from synapse_hub.federation.identity import Identity, identity
from synapse_hub.federation.line import Answer, Broken, Line, NotConnected
from synapse_hub.federation.link import Link
from synapse_hub.federation.team import Team
from synapse_hub.hubfile import HubFile, Namespace, Peer
from synapse_hub.web.app import make_app
from synapse_hub.web.desk import PEER, Desk
from synapse_hub.web.doors.listening import PEER_ROUTES
from synapse_hub.web.doors.signed import Signed
from tests.hub.desk import FakeClock, Rig, running

NAMESPACE = "acme/api"
WALL = 1_800_000_000.25


class Way(Line):
    """Carries requests to an application in this process.

    ``sent``: all that left, as signed; ``lose``: how many more answers get lost; ``closed``: is there no way?
    ``stalls``: does nothing arrive yet?
    ``alter`` does to each what it wants.
    """

    def __init__(self, app: Any) -> None:
        self._app = app
        self.sent: list[SignedRequest] = []
        self.lose = 0
        self.closed = False
        self.stalls = False
        self.alter: Callable[[SignedRequest], None] = lambda _: None

    def lead_to(self, app: Any) -> None:
        """From now on to another one."""
        self._app = app

    async def exchange(self, method: str, target: str, headers: Any, body: bytes) -> Answer:
        if self.closed:
            raise NotConnected("there is no way")
        request = SignedRequest(method, target, dict(headers), body)
        self.sent.append(request)
        self.alter(request)
        if self.stalls:
            raise Broken("nothing has come back")
        answer = await self.deliver(request)
        if self.lose:
            self.lose -= 1
            raise Broken("the answer is lost")
        return answer

    async def deliver(self, request: SignedRequest) -> Answer:
        """What the other side says to it."""
        transport = httpx.ASGITransport(app=self._app)
        async with httpx.AsyncClient(transport=transport, base_url="https://a:1") as client:
            found = await client.request(request.method, request.target, content=request.body, headers=request.headers)
        return Answer(found.status_code, found.headers, found.content)


class _Neighbour(Team):
    """A team whose one peer with a url is reached by a way of the test's."""

    road: Callable[[str, Peer], Link]

    def link(self, peer: str) -> Link:
        return self.road(peer, self.settled.peers[peer])


class Side:
    """One hub. ``door``: where peers come in; ``wall_s``: what its wall clock is ahead by."""

    def __init__(self, directory: Path, name: str, rig: Rig) -> None:
        self.name = name
        self.directory = str(directory)
        self.rig = rig
        self.wall_s = 0.0
        self.identity: Identity = identity(self.directory)
        self.team = _Neighbour(rig.hub, self.directory)
        self.desk = Desk(rig.hub, team=self.team)
        self._app = make_app(self.desk)
        self.door = self.opened(WALL - 100)

    def wall(self) -> float:
        return WALL + self.wall_s

    def opened(self, started: float) -> Signed:
        """The doorkeeper of a hub that started then."""
        clock = iter((started,))
        return Signed(
            self._app,
            self.desk,
            recipient=lambda: self.name,
            keys=self.team.keys,
            routes=PEER_ROUTES,
            wall=lambda: next(clock, None) or self.wall(),
        )

    def knows(self, file: HubFile) -> None:
        """Go by ``file`` from now on."""
        hubfile.write(self.directory, file)
        self.team.load(self.rig.hub.transact)

    def knows_of(self, namespace: str, entry: Namespace) -> None:
        """Go by a file that says this of a namespace, and all the rest as before."""
        file = self.team.settled
        self.knows(msgspec.structs.replace(file, namespaces={**file.namespaces, namespace: entry}))

    def peer(self, url: str = "") -> Peer:
        """This hub as another writes it down."""
        return Peer(key=self.identity.public, url=url, certificate=base64.b64encode(self.identity.certificate).decode())

    async def ask(self, target: str, body: dict[str, Any], **headers: str) -> httpx.Response:
        """A request of a client on this machine."""

        async def as_user(scope: Any, receive: Any, send: Any) -> None:
            await self._app({**scope, PEER: 1}, receive, send)

        named = {name.replace("_", "-"): said for name, said in headers.items()}
        given = httpx.Headers({"content-type": "application/json"} | named, encoding="latin-1")
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=as_user), base_url="http://hub") as client:
            return await client.request("POST", target, content=json.dumps(body).encode(), headers=given)

    async def claim(self, task_id: str, *paths: str, agent: str = "ben", **more: Any) -> dict[str, Any]:
        """A claim in the namespace by an agent of this hub; the answer."""
        key = {"idempotency_key": more.pop("key")} if "key" in more else {}
        body = {"task_id": task_id, "agent": agent, "namespace": NAMESPACE, "paths": list(paths)} | more
        document: dict[str, Any] = (await self.ask("/v2/claim", body, **key)).json()
        return document

    async def commits(self, path: str, agent: str = "ben") -> httpx.Response:
        """The verdict on a commit of ``path``."""
        body = {"agent": agent, "namespace": NAMESPACE, "worktree": "", "paths": [path], "action": "commit"}
        return await self.ask("/v2/guard", body)


class Pair(NamedTuple):
    """``a`` owns the namespace, ``b`` is a member of it; ``way`` leads from b to a."""

    a: Side
    b: Side
    way: Way


@contextmanager
def pair(root: Path) -> Iterator[Pair]:
    """Both, until the block ends. One lease clock each, which stand still until turned."""
    for name in "ab":
        (root / name).mkdir()
    with running(root / "a", FakeClock()) as owner, running(root / "b", FakeClock(5_000_000.0)) as edge:
        a, b = Side(root / "a", "a", owner), Side(root / "b", "b", edge)
        a.knows(HubFile(id="a", peers={"b": b.peer()}, namespaces={NAMESPACE: Namespace(owner="a", members=("b",))}))
        b.knows(HubFile(id="b", peers={"a": a.peer("https://a:1")}, namespaces={NAMESPACE: Namespace(owner="a")}))
        way = Way(a.door)
        b.team.road = lambda name, peer: Link("b", b.identity, name, peer, b.wall, way, b.team.witness)
        yield Pair(a, b, way)
