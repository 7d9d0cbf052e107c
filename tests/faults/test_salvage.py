"""``hub import`` without a file: whatever became of a journal, it goes on from what is left, above every epoch."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from synapse_hub.journal import archive, restart
from synapse_hub.journal.archive import ArchiveError
from synapse_hub.journal.journal import Journal, JournalBroken
from synapse_hub.journal.snapshot import capture
from tests.faults.test_damage import DB, MARK, WAL, Copies, cut, flip
from tests.hub.desk import running, take

Harm = Callable[[Path], object]
LAST = 6


def ruin(name: str, start: int, size: int) -> Harm:
    """Random bytes over ``size`` bytes of a file from ``start`` on."""

    def harm(directory: Path) -> None:
        raw = bytearray((directory / name).read_bytes())
        raw[start : start + size] = random.Random(3).randbytes(min(size, len(raw) - start))
        (directory / name).write_bytes(raw)

    return harm


def remove(*names: str) -> Harm:
    def harm(directory: Path) -> None:
        for name in names:
            (directory / name).unlink()

    return harm


HARMS: dict[str, tuple[Harm, int]] = {
    "gone": (remove(DB), 0),
    "emptied": (lambda directory: (directory / DB).write_bytes(b""), 0),
    "header": (ruin(DB, 0, 100), 0),
    "first page": (ruin(DB, 0, 4096), 0),
    "all but the first page": (ruin(DB, 4096, 1 << 20), 0),
    "all": (ruin(DB, 0, 1 << 20), 0),
    "gone with its mark": (remove(DB, MARK), 0),
    "all, and its mark": (lambda directory: [ruin(name, 0, 1 << 20)(directory) for name in (DB, MARK)], 0),
    "mark": (ruin(MARK, 0, 1 << 20), LAST),
}


def filled(directory: Path) -> str:
    """A journal with `LAST` claims; the id of its hub."""
    directory.mkdir()
    with running(directory) as rig:
        for n in range(LAST):
            rig.answer(take(f"t{n}", paths=(f"d{n}",)))
        return rig.hub.hub_id


@pytest.mark.parametrize("harm", HARMS)
def test_it_goes_on_from_whatever_is_left(tmp_path: Path, harm: str) -> None:
    """Refused until then, with this very advice. The damaged file is kept, the hub stays who it was, what is lost is
    said, and no epoch is given twice.
    """
    home = tmp_path / "home"
    known, (damage, left) = filled(home), HARMS[harm]
    damage(home)
    if (home / DB).exists() or (home / MARK).exists():
        with pytest.raises(JournalBroken, match="hub import"):
            Journal(str(home)).replay()
    damaged = (home / DB).read_bytes() if (home / DB).exists() else None
    if damaged is None and not (home / MARK).exists():
        with pytest.raises(ArchiveError, match="no journal in"):
            restart.restart(str(home), "")
        return
    done = restart.restart(str(home), "")
    kept = Path(done["kept"]) / DB
    assert (kept.read_bytes() if kept.exists() else None) == damaged
    assert done["same_hub"] and ("lost" in done["detail"] or "nobody knows" in done["detail"])
    with running(home) as rig:
        assert rig.hub.hub_id == known and len(rig.hub.state.claims) == left
        assert rig.answer(take("new", paths=("z",)))["epoch"] > LAST
    assert archive.verify(str(home))["ok"]


def test_a_copy_that_was_put_aside_is_gone_on_from(tmp_path: Path) -> None:
    """The one that reaches furthest; what came after it is named as lost."""
    home = tmp_path / "home"
    filled(home)
    restart.restart(str(home), "")
    with running(home) as rig:
        rig.answer(take("later", paths=("later",)))
    remove(DB)(home)
    done = restart.restart(str(home), "")
    assert f"first {LAST} events come from" in done["detail"] and f"events {LAST + 1} to " in done["detail"]
    with running(home) as rig:
        assert len(rig.hub.state.claims) == LAST


def test_a_snapshot_behind_the_damage_is_gone_on_from(tmp_path: Path) -> None:
    """No claim is lost then, only what the rows before it tell beyond that."""
    home = tmp_path / "home"
    filled(home)
    journal = Journal(str(home))
    journal.keep(capture(journal.replay(), journal.head))
    journal.close()
    with closing(sqlite3.connect(home / DB)) as connection, connection:
        connection.execute("DELETE FROM events WHERE seq = 2")
    done = restart.restart(str(home), "")
    assert "event 2 is missing" in done["detail"] and "lost" not in done["detail"]
    with running(home) as rig:
        assert len(rig.hub.state.claims) == LAST


def test_a_backup_brings_its_hub_back_where_another_began_anew(tmp_path: Path) -> None:
    """Repositories are bound to the id: the fresh hub, which granted nothing, takes that of the lost one."""
    home, fresh = tmp_path / "home", tmp_path / "fresh"
    known = filled(home)
    archive.export(str(home), str(tmp_path / "out"))
    fresh.mkdir()
    with running(fresh) as rig:
        assert rig.hub.hub_id != known
    restart.restart(str(fresh), str(tmp_path / "out"))
    with running(fresh) as rig:
        assert rig.hub.hub_id == known and len(rig.hub.state.claims) == LAST
    with running(tmp_path / "home") as rig:
        rig.answer(take("more", paths=("more",)))
    assert restart.restart(str(home), str(tmp_path / "out"))["same_hub"]


def test_no_damage_is_too_much_for_it(tmp_path: Path) -> None:
    """Bits that flip and files that are cut: it goes on every time, above every epoch."""
    copies, chance = Copies(tmp_path), random.Random(23)
    for number in range(40):
        shutil.rmtree(copies.scratch, ignore_errors=True)
        shutil.copytree(copies.killed if number % 2 else copies.stopped, copies.scratch)
        what = [(cut if number % 3 else flip)(copies.scratch, chance) for _ in range(3)]
        restart.restart(str(copies.scratch), "")
        assert not os.path.lexists(copies.scratch / WAL), what
        journal = Journal(str(copies.scratch))
        assert journal.replay().epoch >= copies.state.epoch, what
        journal.close()
