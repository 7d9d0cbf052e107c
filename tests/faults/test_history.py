"""What many clients saw of a hub that was killed under them is what one that does one thing at a time would answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import history, mutations, tree
from tests.faults.clients import Crowd
from tests.faults.scale import times
from tests.faults.served import Served


def test_a_contended_history_with_kills_is_explained_by_the_model(tmp_path: Path) -> None:
    """No stale answer, no double grant, no refusal that was not due, no key with two effects, nothing lost."""
    operations, kills = times(10_000, 200_000), times(3, 300)
    with Served(tmp_path) as hub:
        crowd = Crowd(hub, operations, kills)
        calls = crowd.run()
        found = history.check(calls, hub.state / "journal.db", crowd.applied)
    assert found == []
    answered = [call.answer for call in calls if call.answer]
    assert len(answered) == operations
    reasons = {answer.get("reason", "") for answer in answered}
    assert reasons >= {"", "SCOPE_CONFLICT", "LEASE_LIVE", "STALE_EPOCH", "NOT_HELD", "NOT_OWNER", "VERSION_MISMATCH"}


@pytest.mark.parametrize("name", ["stale epochs act", "a live task is given away"])
def test_a_hub_without_a_fence_is_caught(tmp_path: Path, name: str) -> None:
    """The check sees what such a hub grants."""
    with tree.copy(mutations.named(name)) as root, Served(tmp_path, root) as hub:
        calls = Crowd(hub, 1500, 0, clients=20).run()
        assert history.check(calls, hub.state / "journal.db")
