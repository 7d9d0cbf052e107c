"""Requests over kept connections, to a server that does as a test says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import uvloop

from synapse_hub.federation.identity import Identity, client_context, identity
from synapse_hub.federation.line import Broken, Line, NotConnected

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nX-Told: 1\r\n\r\nhi"
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Server:
    """``connections``: how many came in so far. Each is answered ``answers``, one after the other, then closed."""

    def __init__(self, *answers: bytes) -> None:
        self.connections = 0
        self._answers = answers

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        for answer in self._answers:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                break
            await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]))
            writer.write(answer)
        await writer.drain()
        writer.close()


@pytest.fixture
def known(tmp_path: Path) -> Identity:
    return identity(str(tmp_path))


def asked(known: Identity, server: Server, play: Callable[[Line], Awaitable[None]]) -> None:
    """Run ``play`` with a line to ``server``."""

    async def run() -> None:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=known.server_context())
        port = listening.sockets[0].getsockname()[1]
        line = Line(f"https://127.0.0.1:{port}", client_context(_base64(known)))
        try:
            async with asyncio.timeout(10):
                await play(line)
        finally:
            line.close()
            listening.close()
            await asyncio.sleep(0.01)

    uvloop.run(run())


def _base64(known: Identity) -> str:
    import base64

    return base64.b64encode(known.certificate).decode()


async def get(line: Line) -> bytes:
    return (await line.exchange("GET", "/", {}, b"")).body


def test_a_connection_is_kept_and_a_closed_one_is_not_used(known: Identity) -> None:
    """Three answers come over two connections, where the server closes after the second; nothing is lost by it."""
    server = Server(OK, OK)

    async def play(line: Line) -> None:
        answer = await line.exchange("POST", "/x?y=1", {"a": "b"}, b"body")
        assert (answer.status, answer.body, answer.headers["x-told"]) == (200, b"hi", "1")
        assert await get(line) == b"hi" and server.connections == 1
        await asyncio.sleep(0.05)
        assert await get(line) == b"hi" and server.connections == 2

    asked(known, server, play)


@pytest.mark.parametrize(
    "answer",
    [b"", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhi", b"SSH-2.0-OpenSSH\r\n\r\n"],
    ids=["none", "half", "odd"],
)
def test_an_answer_that_breaks_off_may_have_followed_a_deed(known: Identity, answer: bytes) -> None:
    """Whoever asked is told that the request may have arrived."""

    async def play(line: Line) -> None:
        with pytest.raises(Broken):
            await get(line)

    asked(known, Server(answer), play)


def test_what_nobody_asked_for_is_nobodys_answer(known: Identity) -> None:
    """A second answer to one request ends the connection; the next question has its own."""
    server = Server(OK + OK.replace(b"hi", b"no"), OK)

    async def play(line: Line) -> None:
        assert await get(line) == b"hi"
        await asyncio.sleep(0.05)
        assert await get(line) == b"hi" and server.connections == 2

    asked(known, server, play)


def test_a_question_that_is_given_up_leaves_no_answer_for_the_next(known: Identity) -> None:
    """Its connection goes with it."""
    server = Server(b"HTTP/1.1 200 OK\r\n", OK)

    async def play(line: Line) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(get(line), 0.1)
        assert not line._idle

    asked(known, server, play)


def test_a_question_that_is_given_up_does_not_arrive_later(known: Identity) -> None:
    """The connection is reset, so what was not delivered yet is not tried any more."""
    ends: list[str] = []

    class Deaf(Server):
        async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await reader.read()
                ends.append("closed")
            except ConnectionResetError:
                ends.append("reset")

    async def play(line: Line) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(get(line), 0.1)
        await asyncio.sleep(0.1)

    asked(known, Deaf(), play)
    assert ends == ["reset"]


def test_a_question_that_is_given_up_takes_the_other_kept_connections_along(known: Identity) -> None:
    """They may have died as silently, and each would cost another question its answer."""
    server = Server(OK, b"HTTP/1.1 200 OK\r\n", OK)

    async def play(line: Line) -> None:
        assert set(await asyncio.gather(get(line), get(line))) == {b"hi"} and server.connections == 2
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(get(line), 0.1)
        assert await get(line) == b"hi" and server.connections == 3

    asked(known, server, play)


def test_nothing_is_sent_to_who_is_not_there_or_another(known: Identity, tmp_path: Path) -> None:
    """Nobody listens; somebody listens under another certificate."""
    (tmp_path / "other").mkdir()
    other = identity(str(tmp_path / "other"))
    server = Server(OK)

    async def play(line: Line) -> None:
        with pytest.raises(NotConnected):
            await get(Line("https://127.0.0.1:1", client_context(_base64(known))))
        stranger = Line(f"https://{line._authority}", client_context(_base64(other)))
        with pytest.raises(NotConnected, match="certificate"):
            await get(stranger)
        assert not server.connections

    asked(known, server, play)


@pytest.mark.parametrize("url", ["http://h:1", "https://h", "https://:1", ""])
def test_an_address_names_host_and_port(known: Identity, url: str) -> None:
    with pytest.raises(ValueError, match="address"):
        Line(url, client_context(_base64(known)))
