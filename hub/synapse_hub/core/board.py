"""The blackboard: notes on progress, and resources that agents offer each other for a while.

Both are bounded here, live, in a replay and after a snapshot alike (Spec: INV-RR-2). Advice for agents: nothing is
granted from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from synapse_git.constants import (
    MAX_AGENT_NOTES,
    MAX_NOTES,
    MAX_RESOURCES,
    MAX_TASK_NOTES,
    MAXIMUM_TTL_SECONDS,
    NOTE_RETENTION_SECONDS,
)
from synapse_hub.core.events.talk import NoteAdded, ResourceOffered, ResourceWithdrawn


class Note(msgspec.Struct, frozen=True, gc=False):
    """``seq``: its number, that of its event."""

    seq: int
    added: NoteAdded

    def document(self) -> dict[str, Any]:
        """As it stands on the wire."""
        added = self.added
        return {
            "seq": self.seq,
            "agent": added.agent,
            "namespace": added.namespace,
            "task_id": added.task_id,
            "text": added.text,
            "at": added.at,
        }


class Board(msgspec.Struct, frozen=True):
    """``notes`` and ``offers``, oldest first; an offer that ended may still stand there."""

    notes: tuple[Note, ...] = ()
    offers: tuple[ResourceOffered, ...] = ()

    def open_offers(self, now: float) -> Iterator[ResourceOffered]:
        """Those that have not ended; what a clock gone wild offered has."""
        return (offer for offer in self.offers if now < offer.expires_at <= now + MAXIMUM_TTL_SECONDS)

    def said_last(self, agent: str) -> NoteAdded | None:
        """The newest note of ``agent``."""
        return next((note.added for note in reversed(self.notes) if note.added.agent == agent), None)


def offer_document(offer: ResourceOffered) -> dict[str, Any]:
    """As it stands on the wire."""
    return {
        "agent": offer.agent,
        "namespace": offer.namespace,
        "name": offer.name,
        "note": offer.note,
        "offered_at": offer.at,
        "expires_at": offer.expires_at,
    }


def noted(board: Board, seq: int, added: NoteAdded) -> Board:
    """``board`` with one more note. The oldest goes: of the task, of the agent, of all."""
    notes = [note for note in board.notes if note.added.at > added.at - NOTE_RETENTION_SECONDS]
    notes.append(Note(seq, added))
    if added.task_id:
        notes = _at_most(MAX_TASK_NOTES, notes, [note for note in notes if _task(note.added) == _task(added)])
    notes = _at_most(MAX_AGENT_NOTES, notes, [note for note in notes if note.added.agent == added.agent])
    return msgspec.structs.replace(board, notes=tuple(notes[-MAX_NOTES:]))


def _task(added: NoteAdded) -> tuple[str, str]:
    return (added.namespace, added.task_id)


def _at_most(most: int, notes: list[Note], group: list[Note]) -> list[Note]:
    """``notes`` with only the newest ``most`` of ``group``, which is part of it."""
    over = {note.seq for note in group[: max(len(group) - most, 0)]}
    return [note for note in notes if note.seq not in over] if over else notes


def offered(board: Board, offer: ResourceOffered) -> Board:
    """``board`` with ``offer`` in the place of an earlier one of the same agent and name, and without what ended."""
    return msgspec.structs.replace(board, offers=(*_others(board, offer), offer)[-MAX_RESOURCES:])


def withdrawn(board: Board, event: ResourceWithdrawn) -> Board:
    """``board`` without that offer, and without what ended."""
    return msgspec.structs.replace(board, offers=tuple(_others(board, event)))


def _others(board: Board, one: ResourceOffered | ResourceWithdrawn) -> Iterator[ResourceOffered]:
    return (offer for offer in board.open_offers(one.at) if _resource(offer) != _resource(one))


def _resource(one: ResourceOffered | ResourceWithdrawn) -> tuple[str, str, str]:
    return (one.namespace, one.agent, one.name)


def restored(notes: Iterable[Note], offers: Iterable[ResourceOffered]) -> Board:
    """The board that was written down, within today's bounds."""
    board = Board()
    for note in notes:
        board = noted(board, note.seq, note.added)
    for offer in offers:
        board = offered(board, offer)
    return board
