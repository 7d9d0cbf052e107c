"""Snapshots, compaction, export and import: the journal stays bounded and nothing that counts goes missing."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from synapse_hub.core.commands.claims import ExpireDue
from synapse_hub.core.state import State
from synapse_hub.journal import archive, journal, restart
from synapse_hub.journal.journal import Journal, JournalBroken
from synapse_hub.journal.snapshot import capture, restore
from tests.hub.desk import FakeClock, Rig, give, keyed, running, take


@pytest.fixture
def frequent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots every 20 events, and only the newest 30 rows kept."""
    monkeypatch.setattr(journal, "SNAPSHOT_EVERY", 20)
    monkeypatch.setattr(journal, "KEPT_EVENTS", 30)


def busy(rig: Rig, rounds: int) -> None:
    """Claims, refusals and releases; waits for snapshots that are under way."""
    for number in range(rounds):
        rig.answer(keyed(take("t1", "ana", ("src",)), key=f"k{number}"))
        rig.reason(take("t2", "ben", (f"src/{number}",)))
        rig.answer(give("t1", "ana"))
        if number % 10 == 0:
            settle(rig)
    settle(rig)


def settle(rig: Rig) -> None:
    pause = threading.Event()
    for _ in range(400):
        rig.answer(ExpireDue(tasks=()))
        if not rig.hub._snapshots._under_way and not rig.hub._snapshots.more:
            return
        pause.wait(0.005)


def rows(directory: Path, table: str = "events") -> int:
    with closing(sqlite3.connect(directory / "journal.db")) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def replayed(directory: Path) -> State:
    opened = Journal(str(directory))
    try:
        return opened.replay()
    finally:
        opened.close()


def test_a_snapshot_tells_the_same_state(tmp_path: Path) -> None:
    """Captured and restored it is equal, and goes on equally."""
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        busy(rig, 5)
        rig.answer(take("open", "cyd", ("x", "y")))
        rig.answer(take("shared", "dee", ("Docs",), worktree="", namespace="acme"))
        state = rig.hub.state
    again = restore(capture(state, b"head"))
    assert again.claims == state.claims and again.trees == state.trees and again.seq == state.seq
    assert list(again.answers.items()) == list(state.answers.items())
    assert list(again.denials.items()) == list(state.denials.items())


@pytest.mark.usefixtures("frequent")
def test_compaction_keeps_claims_keys_and_audit_history(tmp_path: Path) -> None:
    """Rows go, what they told stays: live claims, epochs, answered keys, and every denial and release."""
    with running(tmp_path) as rig:
        rig.answer(take("kept", "cyd", ("x",)))
        busy(rig, 60)
        before = rig.hub.state
        first = rig.hub.state.answers.get(("uid:1/ana", "TakeClaim", "k0"))
    assert rows(tmp_path) < 80 < before.seq
    after = replayed(tmp_path)
    assert after.claims == before.claims and after.epoch == before.epoch and after.seq == before.seq
    assert after.answers.get(("uid:1/ana", "TakeClaim", "k0")) == first
    with closing(sqlite3.connect(tmp_path / "journal.db")) as connection:
        kinds = connection.execute(
            "SELECT kind, count(*) FROM (SELECT * FROM history UNION ALL SELECT * FROM events) GROUP BY kind"
        ).fetchall()
    assert dict(kinds)["claim_denial"] == 60 and dict(kinds)["claim_released"] == 60
    with running(tmp_path) as rig:
        assert rig.answer(keyed(take("t1", "ana", ("src",)), key="k0"))["replayed"] is True


@pytest.mark.usefixtures("frequent")
def test_a_damaged_snapshot_falls_back_on_the_one_before(tmp_path: Path) -> None:
    """Its digest tells; with neither whole and rows compacted nothing is granted."""
    with running(tmp_path) as rig:
        busy(rig, 60)
        before = rig.hub.state
    alter(
        tmp_path, "UPDATE snapshots SET body = replace(body, 'ana', 'eve') WHERE seq = (SELECT max(seq) FROM snapshots)"
    )
    assert replayed(tmp_path).claims == before.claims
    alter(tmp_path, "UPDATE snapshots SET body = replace(body, 'ana', 'eve')")
    with pytest.raises(JournalBroken):
        replayed(tmp_path)


def alter(directory: Path, statement: str) -> None:
    with closing(sqlite3.connect(directory / "journal.db")) as connection, connection:
        connection.execute(statement)


