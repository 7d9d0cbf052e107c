"""The door for other hubs, where it cannot be opened at once."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest
import uvicorn

from synapse_hub import hubfile
from synapse_hub.federation.team import Team
from synapse_hub.hubfile import HubFile, Place
from synapse_hub.web.app import make_app
from synapse_hub.web.desk import Desk
from synapse_hub.web.doors.listening import Listening
from tests.hub.desk import FakeClock, Rig, running


def desk_of(rig: Rig, directory: Path, port: int) -> Desk:
    """Of a hub that is to listen at ``port``."""
    hubfile.write(str(directory), HubFile(id="a", listen=Place("127.0.0.1", port)))
    team = Team(rig.hub, str(directory))
    team.load(rig.hub.transact)
    return Desk(rig.hub, team=team)


async def opened(desk: Desk, directory: Path, taken: socket.socket) -> None:
    """Opens the doors while ``taken`` is in the way, and a while after it went."""
    app = make_app(desk)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None))
    server.servers = []
    await Listening(str(directory), app, desk, again_s=0.02).open(server)
    assert "cannot be opened" in desk.team.shut["listen"]
    place = taken.getsockname()
    taken.close()
    async with asyncio.timeout(5):
        while desk.team.shut:
            await asyncio.sleep(0.01)
    _, writer = await asyncio.open_connection(*place)
    writer.close()
    for one in server.servers:
        one.close()


def test_a_door_that_is_shut_at_first_opens_as_soon_as_it_can(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Another process has the port, or the network is not up: that is told, once in the log, and ends by itself."""
    with running(tmp_path, FakeClock()) as rig, socket.create_server(("127.0.0.1", 0)) as taken:
        desk = desk_of(rig, tmp_path, taken.getsockname()[1])
        asyncio.run(opened(desk, tmp_path, taken))
    assert len([one for one in caplog.records if "cannot be opened" in one.message]) == 1
