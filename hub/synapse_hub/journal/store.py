"""What the journal asks of whatever keeps its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from synapse_hub.journal.record import Record
from synapse_hub.journal.snapshot import Snapshot


class StoreError(Exception):
    """Rows could not be written or read. After a failed `Store.append` it is unknown whether they are there."""


class Damaged(StoreError):
    """What is there is not what was written: no retry helps."""


class Store(Protocol):
    """An append-only table of rows in order of ``seq``."""

    def append(self, records: Sequence[Record], *, durable: bool) -> None:
        """All of them or none, in one transaction; ``durable``: synced before this returns. Spec: INV-JA-4.

        Raises:
            StoreError: the outcome is unknown.
        """
        ...

    def replay(self, after: int) -> Iterator[Record]:
        """The rows beyond ``after``, in order. Raises: StoreError."""
        ...

    def save_snapshot(self, snapshot: Snapshot) -> None:
        """Keep it beside the one before, durably. Raises: StoreError."""
        ...

    def snapshots(self) -> list[Snapshot]:
        """Those kept, the newest first. Raises: StoreError."""
        ...

    def forget(self, upto: int, most: int) -> int:
        """Drop up to ``most`` of the oldest rows, none beyond ``upto``, evidence aside; how many went.

        Raises: StoreError.
        """
        ...

    def probe(self) -> None:
        """Take the write path to the disk and back without a row. Raises: StoreError."""
        ...

    def close(self) -> None:
        """Fold everything into one file and let go of it."""
        ...

    def abandon(self) -> None:
        """Let go after an error, without touching the file."""
        ...
