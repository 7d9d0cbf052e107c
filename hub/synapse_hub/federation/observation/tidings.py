"""What one hub tells another of its journal, as both sides read it. Pure.

Every field is named here one by one, so that nothing else of an event gets out: no principal, no checkpoint, no
evidence, and of messages only those for agents of whoever is told. Times are Unix seconds of the hub that tells them,
names are those by which the hub that is told knows agents.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import assert_never

import msgspec

from synapse_git.constants import HUB_AGENT
from synapse_git.protocol.path import WirePath
from synapse_hub.core.claim import REVOKED, Claim, TaskKey, peer_of
from synapse_hub.core.events import AnyEvent
from synapse_hub.core.events.claims import (
    ClaimGranted,
    ClaimReleased,
    LeaseExpired,
    LeaseExtended,
    TaskHandedOff,
    TaskUpdated,
)
from synapse_hub.core.events.talk import MessageSent
from synapse_hub.core.events.team import ClaimRevoked


class Tiding(msgspec.Struct, frozen=True, kw_only=True, gc=False, tag_field="kind"):
    """Base of all."""


class PictureBegun(Tiding, frozen=True, tag="picture_begun"):
    """All that is held follows: what was told before counts no more. ``picture``: to be given back on a resumption."""

    picture: str
    now: float


class PictureDone(Tiding, frozen=True, tag="picture_done"):
    """That was all; from here on come changes."""


class Present(Tiding, frozen=True, tag="present"):
    """All that happened was told; ``now``: the clock of the hub that says so, ``stamp``: how far its journal is."""

    now: float
    stamp: str = ""


class Asserted(Tiding, frozen=True, tag="asserted"):
    """``owns``: all namespaces that the hub says it owns. Spec: INV-CR-4."""

    owns: tuple[str, ...]


class ClaimHeld(Tiding, frozen=True, tag="claim_held"):
    """A claim as it stands. ``host``: the hub whose agent holds it; ``status`` is `REVOKED` of one taken away."""

    namespace: str
    task_id: str
    owner: str
    host: str
    worktree: str
    paths: tuple[WirePath, ...]
    status: str
    note: str
    epoch: int
    version: int
    granted_at: float
    lease_expires_at: float

    @property
    def key(self) -> TaskKey:
        return (self.namespace, self.task_id)


class ClaimChanged(Tiding, frozen=True, omit_defaults=True, tag="claim_changed"):
    """Of a claim only what is given here is another than before."""

    namespace: str
    task_id: str
    status: str | None = None
    note: str | None = None
    version: int | None = None
    lease_expires_at: float | None = None

    def amended(self, held: ClaimHeld) -> ClaimHeld:
        """``held`` after this."""
        fields = ("status", "note", "version", "lease_expires_at")
        given = {name: value for name in fields if (value := getattr(self, name)) is not None}
        return msgspec.structs.replace(held, **given)


class ClaimEnded(Tiding, frozen=True, tag="claim_ended"):
    """Nobody holds the task any more."""

    namespace: str
    task_id: str


class Letter(Tiding, frozen=True, omit_defaults=True, tag="letter"):
    """A message that waits for an agent of the hub that is told, ``seq`` its number where it waits.

    ``to`` '': what was said to everyone. ``origin``, ``number``: where that came from another hub, as in `MessageSent`.
    """

    seq: int
    sender: str
    to: str
    body: str
    origin: str = ""
    number: int = 0


AnyTiding = PictureBegun | PictureDone | Present | Asserted | ClaimHeld | ClaimChanged | ClaimEnded | Letter

# The kinds of events of which a peer is told anything.
TOLD_KINDS = frozenset(
    str(kind.__struct_config__.tag)
    for kind in (
        ClaimGranted,
        LeaseExtended,
        ClaimReleased,
        ClaimRevoked,
        TaskUpdated,
        TaskHandedOff,
        LeaseExpired,
        MessageSent,
    )
)


class Listener(msgspec.Struct, frozen=True):
    """The hub that is told, ``peer``. ``me``: the one that tells; ``shared``: what both have a part in; ``say``: names
    for it; ``circles``: the members of each namespace that ``me`` owns and ``peer`` is a member of.
    """

    me: str
    peer: str
    shared: Collection[str]
    say: Callable[[str], str]
    circles: Collection[Collection[str]] = ()

    def held(self, claim: Claim) -> ClaimHeld | None:
        """The claim as it is told, None of one that is not its business."""
        if claim.namespace not in self.shared:
            return None
        return ClaimHeld(
            namespace=claim.namespace,
            task_id=claim.task_id,
            owner=self.say(claim.owner),
            host=peer_of(claim.principal) or self.me,
            worktree=claim.worktree,
            paths=claim.paths,
            status=REVOKED if claim.revoked else claim.status,
            note=claim.note,
            epoch=claim.epoch,
            version=claim.version,
            granted_at=claim.granted_at,
            lease_expires_at=claim.lease_expires_at,
        )

    def letter(self, seq: int, sent: MessageSent) -> Letter | None:
        """The message as it is told, None of one for somebody else."""
        if sent.to is None:
            return self._chat(seq, sent)
        if not sent.to.startswith(f"{self.peer}/"):
            return None
        sender = sent.sender if sent.sender == HUB_AGENT else self.say(sent.sender)
        return Letter(seq=seq, sender=sender, to=self.say(sent.to), body=sent.body)

    def _chat(self, seq: int, sent: MessageSent) -> Letter | None:
        """What was said to everyone, if the peer is to hear it from the owner of a namespace that both are in."""
        hub = sent.sender.partition("/")[0] if sent.origin else self.me
        heard = sent.abroad if hub == self.me else any(hub in circle for circle in self.circles)
        if not heard or not self.circles or hub == self.peer:
            return None
        return Letter(
            seq=seq, sender=self.say(sent.sender), to="", body=sent.body, origin=sent.origin, number=sent.number
        )

    def told(self, event: AnyEvent, seq: int) -> AnyTiding | None:
        """What follows from ``event``, the ``seq``-th, for the listener, None if nothing."""
        match event:
            case MessageSent():
                return self.letter(seq, event)
            case ClaimGranted() | TaskHandedOff():
                return self.held(event.claim)
            case ClaimReleased() | LeaseExpired() if event.namespace in self.shared:
                return ClaimEnded(namespace=event.namespace, task_id=event.task_id)
            case LeaseExtended() | ClaimRevoked() | TaskUpdated() if event.namespace in self.shared:
                return _changed(event)
            case _:
                return None


def _changed(event: LeaseExtended | ClaimRevoked | TaskUpdated) -> ClaimChanged:
    changed = ClaimChanged(namespace=event.namespace, task_id=event.task_id)
    match event:
        case LeaseExtended():
            return msgspec.structs.replace(changed, lease_expires_at=event.lease_expires_at)
        case ClaimRevoked():
            return msgspec.structs.replace(changed, status=REVOKED, lease_expires_at=event.lease_expires_at)
        case TaskUpdated():
            return msgspec.structs.replace(changed, status=event.status, note=event.note, version=event.version)
    assert_never(event)
