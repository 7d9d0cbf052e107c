"""What can still be read of a journal that is damaged or gone, and of the copies beside it. Changes none of them."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress

import msgspec

from synapse_hub.core.state import State
from synapse_hub.journal.intact import Intact, mark_of, salvage
from synapse_hub.journal.mark import Mark
from synapse_hub.journal.record import GENESIS
from synapse_hub.journal.sqlite import SQLITE_ERRORS

KEPT = "kept"


class Find(msgspec.Struct, frozen=True):
    """What was found; ``origin``: the copy that it comes from, '' for the journal itself."""

    intact: Intact
    origin: str = ""

    def short(self, mark: Mark | None) -> bool:
        """Is anything missing of what ``mark`` tells, or may be?"""
        return mark is None or bool(self.intact.damage) or self.intact.state.seq < mark.seq

    def loss(self, mark: Mark | None) -> str:
        """What is lost, for whoever has to tell others; '' if nothing is."""
        seq = self.intact.state.seq
        said = [self.intact.damage] if self.intact.damage else []
        if self.origin:
            said.append(f"the first {seq} events come from {self.origin}")
        if mark is None:
            said.append("journal.mark is gone, so nobody knows whether events are missing at the end")
        elif seq < mark.seq:
            what = f"events {seq + 1} to {mark.seq} are" if seq else f"all of the {mark.seq} events are"
            said.append(f"{what} lost: what was claimed, released, said or noted in them is forgotten")
        return "; ".join(said)


def search(directory: str, mark: Mark | None) -> Find:
    """The journal in ``directory`` if it is whole as far as ``mark`` tells, else whatever reaches furthest."""
    best = Find(_examined(directory, os.path.join(directory, "journal.db")))
    if not best.short(mark):
        return best
    damage = best.intact.damage
    for path in _copies(directory):
        found = _examined(directory, path)
        if found.state.seq > best.intact.state.seq:
            best = Find(msgspec.structs.replace(found, damage=damage), path)
    return best


def former_marks(directory: str) -> list[Mark]:
    """Those beside the copies, the newest first."""
    return [mark for path in _copies(directory) if (mark := mark_of(os.path.dirname(path)))]


def _copies(directory: str) -> Iterator[str]:
    """Journals that were put aside, the newest first."""
    yield os.path.join(directory, "journal.db.suspect")
    kept = os.path.join(directory, KEPT)
    with suppress(FileNotFoundError):
        for name in sorted(os.listdir(kept), reverse=True):
            yield os.path.join(kept, name, "journal.db")


def _examined(directory: str, path: str) -> Intact:
    """What is intact of the journal file at ``path``, read from a copy: SQLite writes where it opens."""
    scratch = os.path.join(directory, "journal.db.salvage")
    try:
        shutil.copyfile(path, scratch)
        if os.path.lexists(path + "-wal"):
            shutil.copyfile(path + "-wal", scratch + "-wal")
        with closing(sqlite3.connect(scratch, isolation_level=None)) as connection:
            return salvage(connection)
    except FileNotFoundError:
        return _nothing(f"{path} is gone")
    except (OSError, *SQLITE_ERRORS) as error:
        return _nothing(f"{path} cannot be read: {error}")
    finally:
        for suffix in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.unlink(scratch + suffix)


def _nothing(why: str) -> Intact:
    return Intact(None, [], State(), GENESIS, why)