def test_verify_says_what_is_wrong(tmp_path: Path) -> None:
    """And, of a sound journal, how far it reaches."""
    with running(tmp_path) as rig:
        for number in range(5):
            rig.answer(take(f"t{number}", paths=(f"d{number}",)))
    assert archive.verify(str(tmp_path)) | {"hub_id": "", "detail": ""} == {
        "ok": True, "events": 5, "epoch": 5, "hub_id": "", "incarnation": 1, "detail": "",
    }  # fmt: skip
    alter(tmp_path, "UPDATE events SET body = replace(body, 'ana', 'eve') WHERE seq = 3")
    assert archive.verify(str(tmp_path))["ok"] is False and "event 3" in archive.verify(str(tmp_path))["detail"]


@pytest.mark.usefixtures("frequent")
@pytest.mark.parametrize("rounds", [3, 60])
def test_export_and_import_carry_a_journal_over(tmp_path: Path, rounds: int) -> None:
    """Compacted or not: the same claims, a new incarnation, epochs above every one issued."""
    home, other = tmp_path / "home", tmp_path / "other"
    home.mkdir()
    other.mkdir()
    with running(home) as rig:
        rig.answer(take("kept", "cyd", ("x",)))
        busy(rig, rounds)
        before = rig.hub.state
    document = archive.export(str(home), str(tmp_path / "out"))
    assert document["events"] == before.seq and os.stat(tmp_path / "out").st_mode & 0o777 == 0o600
    imported = restart.restart(str(other), str(tmp_path / "out"))
    with running(other, FakeClock(time.time())) as rig:
        assert rig.hub.state.claims == before.claims
        assert rig.hub.incarnation == imported["incarnation"] == 2
        assert rig.answer(take("new", "dee", ("y",)))["epoch"] > before.epoch
        assert rig.hub.state.seq > before.seq + 1
    assert archive.verify(str(other))["ok"]


def test_an_older_backup_goes_on_above_every_epoch_and_seq_ever_issued(tmp_path: Path) -> None:
    """What was there before is kept and named."""
    with running(tmp_path) as rig:
        rig.answer(take("t1"))
    archive.export(str(tmp_path), str(tmp_path / "backup"))
    with running(tmp_path) as rig:
        last: dict[str, Any] = [rig.answer(take(f"n{n}", paths=(f"d{n}",))) for n in range(5)][-1]
        seq = rig.hub.state.seq
    done = restart.restart(str(tmp_path), str(tmp_path / "backup"))
    assert sorted(os.listdir(done["kept"])) == ["journal.db", "journal.mark"]
    with running(tmp_path) as rig:
        assert set(rig.hub.state.claims) == {("", "t1")} and rig.hub.state.seq > seq
        assert rig.answer(take("t9", paths=("z",)))["epoch"] > last["epoch"]


@pytest.mark.parametrize("lost", ["tail", "mark", "middle"])
def test_a_broken_journal_starts_again_from_what_is_intact(tmp_path: Path, lost: str) -> None:
    """By the user's command only, with a copy kept, and never with an epoch that was issued before."""
    with running(tmp_path) as rig:
        last = [rig.answer(take(f"t{n}", paths=(f"d{n}",))) for n in range(6)][-1]
    if lost == "mark":
        os.unlink(tmp_path / "journal.mark")
    else:
        alter(tmp_path, f"DELETE FROM events WHERE seq = {6 if lost == 'tail' else 3}")
    with pytest.raises(JournalBroken, match="hub import"):
        replayed(tmp_path)
    done = restart.restart(str(tmp_path), "")
    assert (Path(done["kept"]) / "journal.db").exists()
    with running(tmp_path) as rig:
        expected = {"tail": 5, "middle": 2, "mark": 6}[lost]
        assert len(rig.hub.state.claims) == expected
        assert rig.answer(take("new", paths=("z",)))["epoch"] > last["epoch"]


def test_an_export_that_was_altered_is_not_imported(tmp_path: Path) -> None:
    """Nor one that was cut short, nor something else; and nothing is touched then."""
    with running(tmp_path) as rig:
        rig.answer(take("t1"))
    archive.export(str(tmp_path), str(tmp_path / "out"))
    whole = (tmp_path / "out").read_bytes()
    before = replayed(tmp_path)
    for bad in (whole.replace(b"ana", b"eve"), whole[: len(whole) // 2], b"", b"hello\n", b"\xff\xfe\n{}\n"):
        (tmp_path / "bad").write_bytes(bad)
        with pytest.raises(archive.ArchiveError):
            restart.restart(str(tmp_path), str(tmp_path / "bad"))
        assert replayed(tmp_path) == before
    with pytest.raises(archive.ArchiveError, match="exists"):
        archive.export(str(tmp_path), str(tmp_path / "out"))
