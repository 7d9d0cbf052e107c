"""Start a new incarnation of the journal, from an export, a copy of a journal, or what is intact: ``hub import``."""

from __future__ import annotations

import os
import time
from contextlib import closing, suppress
from typing import Any

from synapse_hub.core.events.upkeep import IncarnationStarted
from synapse_hub.journal.archive import ArchiveError, read_export
from synapse_hub.journal.intact import Intact, intact, mark_of
from synapse_hub.journal.mark import Mark, MarkFile
from synapse_hub.journal.record import Record, seal
from synapse_hub.journal.sqlite import SqliteStore, copy_synced, open_reader, sync_file
from synapse_hub.journal.store import StoreError

# Without a mark nobody knows which epochs were issued; this many are passed over.
_UNKNOWN_EPOCHS = 1_000_000


def restart(directory: str, source: str) -> dict[str, Any]:
    """Start a new incarnation from ``source``: an export, a journal file, or '' for what is intact of our own.

    Call it with the hub's lock held. What was there is kept and named in the answer. Epochs go on above every one
    ever issued.

    Raises:
        ArchiveError: ``source`` cannot be read.
    """
    path = os.path.join(directory, "journal.db")
    mark = mark_of(directory)
    found, theirs = _read_source(directory, source or path)
    leap = 0 if mark else _UNKNOWN_EPOCHS
    known = [one for one in (mark, theirs) if one]
    incarnation = max([one.incarnation for one in known], default=1) + 1
    started = IncarnationStarted(
        at=max(time.time(), found.state.last_at),
        incarnation=incarnation,
        epoch=max([found.state.epoch, *(one.epoch for one in known)]) + leap,
        first_seq=max([found.state.seq, *(one.seq for one in known)]) + 1,
        source=os.path.basename(source) or "what was intact",
    )
    row = seal(started, started.first_seq, incarnation, "import", found.head)
    fresh = path + ".fresh"
    _build(fresh, found, row)
    kept = _keep(directory)
    hub_id = known[0].hub_id if known else os.urandom(16).hex()
    # The mark first: should this be cut short now, the old journal is below it and nothing is granted from it.
    _set_mark(
        directory, Mark(hub_id, incarnation, row.seq, started.epoch, row.hash.hex(), mark.turn + 1 if mark else 0)
    )
    for suffix in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(path + suffix)
    os.replace(fresh, path)
    sync_file(directory)
    return {"events": row.seq, "incarnation": incarnation, "kept": kept, "detail": found.damage}


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
    kept = os.path.join(directory, "kept", time.strftime("%Y%m%dT%H%M%S") + f"-{os.getpid()}")
    os.makedirs(kept, mode=0o700)
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
