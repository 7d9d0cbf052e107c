"""Bits that flip, files that are cut, vanish or come back older: noticed or harmless, never a lower epoch."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from synapse_hub.core.commands.claims import ReleaseClaim
from synapse_hub.core.state import State
from synapse_hub.journal import journal as journal_module
from synapse_hub.journal.journal import Journal, JournalBroken
from synapse_hub.journal.record import Record
from synapse_hub.journal.store import StoreError
from tests.faults.scale import times
from tests.hub.desk import keyed, running, take

DB, WAL, MARK = "journal.db", "journal.db-wal", "journal.mark"
Harm = Callable[[Path, random.Random], str]


class Copies:
    """Directories as a hub leaves them: stopped, or killed with rows in the WAL; and the state they tell."""

    def __init__(self, root: Path) -> None:
        self.stopped, self.killed, self.older = root / "stopped", root / "killed", root / "older"
        self.scratch = root / "scratch"
        live = root / "live"
        live.mkdir()
        for number in range(2):
            with running(live) as rig:
                for at in range(20):
                    rig.answer(keyed(take(f"t{at}", paths=(f"d{number}/{at}",)), key=f"{number}-{at}"))
                rig.answer(ReleaseClaim(agent="ana", namespace="", task_id=f"t{number}"))
                if number == 1:
                    shutil.copytree(live, self.killed)
                self.state = rig.hub.state
            shutil.copytree(live, self.older if number == 0 else self.stopped)

    def harmed(self, source: Path, harm: Harm, chance: random.Random) -> str:
        """What is wrong with the hub's judgement on a copy that was harmed; '' if nothing."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        shutil.copytree(source, self.scratch)
        what = harm(self.scratch, chance)
        try:
            state = opened(self.scratch)
        except (JournalBroken, StoreError, OSError):
            return ""
        return "" if state == self.state else f"{what} in {source.name} went unnoticed: {told(state)}"


def told(state: State) -> str:
    return json.dumps({"seq": state.seq, "epoch": state.epoch, "claims": len(state.claims)})


def opened(directory: Path) -> State:
    journal = Journal(str(directory))
    try:
        return journal.replay()
    finally:
        journal._store.abandon()
        os.close(journal._mark_file._descriptor)


def flip(directory: Path, chance: random.Random) -> str:
    """One bit anywhere."""
    name = chance.choice([name for name in (DB, DB, WAL, MARK) if (directory / name).exists()])
    raw = bytearray((directory / name).read_bytes())
    at = chance.randrange(len(raw))
    raw[at] ^= 1 << chance.randrange(8)
    (directory / name).write_bytes(raw)
    return f"a bit of {name} at {at}"


def cut(directory: Path, chance: random.Random) -> str:
    """The end of a file gone."""
    name = chance.choice([name for name in (DB, WAL, MARK) if (directory / name).exists()])
    kept = chance.randrange((directory / name).stat().st_size)
    os.truncate(directory / name, kept)
    return f"{name} cut to {kept}"


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Copies:
    """Made once: nothing writes to them."""
    return Copies(tmp_path_factory.mktemp("copies"))


def findings(copies: Copies, rounds: int) -> list[str]:
    chance = random.Random(11)
    found = []
    for number in range(rounds):
        source = copies.stopped if number % 2 else copies.killed
        found.append(copies.harmed(source, cut if number % 5 == 0 else flip, chance))
    return [one for one in found if one]


def test_flipped_bits_and_cut_files_are_noticed_or_harmless(copies: Copies) -> None:
    """Either the hub does not start, or it knows exactly what it knew."""
    assert findings(copies, times(300, 3000)) == []


def test_without_the_hash_chain_flipped_bits_go_unnoticed(copies: Copies, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check above sees a hub that trusts its rows."""

    def trusting(records: Iterator[Record], *_: object) -> Iterator[Record]:
        yield from records

    monkeypatch.setattr(journal_module, "checked", trusting)
    assert findings(copies, 150)


@pytest.mark.parametrize("gone", [(DB,), (WAL,), (MARK,), (DB, WAL), (DB, WAL, MARK)])
def test_files_that_vanish_are_missed(copies: Copies, gone: tuple[str, ...]) -> None:
    """No silent fresh start, except where nothing at all is left to tell of a past."""

    def remove(directory: Path, _: random.Random) -> str:
        for name in gone:
            (directory / name).unlink()
        return f"loss of {gone}"

    wrong = copies.harmed(copies.killed, remove, random.Random(0))
    assert (wrong == "") is (len(gone) < 3), wrong


@pytest.mark.parametrize("name", [DB, WAL])
def test_an_emptied_file_is_missed(copies: Copies, name: str) -> None:
    """Of length zero, as a full disk or a repair tool leaves them."""

    def empty(directory: Path, _: random.Random) -> str:
        (directory / name).write_bytes(b"")
        return f"an empty {name}"

    assert copies.harmed(copies.killed, empty, random.Random(0)) == ""


def test_an_older_copy_put_back_is_told_from_its_mark(copies: Copies) -> None:
    """Its epochs have all been given since. With its mark it is consistent, and then only the operator can know."""

    def put_back(directory: Path, _: random.Random) -> str:
        (directory / WAL).unlink(missing_ok=True)
        shutil.copy(copies.older / DB, directory / DB)
        return "an older copy"

    for source in (copies.stopped, copies.killed):
        assert copies.harmed(source, put_back, random.Random(0)) == ""


def test_rows_that_sqlite_itself_was_told_to_drop_are_missed(copies: Copies) -> None:
    """A well-formed file can still be a wrong one."""

    def drop(directory: Path, chance: random.Random) -> str:
        seq = chance.randrange(1, 80)
        with sqlite3.connect(directory / DB) as connection:
            connection.execute("DELETE FROM events WHERE seq = ?", (seq,))
        connection.close()
        return f"event {seq}"

    chance = random.Random(5)
    assert [wrong for _ in range(20) if (wrong := copies.harmed(copies.stopped, drop, chance))] == []


def test_a_value_of_another_type_is_noticed(copies: Copies) -> None:
    """SQLite keeps a type beside each value; one flipped bit makes a hash NULL, or a text of what was none."""

    def retype(directory: Path, chance: random.Random) -> str:
        column, value = chance.choice([("hash", 7), ("kind", b"x"), ("body", b"{}"), ("batch", 1.5), ("hash", "x")])
        with sqlite3.connect(directory / DB) as connection:
            connection.execute(f"UPDATE events SET {column} = ? WHERE seq = ?", (value, chance.randrange(1, 80)))
        connection.close()
        return f"{column} = {value!r}"

    chance = random.Random(7)
    assert [wrong for _ in range(12) if (wrong := copies.harmed(copies.stopped, retype, chance))] == []


def test_an_error_that_cannot_be_told_is_noticed(copies: Copies) -> None:
    """A damaged name in the schema, which SQLite quotes in an error that Python cannot decode."""

    def rename(directory: Path, _: random.Random) -> str:
        raw = (directory / DB).read_bytes()
        (directory / DB).write_bytes(raw.replace(b"tableprobeprobe", b"tablepro\xd9eprobe"))
        return "a name in the schema"

    assert copies.harmed(copies.stopped, rename, random.Random(0)) == ""
