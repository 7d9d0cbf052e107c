"""Work for the event loop while the writer waits for the disk."""

from __future__ import annotations

import asyncio
from pathlib import Path

from synapse_hub.hub import Hub
from synapse_hub.journal.journal import Journal
from synapse_hub.journal.sqlite import open_reader, read
from synapse_hub.web.pause import Pause
from tests.hub.desk import FakeClock, take


def test_work_is_done_in_a_pause_once_and_not_after_it() -> None:
    """What the loop did not come to is left to whoever wanted it."""

    async def turn() -> None:
        loop, pause, done = asyncio.get_running_loop(), Pause(), list[str]()
        until, over = loop.create_future(), loop.create_future()
        pause.use(lambda: done.append("in time"), until)
        pause.use(lambda: done.append("too late"), over)
        over.set_result(None)
        await asyncio.sleep(0)
        for _ in range(2):
            await asyncio.to_thread(pause.begin)
            await asyncio.sleep(0)
        assert done == ["in time"]

    asyncio.run(turn())


def test_the_pause_begins_before_the_commit(tmp_path: Path) -> None:
    """Nobody has been answered, and nobody else sees the row."""
    seen: list[int] = []

    def look() -> None:
        connection = open_reader(str(tmp_path / "journal.db"))
        seen.append(sum(1 for _ in read(connection, 0)))
        connection.close()

    journal = Journal(str(tmp_path))
    hub = Hub(journal, FakeClock(), state=journal.replay(), on_sync=look)
    hub.start()
    hub.transact(take("mine"))
    hub.stop()
    assert seen == [0]
