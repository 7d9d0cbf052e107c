"""What is said over one connection: it registers, then asks and is told until it ends."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, assert_never

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from synapse_git.constants import (
    FRAMES_PER_SECOND,
    IDENTITY_CLOSE_CODE,
    MAX_SECRET_CHARACTERS,
    MAX_SESSIONS,
    MIN_SECRET_CHARACTERS,
    NAME_OWNED_CLOSE_CODE,
    RECEIVE_DEADLINE_SECONDS,
)
from synapse_git.protocol.body import Malformed
from synapse_git.protocol.session import (
    AckFrame,
    AnyFrame,
    ChatFrame,
    PresenceFrame,
    ProveFrame,
    RegisterFrame,
    ReleaseFrame,
    parse_frame,
    proof_statement,
)
from synapse_git.protocol.talk import MessageBody
from synapse_hub.core.commands.names import BindName, ReleaseName
from synapse_hub.core.commands.talk import Acknowledge
from synapse_hub.core.outcome import Refusal
from synapse_hub.hub import Answered
from synapse_hub.web.answer import problem_document
from synapse_hub.web.desk import Desk, Rejected, digest
from synapse_hub.web.messages import host_of, message_command
from synapse_hub.web.party import named, principal
from synapse_hub.web.session import proof
from synapse_hub.web.session.pace import Pace
from synapse_hub.web.session.roster import Link

# How a session ends that is refused for a reason; for any other it is about identity or capacity. 1013: try later.
_CLOSE_CODES = {"NAME_OWNED": NAME_OWNED_CLOSE_CODE, "JOURNAL_UNAVAILABLE": 1013}


async def converse(desk: Desk, websocket: WebSocket) -> None:
    """``WS /v2/session``, from the upgrade to the end."""
    desk.roster.connections += 1
    try:
        await websocket.accept()
        with suppress(WebSocketDisconnect):
            await _Conversation(desk, websocket).hold()
    finally:
        desk.roster.connections -= 1


class _Conversation:
    def __init__(self, desk: Desk, websocket: WebSocket) -> None:
        self._desk = desk
        self._websocket = websocket
        self._link: Link | None = None

    async def hold(self) -> None:
        """Until either side ends it."""
        try:
            async with asyncio.timeout(RECEIVE_DEADLINE_SECONDS):
                link = await self._register()
        except Rejected as rejected:
            await self._turn_away(rejected.refusal)
        except TimeoutError:
            await self._turn_away(Refusal("INVALID_REQUEST", f"no register within {RECEIVE_DEADLINE_SECONDS:g} s"))
        else:
            pushing = asyncio.create_task(self._tell(link))
            try:
                await self._listen(link)
            finally:
                pushing.cancel()
        finally:
            if self._link:
                self._desk.roster.leave(self._link)

    async def _register(self) -> Link:
        """Bind the name that is asked for. Raises: Rejected."""
        if self._desk.roster.connections > MAX_SESSIONS:
            raise Rejected("QUOTA_EXCEEDED", f"{MAX_SESSIONS} sessions are open already", "Try again later")
        frame = await self._next()
        if not isinstance(frame, RegisterFrame):
            raise Rejected("INVALID_REQUEST", "a session begins with a frame of type register")
        agent = named(self._desk, self._websocket, frame.agent)
        secret = secrets.token_urlsafe(MIN_SECRET_CHARACTERS) if frame.secret is None else _checked(frame.secret)
        key = await self._prove(agent, proof.public_key(frame.key)) if frame.key else ""
        self._link = link = Link(agent, digest(secret))
        self._desk.roster.enter(link)
        command = BindName(agent=agent, principal=principal(self._websocket), secret_sha256=link.secret_sha256, key=key)
        answered = await self._desk.transact(command)
        if isinstance(answered.outcome, Refusal):
            raise Rejected.of(answered.outcome)
        link.bound = True
        if frame.since_seq is not None:
            await self._desk.transact(Acknowledge(agent=agent, session=link.secret_sha256, seq=max(0, frame.since_seq)))
        link.stirred.set()  # what it missed
        welcome = {"secret": secret, "agent": agent, "hub_id": self._desk.hub.hub_id}
        await self._say("welcome", welcome, answered.seq, answered.now)
        return link

    async def _prove(self, agent: str, key: str) -> str:
        """``key``, once it is shown that the client has its private half. Raises: Rejected."""
        nonce, hub = secrets.token_hex(32), self._desk.hub
        await self._say("challenge", {"nonce": nonce, "hub_id": hub.hub_id}, hub.state.seq, hub.now())
        frame = await self._next()
        if not isinstance(frame, ProveFrame):
            raise Rejected("NOT_AUTHORISED", "a challenge is answered by a frame of type prove")
        proof.check(key, frame.signature, proof_statement(hub.hub_id, agent, nonce))
        return key

    async def _listen(self, link: Link) -> None:
        pace = Pace(FRAMES_PER_SECOND, asyncio.get_running_loop().time)
        async for text in self._texts():
            # Meanwhile nothing more is read from it, so the client's own sending comes to a stand.
            await pace.keep()
            try:
                await self._answer(link, _understood(text))
            except Rejected as rejected:
                await self._refuse(rejected.refusal)

    async def _answer(self, link: Link, frame: AnyFrame) -> None:
        state, now = self._desk.hub.state, self._desk.hub.now()
        match frame:
            case PresenceFrame():
                agents = [{"agent": agent, "since": state.names.live[agent].at} for agent in sorted(state.names.live)]
                await self._say("presence", {"agents": agents}, state.seq, now)
            case ChatFrame():
                await self._chat(link, frame)
            case AckFrame():
                command = Acknowledge(agent=link.agent, session=link.secret_sha256, seq=max(0, frame.seq))
                await self._decided("acked", await self._desk.transact(command))
            case ReleaseFrame():
                answered = await self._desk.transact(ReleaseName(agent=link.agent, session=link.secret_sha256))
                # Else everyone connected under the name is told that it ends; see the roster.
                if isinstance(answered.outcome, Refusal):
                    await self._refuse(answered.outcome)
            case RegisterFrame() | ProveFrame():
                raise Rejected("INVALID_REQUEST", f"this session is registered as {link.agent}")
            case _:
                assert_never(frame)

    async def _chat(self, link: Link, frame: ChatFrame) -> None:
        body = MessageBody(
            agent=link.agent,
            to=frame.to and self._desk.team.addressed("", frame.to),
            body=frame.body,
            client_msg_id=frame.client_msg_id,
            client_timestamp=frame.client_timestamp,
        )
        try:
            command = message_command(self._desk, body, link.secret_sha256)
        except Rejected as rejected:
            await self._refuse(rejected.refusal, client_msg_id=frame.client_msg_id)
        else:
            if host := host_of(self._desk, command.to):
                await self._carry(host, body)
            else:
                await self._decided("sent", await self._desk.transact(command), client_msg_id=frame.client_msg_id)
                if command.abroad:
                    self._desk.embassy.carry()

    async def _carry(self, host: str, body: MessageBody) -> None:
        """To an agent of another hub's, which answers."""
        found = await self._desk.embassy.ask(host, "/v2/messages", msgspec.json.encode(body))
        if isinstance(found, Refusal):
            await self._refuse(found, client_msg_id=body.client_msg_id)
        else:
            members = {**found.document, "client_msg_id": body.client_msg_id}
            # Its seq counts another journal's events, and who resumes counts ours.
            hub = self._desk.hub
            await self._say("refused" if found.reason else "sent", members, hub.state.seq, hub.now())

    async def _decided(self, kind: str, answered: Answered, **members: Any) -> None:
        if isinstance(answered.outcome, Refusal):
            await self._refuse(answered.outcome, **members)
        else:
            await self._say(kind, {**answered.outcome.answer, **members}, answered.seq, answered.now)

    async def _tell(self, link: Link) -> None:
        with suppress(WebSocketDisconnect):
            await self._push(link)

    async def _push(self, link: Link) -> None:
        """Tell what nobody asked for: messages, in the hub's order, as fast as they are read; and the end."""
        while link.ending is None:
            await link.stirred.wait()
            link.stirred.clear()
            state, now = self._desk.hub.state, self._desk.hub.now()
            for message in state.mail.waiting(link.agent, now, link.told):
                link.told = message.seq
                await self._say("message", message.document(), message.seq, now)
        code, reason = link.ending
        await self._websocket.close(code, reason)

    async def _turn_away(self, refusal: Refusal) -> None:
        await self._refuse(refusal)
        await self._websocket.close(_CLOSE_CODES.get(refusal.reason, IDENTITY_CLOSE_CODE), refusal.reason)

    async def _refuse(self, refusal: Refusal, **members: Any) -> None:
        state, now = self._desk.hub.state, self._desk.hub.now()
        await self._say("refused", problem_document(refusal, state.seq, now) | members, state.seq, now)

    async def _say(self, kind: str, members: dict[str, Any], seq: int, now: float) -> None:
        if self._websocket.application_state is WebSocketState.DISCONNECTED:
            raise WebSocketDisconnect
        # "type" of a problem document is a URN; on this wire it tells frames apart.
        document = {**members, "type": kind, "seq": seq, "now": now}
        await self._websocket.send_text(msgspec.json.encode(document).decode())

    async def _next(self) -> AnyFrame:
        async for text in self._texts():
            return _understood(text)
        raise WebSocketDisconnect

    async def _texts(self) -> AsyncIterator[str]:
        while True:
            message = await self._websocket.receive()
            if message["type"] != "websocket.receive":
                return
            # Binary frames are no JSON texts; they are refused as such.
            yield message.get("text") or ""


def _understood(text: str) -> AnyFrame:
    try:
        return parse_frame(text)
    except Malformed as error:
        raise Rejected("INVALID_REQUEST", str(error), "See the wire reference for the frames of a session") from None


def _checked(secret: str) -> str:
    """``secret`` if it can travel in a header and nobody guesses it. Raises: Rejected."""
    plain = secret.isascii() and secret.isprintable() and " " not in secret
    if not plain or not MIN_SECRET_CHARACTERS <= len(secret) <= MAX_SECRET_CHARACTERS:
        raise Rejected(
            "INVALID_REQUEST",
            f"a secret is {MIN_SECRET_CHARACTERS} to {MAX_SECRET_CHARACTERS} characters of ASCII without blanks",
            "Leave it out, and the hub makes one",
        )
    return secret
