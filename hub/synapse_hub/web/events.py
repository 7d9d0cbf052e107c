"""The journal as Server-Sent Events."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from itertools import islice

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from synapse_git.constants import WIRE_PROTOCOL_VERSION
from synapse_hub.journal.record import Record
from synapse_hub.journal.sqlite import open_reader, read
from synapse_hub.web.desk import Desk, Rejected
from synapse_hub.web.party import peer
from synapse_hub.web.team import following
from synapse_hub.web.team.receipts import hear

_PAGE = 500
# A comment this often keeps connections alive and finds the dead ones, in seconds.
_IDLE_S = 15.0


async def events(desk: Desk, request: Request) -> Response:
    """``GET /v2/events?after=SEQ&follow=true|false``; ``after`` takes SEQ or INCARNATION:SEQ, as Last-Event-ID does.

    Another hub is told what concerns it, and no more.
    """
    given = request.query_params.get("after") or request.headers.get("last-event-id") or "0"
    number = given.rpartition(":")[2]
    if not number.isascii() or not number.isdigit() or len(number) > 18:
        raise Rejected("INVALID_REQUEST", "after is SEQ or INCARNATION:SEQ")
    if hub := peer(request):
        await hear(desk, request, hub)
        return following.follow(desk, request, hub, int(number))
    follow = request.query_params.get("follow", "true") != "false"
    return StreamingResponse(
        _stream(desk, int(number), follow=follow),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "Synapse-Protocol": str(WIRE_PROTOCOL_VERSION)},
    )


async def _stream(desk: Desk, after: int, *, follow: bool) -> AsyncIterator[bytes]:
    async for changed in desk.changes(_IDLE_S):
        if not changed:
            yield b": still here\n\n"
            continue
        # Nobody outside sees an event that a power cut could still take back.
        upto = desk.hub.synced_seq
        while after < upto:
            page = await asyncio.to_thread(_page, desk.journal_path, after, upto)
            if not page:
                break
            yield b"".join(_frame(record) for record in page)
            after = page[-1].seq
        if not follow:
            return


def _page(path: str, after: int, upto: int) -> list[Record]:
    with closing(open_reader(path)) as connection:
        return _first(connection, after, upto)


def _first(connection: sqlite3.Connection, after: int, upto: int) -> list[Record]:
    return list(islice(read(connection, after, upto, history=True), _PAGE))


def _frame(record: Record) -> bytes:
    head = f"id: {record.incarnation}:{record.seq}\nevent: {record.kind}\ndata: ".encode()
    return head + record.body + b"\n\n"
