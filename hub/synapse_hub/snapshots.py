"""Takes snapshots beside the writer: a pointer is captured, a thread writes it out, the writer stores it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from synapse_hub.core.state import State
from synapse_hub.journal.journal import Journal
from synapse_hub.journal.snapshot import Snapshot, capture
from synapse_hub.journal.store import StoreError

log = logging.getLogger("synapse_hub")


class Snapshots:
    """``hand_in`` brings a finished snapshot to the writer's thread, to which everything else here belongs."""

    def __init__(self, journal: Journal, hand_in: Callable[[Snapshot], None]) -> None:
        self._journal = journal
        self._hand_in = hand_in
        self._under_way = False
        self._more = True

    @property
    def more(self) -> bool:
        """Is there something to tidy?"""
        return self._more

    def consider(self, state: State) -> None:
        """Begin one if it is due and none is under way."""
        if self._under_way or not self._journal.snapshot_due():
            return
        self._under_way = True
        head = self._journal.head
        threading.Thread(target=lambda: self._hand_in(capture(state, head)), name="snapshot", daemon=True).start()

    def keep(self, snapshot: Snapshot) -> None:
        """Store a finished one. A failure costs nothing but a longer replay."""
        self._under_way = False
        try:
            self._journal.keep(snapshot)
            self._more = True
        except StoreError as error:
            log.warning("a snapshot could not be kept: %s", error)

    def tidy(self) -> None:
        """Forget a chunk of what two snapshots tell."""
        try:
            self._more = self._journal.tidy()
        except StoreError as error:
            self._more = False
            log.warning("the journal could not be compacted: %s", error)
