"""kill -9 while fifty agents talk: nothing acknowledged is lost, nothing invented, no watermark falls, one order."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import mutations, talkers, tree
from tests.faults.clients import Crowd
from tests.faults.scale import times
from tests.faults.served import Served
from tests.faults.talkers import AGENTS, Talker


def test_what_was_said_survives_kills(tmp_path: Path) -> None:
    """As each agent saw it, and as the journal has it in the end."""
    operations, kills = times(2500, 100_000), times(4, 300)
    with Served(tmp_path) as hub:
        calls = Crowd(hub, operations, kills, AGENTS, Talker).run()
        found = talkers.check(calls, hub.state / "journal.db")
    assert found == []
    assert sum(call.answer is not None for call in calls) == operations
    assert {call.verb for call in calls if call.answer and call.answer["http"] == 200} == {"send", "read", "ack"}
    assert any(call.answer["messages"] for call in calls if call.answer and call.verb == "read")


@pytest.mark.parametrize(
    "name", ["a watermark may fall", "a letter to one who is away is dropped", "answered before the commit"]
)
def test_a_hub_that_forgets_is_caught(tmp_path: Path, name: str) -> None:
    """The check sees what such a hub loses."""
    with tree.copy(mutations.named(name)) as root, Served(tmp_path, root) as hub:
        calls = Crowd(hub, 600, 0, 10, Talker).run()
        assert talkers.check(calls, hub.state / "journal.db")
