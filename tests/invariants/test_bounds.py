"""Every bounded thing keeps to its number, live and after a replay. Spec: INV-RR-2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from synapse_hub.core import decide, state
from synapse_hub.core.commands.claims import SaveCheckpoint
from synapse_hub.journal.journal import Journal
from synapse_hub.journal.snapshot import capture, restore
from tests.hub.desk import FakeClock, give, keyed, running, take


def test_inv_rr_2_keyed_commands_are_refused_at_the_bound_and_no_key_is_forgotten_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the oldest has had its day; commands without a key go on."""
    monkeypatch.setattr(decide, "MAX_IDEMPOTENCY_KEYS", 3)
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        for number in range(3):
            rig.answer(keyed(take(f"t{number}", paths=(f"d{number}",)), key=f"k{number}"))
        assert rig.reason(keyed(take("t3", paths=("x",)), key="k3")) == "QUOTA_EXCEEDED"
        assert rig.answer(keyed(take("t0", paths=("d0",)), key="k0"))["replayed"]
        rig.answer(take("t3", paths=("x",)))
        clock.at += 86_400
        rig.answer(keyed(take("t4", paths=("y",)), key="k4"))


def test_inv_rr_2_keys_of_a_clock_gone_wild_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their day would never be over."""
    for module in (decide, state):
        monkeypatch.setattr(module, "MAX_IDEMPOTENCY_KEYS", 3)
    with running(tmp_path, FakeClock(4_000_000_000.0)) as rig:
        for number in range(3):
            rig.answer(keyed(take(f"t{number}", paths=(f"d{number}",)), key=f"k{number}"))
    with running(tmp_path, FakeClock(1_800_000_000.0)) as rig:
        rig.answer(keyed(take("t3", paths=("x",)), key="k3"))
        assert rig.answer(keyed(take("t3", paths=("x",)), key="k3"))["replayed"]
        assert len(rig.hub.state.answers) == 3


def test_inv_rr_2_remembered_denials_names_and_checkpoints_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest goes first, and a replay or a snapshot remembers no more."""
    for name in ("MAX_REMEMBERED_DENIALS", "MAX_REMEMBERED_NAMES", "MAX_RETAINED_CHECKPOINTS"):
        monkeypatch.setattr(state, name, 5)
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        for number in range(12):
            agent, task = f"a{number}", f"t{number}"
            rig.answer(take(task, agent, (f"d{number}",), ttl_s=30.0))
            rig.answer(SaveCheckpoint(agent=agent, namespace="", task_id=task, data=number))
            rig.reason(take("other", "eve", (f"d{number}",)))
        clock.at += 30
        rig.answer(take("last", "zed", tuple(f"d{number}" for number in range(12))))
        live = rig.hub.state
    journal = Journal(str(tmp_path))
    replayed = journal.replay()
    journal.close()
    for found in (live, replayed, restore(capture(live, b""))):
        assert sizes(found) == (5, 5, 5)
    assert live.retained(("", "t11")) == 11 and live.retained(("", "t0")) is None


def sizes(found: state.State) -> tuple[int, int, int]:
    return len(found.denials), len(found.principals), len(found.checkpoints)


def test_inv_rr_2_a_checkpoint_outlives_its_claim_for_a_month_at_most(tmp_path: Path) -> None:
    """Then it makes room, when the next one comes."""
    clock = FakeClock()
    fields: dict[str, Any] = {"agent": "ana", "namespace": "", "data": 1}
    with running(tmp_path, clock) as rig:
        for task in ("old", "new"):
            rig.answer(take(task, ttl_s=30.0))
            rig.answer(SaveCheckpoint(**fields, task_id=task))
            clock.at += 30
            rig.answer(take("sweep", "ben"))
            rig.answer(give("sweep", "ben"))
            clock.at += 2_592_000
        assert rig.hub.state.retained(("", "old")) is None
