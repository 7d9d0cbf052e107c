"""Notices that this hub's journal was put back to an earlier day, by what its peers heard of it.

Each request between hubs says how far the journal of the hub that is asked had come when it last spoke, and each answer
how far it is now. A hub whose journal does not bear that out has forgotten what it granted. Spec: INV-MH-1
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from contextlib import closing, suppress

from synapse_hub.core.outcome import Refusal
from synapse_hub.hub import Hub
from synapse_hub.journal import testimony
from synapse_hub.journal.sqlite import SQLITE_ERRORS, hash_of, open_reader
from synapse_hub.journal.store import StoreError
from synapse_hub.journal.testimony import Stamp

HEARD, STAMP = "synapse-heard", "synapse-stamp"
_HEAD_DIGITS = 16
_ID_DIGITS = 8

log = logging.getLogger("synapse_hub")


class Witness:
    """On the event loop only.

    ``directory``: where the journal lies, '' for a hub that never has a team; ``owns``: does this hub grant in a team
    now? For a member it is of no account how old its journal is.
    """

    def __init__(self, hub: Hub, directory: str, owns: Callable[[], bool]) -> None:
        self._hub = hub
        self._directory = directory
        self._owns = owns
        self._life = secrets.token_hex(4)
        self._testimony = testimony.load(directory) if directory else testimony.Testimony()
        self._kept = dict(self._testimony.told)
        for peer, text in list(self._testimony.against.items()):
            if self._bears_out(text):
                del self._testimony.against[peer]
        # Peers that asked something since this hub started.
        self.met: set[str] = set()
        self.meeting = asyncio.Event()

    def stamp(self) -> str:
        """How far this hub's journal is; '' where it is known to be behind, so that peers go on knowing better."""
        if self._testimony.against:
            return ""
        mark = self._hub.mark
        head = mark.head[:_HEAD_DIGITS]
        return Stamp(mark.hub_id[:_ID_DIGITS], self._life, mark.incarnation, mark.seq, mark.epoch, head).text()

    def told(self, peer: str) -> str:
        """The last stamp of the peer's journal, '' if none is known."""
        return self._testimony.told.get(peer, "")

    def hear(self, peer: str, text: str) -> None:
        """The peer has answered with this stamp of its journal. Answers may overtake each other."""
        new, known = testimony.read(text), testimony.read(self.told(peer))
        if new is not None and (known is None or known.life != new.life or known.seq < new.seq):
            self._testimony.told[peer] = text

    def meet(self, peer: str) -> None:
        """The peer asks something."""
        if peer not in self.met:
            self.met.add(peer)
            self.meeting.set()

    def confirms(self, peer: str, text: str) -> bool:
        """Does this journal bear out what the peer last heard of it? If not, that is kept until it does."""
        if self._bears_out(text) or not self._owns():
            return True
        if peer not in self._testimony.against:
            log.error("the journal was put back to an earlier day: %s heard of %s, and it does not say so", peer, text)
            self._testimony.against[peer] = text
            self._write()
        return False

    def refusal(self, me: str) -> Refusal | None:
        """Why this hub, called ``me``, grants nothing that its peers have a part in, if it does not."""
        for peer, text in self._testimony.against.items():
            stamp = testimony.read(text)
            return Refusal(
                "JOURNAL_UNAVAILABLE",
                f"the journal of {me} was put back to an earlier day: {peer} heard of its event {stamp and stamp.seq}, "
                "which it does not hold. What was granted since it has forgotten, so it grants nothing in a team",
                "synapse-git hub stop; then put the newest copy of the state directory back, whole, or start again "
                "from what is there: synapse-git hub import",
            )
        return None

    def keep(self) -> None:
        """Write down what peers told, if that has changed."""
        if self._testimony.told != self._kept:
            self._write()

    def _write(self) -> None:
        self._kept = dict(self._testimony.told)
        try:
            testimony.keep(self._directory, self._testimony)
        except OSError as error:
            log.warning("what peers told of their journals cannot be kept: %s", error)

    def _bears_out(self, text: str) -> bool:
        """What cannot be read, or is of another journal, proves nothing; nor do rows that were forgotten since."""
        stamp, mark = testimony.read(text), self._hub.mark
        if stamp is None or stamp.hub_id != mark.hub_id[:_ID_DIGITS] or stamp.incarnation < mark.incarnation:
            return True
        # After a power cut the mark may lag behind rows that are there.
        if stamp.incarnation > mark.incarnation or stamp.seq > self._hub.state.seq:
            return False
        return stamp.life == self._life or self._row(stamp.seq) in ("", stamp.head)

    def _row(self, seq: int) -> str:
        with suppress(StoreError, *SQLITE_ERRORS), closing(open_reader(f"{self._directory}/journal.db")) as connection:
            return hash_of(connection, seq).hex()[:_HEAD_DIGITS]
        return ""
