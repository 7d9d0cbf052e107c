"""Start a new incarnation of the journal, from an export, a copy of a journal, or what is intact: ``hub import``."""

from __future__ import annotations

import os
import tempfile
import time
import uuid
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import Any

from synapse_hub.core.events.upkeep import IncarnationStarted
from synapse_hub.core.state import apply
from synapse_hub.journal import salvage, testimony
from synapse_hub.journal.archive import ArchiveError, read_export
from synapse_hub.journal.intact import Intact, intact, mark_of
from synapse_hub.journal.mark import Mark, MarkFile, kept_id
from synapse_hub.journal.record import Record, seal
from synapse_hub.journal.salvage import KEPT, Find
from synapse_hub.journal.sqlite import SqliteStore, copy_synced, open_reader, sync_file
from synapse_hub.journal.store import StoreError
from synapse_hub.journal.testimony import Stamp

# Where nobody knows which epochs were issued, this many are passed over.
_UNKNOWN_EPOCHS = 1_000_000


def restart(directory: str, source: str) -> dict[str, Any]:
    """Start a new incarnation from ``source``: an export, a journal file, or '' for what is intact of our own.

    Call it with the hub's lock held. What was there is kept and named in the answer. Epochs go on above every one
    ever issued; the id of the hub stays where it can be told.

    Raises:
        ArchiveError: ``source`` cannot be read, or there is nothing to go on from.
    """
    path = os.path.join(directory, "journal.db")
    mark = mark_of(directory)
    if source:
        intact, theirs = _read_source(directory, source)
        find = Find(intact)
    else:
        find, theirs = _search(directory, mark), None
    known = [one for one in (mark, theirs, *salvage.former_marks(directory)) if one]
    hub_id = _identity(directory, mark, theirs, known)
    heard = testimony.load(directory).proofs()
    unsure = mark is None or (not source and find.short(mark)) or bool(heard)
    row = _first_row(find.intact, [*known, *heard], os.path.basename(source), unsure=unsure)
    _build(path + ".fresh", find.intact, row)
    kept = _keep(directory)
    # The mark first: should this be cut short now, the old journal is below it and nothing is granted from it.
    turn = mark.turn + 1 if mark else 0
    epoch = apply(find.intact.state, row.event()).epoch
    _set_mark(directory, Mark(hub_id or uuid.uuid4().hex, row.incarnation, row.seq, epoch, row.hash.hex(), turn))
    for suffix in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(path + suffix)
    os.replace(path + ".fresh", path)
    sync_file(directory)
    detail = find.intact.damage if source else find.loss(mark)
    return {"events": row.seq, "incarnation": row.incarnation, "kept": kept, "detail": detail, "same_hub": bool(hub_id)}


def _search(directory: str, mark: Mark | None) -> Find:
    """Raises: ArchiveError, where no journal ever was."""
    found = salvage.search(directory, mark)
    if mark is None and not found.intact.state.seq and not os.path.lexists(os.path.join(directory, "journal.db")):
        raise ArchiveError(
            f"there is no journal in {directory}, nor a copy to go on from. A hub that starts begins one"
        )
    return found


def _identity(directory: str, mark: Mark | None, theirs: Mark | None, known: Sequence[Mark]) -> str:
    """The hub's id; '' where nobody can tell. One that has granted nothing yet stands back for what is imported."""
    if mark is None:
        return kept_id(directory) or (known[0].hub_id if known else "")
    return mark.hub_id if mark.epoch or theirs is None else theirs.hub_id


def _first_row(found: Intact, known: Sequence[Mark | Stamp], source: str, *, unsure: bool) -> Record:
    """Of the new incarnation. ``unsure``: ``known`` may not tell of all that was issued."""
    incarnation = max([one.incarnation for one in known], default=1) + 1
    started = IncarnationStarted(
        at=max(time.time(), found.state.last_at),
        incarnation=incarnation,
        epoch=max([found.state.epoch, *(one.epoch for one in known)]) + (_UNKNOWN_EPOCHS if unsure else 0),
        first_seq=max([found.state.seq, *(one.seq for one in known)]) + 1,
        source=source or "what was intact",
    )
    return seal(started, started.first_seq, incarnation, "import", found.head)


def _read_source(directory: str, source: str) -> tuple[Intact, Mark | None]:
    try:
        with open(source, "rb") as file:
            start = file.read(16)
    except OSError as error:
        raise ArchiveError(f"cannot read {source}: {error.strerror}") from error
    if not start.startswith(b"SQLite format 3"):
        return read_export(source)
    copy = os.path.join(directory, "journal.db.import")
    try:
        copy_synced(source, copy)
        with closing(open_reader(copy)) as connection:
            return intact(connection), None
    except (StoreError, OSError) as error:
        raise ArchiveError(f"{source} cannot be read as a journal: {error}") from error
    finally:
        for suffix in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.unlink(copy + suffix)


def _build(path: str, found: Intact, last: Record) -> None:
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(path + suffix)
    store = SqliteStore(path)
    if found.base:
        store.save_snapshot(found.base)
    store.append([*found.rows, last], durable=True)
    store.close()
    sync_file(path)


def _keep(directory: str) -> str:
    """Link everything that is there into a directory of its own; its name."""
    parent = os.path.join(directory, KEPT)
    os.makedirs(parent, mode=0o700, exist_ok=True)
    kept = tempfile.mkdtemp(prefix=time.strftime("%Y%m%dT%H%M%S-"), dir=parent)
    for name in ("journal.db", "journal.db-wal", "journal.mark"):
        with suppress(FileNotFoundError):
            os.link(os.path.join(directory, name), os.path.join(kept, name))
    return kept


def _set_mark(directory: str, mark: Mark) -> None:
    """In a new file, since the old one is linked from what was kept."""
    draft = os.path.join(directory, "journal.mark.fresh")
    with suppress(FileNotFoundError):
        os.unlink(draft)
    file = MarkFile(draft)
    file.write(mark)
    file.close()
    os.replace(draft, os.path.join(directory, "journal.mark"))
