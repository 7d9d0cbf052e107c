"""The lease clock: anchored once per boot, deaf to the system's time."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from synapse_hub import clock
from synapse_hub.clock import ABSURDLY_AHEAD_S, Anchor, LeaseClock, boot_id, boot_seconds, open_clock


def anchor(directory: Path) -> Anchor:
    return msgspec.json.decode((directory / "clock.json").read_bytes(), type=Anchor)


def test_setting_the_system_clock_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither while the hub runs nor over its restart within one boot."""
    before = open_clock(str(tmp_path), 0.0)
    assert before.now() == pytest.approx(time.time(), abs=1)
    true = before.now()
    monkeypatch.setattr(time, "time", lambda: 5.0)
    assert before.now() == pytest.approx(true, abs=1)
    assert open_clock(str(tmp_path), 0.0).now() == pytest.approx(true, abs=1)


def test_sleep_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock underneath goes on while the machine is suspended."""
    leases = LeaseClock(Anchor("boot", 100.0, 5000.0))
    monkeypatch.setattr(clock, "boot_seconds", lambda: 160.0)
    assert leases.now() == 5060.0


def test_a_new_boot_anchors_at_the_wall_but_not_before_the_last_event(tmp_path: Path) -> None:
    """A wall clock that was set back does not bring old leases to life again."""
    ahead = time.time() + 5000
    (tmp_path / "clock.json").write_bytes(msgspec.json.encode(Anchor("another boot", 1.0, 2.0)))
    assert open_clock(str(tmp_path), ahead).now() == pytest.approx(ahead, abs=1)
    assert anchor(tmp_path).boot_id == boot_id()


def test_a_past_absurdly_far_ahead_is_not_believed(tmp_path: Path) -> None:
    """A clock that once stood years ahead must not freeze every lease since."""
    assert open_clock(str(tmp_path), time.time() + 2 * ABSURDLY_AHEAD_S).now() == pytest.approx(time.time(), abs=1)


def test_a_damaged_anchor_is_made_anew(tmp_path: Path) -> None:
    """It is written whole, so a fragment means that somebody else wrote it."""
    (tmp_path / "clock.json").write_text("{")
    assert open_clock(str(tmp_path), 0.0).now() == pytest.approx(time.time(), abs=1)
    assert boot_seconds() > 0
