"""The hub as the routes see it: awaitable, and able to say who is asking."""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from urllib.parse import unquote

from starlette.requests import HTTPConnection, Request

from synapse_git.constants import HUB_AGENT, MAX_BODY_BYTES, MAX_NAME_BYTES, MAX_NOTE_BYTES
from synapse_git.protocol.body import Malformed, T, parse
from synapse_hub.announcements import Announcements
from synapse_hub.closings import Closings
from synapse_hub.core.binding import impostor
from synapse_hub.core.commands import AnyCommand
from synapse_hub.core.events import AnyEvent
from synapse_hub.core.outcome import Refusal
from synapse_hub.core.state import State
from synapse_hub.federation.embassy import Embassy
from synapse_hub.federation.sequence import Sequence as Order
from synapse_hub.federation.team import Team
from synapse_hub.hub import Answered, Hub
from synapse_hub.hubfile import Place
from synapse_hub.mentions import Mentions
from synapse_hub.waiting import Patience
from synapse_hub.watchers import Watchers
from synapse_hub.web.outbox import Outbox
from synapse_hub.web.session.roster import Roster

# Under these an ASGI scope says who is asking: a user of this machine, or another hub.
PEER = "synapse.peer_uid"
HUB = "synapse.peer_hub"
# The agent that a request's body speaks for.
ASKER = "synapse.agent_name"
# Its headers by name.
_HEADERS = "synapse.header_lines"


class Rejected(Exception):
    """A request that is refused before the hub is asked."""

    def __init__(self, reason: str, detail: str, fix: str = "") -> None:
        super().__init__(detail)
        self.refusal = Refusal(reason, detail, fix)

    @classmethod
    def of(cls, refusal: Refusal) -> Rejected:
        made = cls(refusal.reason, refusal.detail, refusal.fix)
        made.refusal = refusal
        return made


class Desk:
    """One per server. ``socket_path`` and ``journal_path`` are shown by health; ``roster``: who has a session."""

    def __init__(
        self,
        hub: Hub,
        *,
        socket_path: str = "",
        journal_path: str = "",
        team: Team | None = None,
    ) -> None:
        self.hub = hub
        self.team = team or Team(hub)
        self.embassy = Embassy(hub, self.team, self.transact)
        self.socket_path = socket_path
        self.journal_path = journal_path
        self.announcements = Announcements()
        self.mentions = Mentions()
        self.closings = Closings()
        self.order = Order()
        self.watchers = Watchers()
        self._outbox = Outbox(hub)
        self.roster = Roster(hub, self._outbox.leave)
        self._followers: set[asyncio.Event] = set()
        self._answers: deque[tuple[asyncio.Future[Answered], Answered]] = deque()
        self._waking = False
        # Opens the listener for peers, and says where it is; set while a server runs.
        self.open_for_peers: Callable[[], Awaitable[Place]] = _nowhere
        # Called from the writer's thread after each publication; set while a server runs.
        self.wake: Callable[[Sequence[AnyEvent]], None] = lambda _: None

    def transact(self, command: AnyCommand) -> asyncio.Future[Answered]:
        """The durable outcome of ``command``. A caller that is cancelled leaves the command to its fate."""
        return self._submit(command, None)

    async def transact_patiently(self, command: AnyCommand, request: Request, wait_s: float) -> Answered:
        """As `transact`, waiting up to ``wait_s`` for others to end, as long as the asker stays connected."""
        gone = asyncio.ensure_future(disconnected(request))
        try:
            return await self._submit(command, Patience(self.hub.now() + wait_s, lambda: not gone.done()))
        finally:
            gone.cancel()

    def _submit(self, command: AnyCommand, patience: Patience | None) -> asyncio.Future[Answered]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answered] = loop.create_future()

        def reply(answered: Answered) -> None:
            # One wake-up of the loop serves all answers of a commit.
            self._answers.append((future, answered))
            if not self._waking:
                self._waking = True
                with suppress(RuntimeError):  # the loop has ended, and with it everyone who could have heard
                    loop.call_soon_threadsafe(self._deliver)

        self._outbox.put(command, reply, patience)
        return future

    def _deliver(self) -> None:
        # The flag falls first: what the writer adds after the last look here wakes the loop again.
        self._waking = False
        while self._answers:
            future, answered = self._answers.popleft()
            if not future.done():
                future.set_result(answered)

    def leave(self, command: AnyCommand) -> None:
        """Have ``command`` done without waiting for it."""
        self._outbox.leave(command)

    @property
    def followers(self) -> int:
        """How many streams follow the journal."""
        return len(self._followers)

    def published(self, events: Sequence[AnyEvent]) -> None:
        """Wake whoever follows the journal, and tell the sessions. On the event loop only."""
        for event in self._followers:
            event.set()
        self.roster.follow(events)

    async def changes(self, idle_s: float) -> AsyncIterator[bool]:
        """True after each publication, False after ``idle_s`` without one; the first at once."""
        event = asyncio.Event()
        self._followers.add(event)
        try:
            yield True
            while True:
                try:
                    await asyncio.wait_for(event.wait(), idle_s)
                except TimeoutError:
                    yield False
                else:
                    event.clear()
                    yield True
        finally:
            self._followers.discard(event)


