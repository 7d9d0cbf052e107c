"""A state written down whole, so that a restart replays only what came after it."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
from immutables import Map

from synapse_hub.core import board, mail
from synapse_hub.core.claim import Claim
from synapse_hub.core.events.guard import ForeignEditSeen, WorktreeRegistered
from synapse_hub.core.events.names import KeyPinned, NameBound
from synapse_hub.core.events.talk import ResourceOffered
from synapse_hub.core.events.team import ReceiptKept, ReportOwed
from synapse_hub.core.names import Names
from synapse_hub.core.recent import Recent
from synapse_hub.core.state import State, hold
from synapse_hub.core.team.state import Estate, Governed, Team, UnderWay, hold_receipts


class Snapshot(msgspec.Struct, frozen=True):
    """``body`` tells the state after event ``seq``, whose hash is ``head``; ``digest`` is the body's SHA-256."""

    seq: int
    head: bytes
    digest: bytes
    body: bytes

    def whole(self) -> bool:
        """Is the body what was written?"""
        return hashlib.sha256(self.body).digest() == self.digest


class _Image(msgspec.Struct, frozen=True):
    """What the body holds. Entries of bounded tables are in order of arrival."""

    seq: int
    last_at: float
    epoch: int
    claims: list[Claim]
    worktrees: list[WorktreeRegistered]
    answers: list[tuple[tuple[str, str, str], float, tuple[str, dict[str, Any]]]]
    denials: list[tuple[str, float, None]]
    checkpoints: list[tuple[tuple[str, str], float, Any]]
    principals: list[tuple[str, float, str]]
    mail: mail.MailImage = mail.MailImage()
    notes: list[board.Note] = []
    offers: list[ResourceOffered] = []
    # Not in the snapshots of the first versions.
    foreign_edits: list[tuple[str, float, ForeignEditSeen]] = []
    governed: dict[str, Governed] = {}
    estates: dict[str, Estate] = {}
    receipts: list[ReceiptKept] = []
    under_way: list[tuple[tuple[str, str], tuple[UnderWay, ...]]] = []
    touched: list[tuple[tuple[str, str], float, None]] = []
    live_names: list[NameBound] = []
    absent_names: list[tuple[str, float, NameBound]] = []
    keys: list[tuple[str, float, KeyPinned]] = []
    owed: list[tuple[int, float, ReportOwed]] = []


def capture(state: State, head: bytes) -> Snapshot:
    """``state`` as a snapshot. It is immutable, so this may run beside the writer."""
    image = _Image(
        state.seq,
        state.last_at,
        state.epoch,
        list(state.claims.values()),
        list(state.worktrees.values()),
        list(state.answers.items()),
        list(state.denials.items()),
        list(state.checkpoints.items()),
        list(state.principals.items()),
        mail.image(state.mail),
        list(state.board.notes),
        list(state.board.offers),
        list(state.foreign_edits.items()),
        dict(state.team.governed),
        dict(state.team.estates),
        list(state.team.receipts.values()),
        list(state.team.under_way.items()),
        list(state.team.touched.items()),
        list(state.names.live.values()),
        list(state.names.absent.items()),
        list(state.names.keys.items()),
        list(state.team.owed.items()),
    )
    body = msgspec.json.encode(image)
    return Snapshot(state.seq, head, hashlib.sha256(body).digest(), body)


def restore(snapshot: Snapshot) -> State:
    """The state that was captured. Raises: msgspec.MsgspecError, where the body is not one."""
    image = msgspec.json.decode(snapshot.body, type=_Image)
    state = State(
        seq=image.seq,
        last_at=image.last_at,
        epoch=image.epoch,
        answers=Recent.of(image.answers),
        denials=Recent.of(image.denials),
        checkpoints=Recent.of(image.checkpoints),
        principals=Recent.of(image.principals),
        mail=mail.restored(image.mail),
        board=board.restored(image.notes, image.offers),
        foreign_edits=Recent.of(image.foreign_edits),
        team=hold_receipts(
            Team(
                governed=Map(image.governed),
                estates=Map(image.estates),
                under_way=Map(image.under_way),
                touched=Recent.of(image.touched),
                owed=Recent.of(image.owed),
            ),
            image.receipts,
        ),
        names=Names(
            Map({bound.agent: bound for bound in image.live_names}),
            Recent.of(image.absent_names),
            Recent.of(image.keys),
        ),
    )
    for claim in image.claims:
        state = hold(state, claim)
    worktrees = state.worktrees
    for worktree in image.worktrees:
        worktrees = worktrees.set(worktree.worktree, worktree)
    return msgspec.structs.replace(state, worktrees=worktrees)