async def disconnected(request: Request) -> None:
    """Comes back when the asker has gone away."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _nowhere() -> Place:
    raise Rejected("INVALID_REQUEST", "this hub does not listen")


def asker(request: Request) -> str:
    """Whom a request is made for, by its own word: the header ``Synapse-Agent``, else its body; '' if it says none."""
    given = header(request, b"synapse-agent")
    return str(request.scope.get(ASKER, "")) if given is None else unquote(given, errors="replace")


def session(request: HTTPConnection) -> str:
    """The digest of the session secret that came along, '' if none did."""
    secret = header(request, b"synapse-session")
    return digest(secret) if secret else ""


def header(request: HTTPConnection, name: bytes) -> str | None:
    """The first header of that name, in lower case. `Headers` goes through all of them each time it is asked."""
    found = request.scope.get(_HEADERS)
    if found is None:
        found = request.scope[_HEADERS] = dict(reversed(request.scope["headers"]))
    value = found.get(name)
    return None if value is None else str(value, "latin-1")


def digest(secret: str) -> str:
    """What the hub keeps of a secret: its SHA-256, in hexadecimal."""
    return hashlib.sha256(secret.encode()).hexdigest()


def admit(request: HTTPConnection, state: State, agent: str, now: float) -> None:
    """For what is answered without a decision. Raises: Rejected, where the name ``agent`` is another session's."""
    if refused := impostor(state, agent, session(request), now):
        raise Rejected.of(refused)


async def read(request: Request, kind: type[T]) -> tuple[bytes, T]:
    """The body, raw and as a request of ``kind``. Raises: Rejected."""
    if (header(request, b"content-type") or "").partition(";")[0].strip().lower() != "application/json":
        raise Rejected("INVALID_REQUEST", "the body must be application/json", "Send Content-Type: application/json")
    raw = await read_capped(request)
    try:
        body = parse(raw, kind)
    except Malformed as error:
        raise Rejected("INVALID_REQUEST", str(error), "See the wire reference for the fields of this route") from None
    request.scope[ASKER] = getattr(body, "agent", "")
    return raw, body


async def read_capped(request: Request) -> bytes:
    """The whole body, at most `MAX_BODY_BYTES`. Raises: Rejected."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise Rejected(
                "TOO_LARGE", f"the body is over {MAX_BODY_BYTES} bytes", "Claim directories, or ask in parts"
            )
    return bytes(body)


def agent_name(name: str) -> str:
    """``name`` if an agent may be called so. Raises: Rejected."""
    if name.strip().casefold() == HUB_AGENT:
        raise Rejected("NAME_OWNED", f"{HUB_AGENT} is the name the hub itself speaks under", "Use another name")
    return _text(name, "agent", "INVALID_REQUEST")


def task_name(task_id: str) -> str:
    """``task_id`` if a task may be called so. Raises: Rejected."""
    return _text(task_id, "task_id", "INVALID_TASK")


def label(text: str, field: str) -> str:
    """A namespace or tree label, which may be empty. Raises: Rejected."""
    return _text(text, field, "INVALID_REQUEST") if text else text


def _text(text: str, field: str, reason: str) -> str:
    if not text.strip() or not text.isprintable() or len(text.encode()) > MAX_NAME_BYTES:
        raise Rejected(reason, f"{field} must be 1 to {MAX_NAME_BYTES} bytes of printable text, not blank")
    return text


def remark(text: str | None, field: str = "note") -> str | None:
    """Free text of a person or agent. Raises: Rejected."""
    if text is not None and len(text.encode("utf-8", "replace")) > MAX_NOTE_BYTES:
        raise Rejected("INVALID_REQUEST", f"{field} is over {MAX_NOTE_BYTES} bytes", "Shorten it")
    return text and text.encode("utf-8", "replace").decode()
