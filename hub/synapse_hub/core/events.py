"""What happened: the facts that the journal stores and from which alone the state is made.

A kind, once written, is never renamed and a field never changes its meaning; a new field has a default.
"""

from __future__ import annotations

from typing import Any

import msgspec

from synapse_git.protocol import WirePath
from synapse_hub.core.claim import Claim


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False, tag_field="kind"):
    """Base of all. ``at``: the lease clock's instant at which it was decided."""

    at: float


class ClaimGranted(Event, frozen=True, tag="claim_granted"):
    """A new claim, a renewal or a takeover after expiry, as ``cause`` says. Spec: INV-EF-1."""

    claim: Claim
    cause: str


class LeaseExtended(Event, frozen=True, tag="lease_extended"):
    """Activity moved the expiry; epoch and version stand."""

    namespace: str
    task_id: str
    lease_expires_at: float


class ClaimReleased(Event, frozen=True, tag="claim_released"):
    """Given back, or taken away (``forced``) by ``by`` for the reason in ``reason_text``."""

    namespace: str
    task_id: str
    owner: str
    by: str
    forced: bool = False
    reason_text: str = ""


class TaskUpdated(Event, frozen=True, tag="task_updated"):
    """Spec: INV-EF-3."""

    namespace: str
    task_id: str
    version: int
    status: str
    note: str


class TaskHandedOff(Event, frozen=True, tag="task_handed_off"):
    """``claim`` is the recipient's, with a fresh epoch. Spec: INV-CR-2."""

    giver: str
    claim: Claim


class CheckpointSaved(Event, frozen=True, tag="checkpoint_saved"):
    """Spec: INV-CR-3."""

    namespace: str
    task_id: str
    data: Any


class LeaseExpired(Event, frozen=True, tag="lease_expired"):
    """Spec: INV-LL-2."""

    namespace: str
    task_id: str
    owner: str
    epoch: int


class Holder(msgspec.Struct, frozen=True, gc=False):
    """Who was in the way, in evidence."""

    namespace: str
    task_id: str
    owner: str


class ClaimDenied(Event, frozen=True, tag="claim_denial"):
    """Evidence that a claim was refused; touches no lease. Spec: INV-RR-3."""

    agent: str
    namespace: str
    task_id: str
    worktree: str
    reason: str
    paths: tuple[WirePath, ...]
    holders: tuple[Holder, ...]


class GuardDenied(Event, frozen=True, tag="guard_denial"):
    """Evidence that a change was refused; ``paths`` are the first of ``paths_total``. Spec: INV-RR-3.

    ``moved``: nothing was refused, the files had changed already.
    """

    agent: str
    namespace: str
    worktree: str
    action: str
    paths: tuple[WirePath, ...]
    paths_total: int
    holders: tuple[Holder, ...]
    moved: bool = False


class GuardOverridden(Event, frozen=True, tag="guard_override"):
    """A change went in against the guard, with the reason its author gave; ``spooled_at`` when no hub was there."""

    agent: str
    namespace: str
    worktree: str
    action: str
    paths: tuple[WirePath, ...]
    paths_total: int
    reason_text: str
    holders: tuple[Holder, ...]
    spooled_at: float | None = None


class MessageSent(Event, frozen=True, tag="message_sent"):
    """A message; its number is the event's own. ``to`` None: to everyone. Spec: INV-DG-1, INV-DG-3, INV-CK-1.

    ``delivered``: a session of the recipient was open then, which says nothing about its being read.
    ``client_timestamp`` is the sender's word and orders nothing. ``about``: of the hub's own, what is not to be said
    again for a while.
    """

    sender: str
    to: str | None
    body: str
    client_msg_id: str | None = None
    client_timestamp: float | None = None
    delivered: bool = False
    about: str = ""


class MessageAcknowledged(Event, frozen=True, tag="message_acknowledged"):
    """``agent`` has what was said up to event ``seq``: its watermark. Spec: INV-DG-3."""

    agent: str
    seq: int


class NoteAdded(Event, frozen=True, tag="note_added"):
    """A note on progress, for the board; ``task_id`` '' is about none."""

    agent: str
    namespace: str
    task_id: str
    text: str


class ResourceOffered(Event, frozen=True, tag="resource_offered"):
    """Something others may use until ``expires_at``, by the lease clock."""

    agent: str
    namespace: str
    name: str
    note: str
    expires_at: float


class ForeignEditSeen(Event, frozen=True, tag="foreign_edit"):
    """Evidence of a change inside another's live scope that nothing stopped; ``agent`` '' is whoever it was.

    ``quarantine``: under which name what was found is kept, where the holder's content was put back.
    """

    agent: str
    namespace: str
    worktree: str
    paths: tuple[WirePath, ...]
    paths_total: int
    holders: tuple[Holder, ...]
    quarantine: str = ""


class WorktreeRegistered(Event, frozen=True, tag="worktree_registered"):
    """What a client says about a checkout: shown, never granted from."""

    worktree: str
    root: WirePath
    repository: str
    namespace: str
    branch: str
    agent: str
    layers: tuple[str, ...]


class NameBound(Event, frozen=True, tag="name_bound"):
    """A session took the name, or came back to it; ``secret_sha256``: the digest of its secret, in hexadecimal."""

    agent: str
    principal: str
    secret_sha256: str


class NameDisconnected(Event, frozen=True, tag="name_disconnected"):
    """The session of the name is gone. It may come back until the name's lease has run out."""

    agent: str


class NameReleased(Event, frozen=True, tag="name_released"):
    """The session of the name gave it up: it is free at once. A key that is pinned to it stays pinned."""

    agent: str


class NameReclaimed(Event, frozen=True, tag="name_reclaimed"):
    """The name's own user took it back: no session owns it any more, and no key is pinned to it."""

    agent: str
    principal: str


class KeyPinned(Event, frozen=True, tag="key_pinned"):
    """From now on only who has this Ed25519 key (base64 of its 32 bytes) may bind the name."""

    agent: str
    principal: str
    key: str


class CommandAnswered(Event, frozen=True, tag="command_answered"):
    """The first answer to a keyed command, kept so that a retry gets it again. Spec: INV-CR-1."""

    sender: str
    verb: str
    key: str
    digest: str
    answer: dict[str, Any]


class NamespaceGoverned(Event, frozen=True, tag="namespace_governed"):
    """One hub grants in it: ``owner``, this one (``mine``) or a peer. Stands until it is freed. Spec: INV-MH-1."""

    namespace: str
    owner: str
    mine: bool
    remotes: tuple[str, ...]
    exclusion: str


class NamespaceFreed(Event, frozen=True, tag="namespace_freed"):
    """This hub left the team of the namespace."""

    namespace: str


class OwnershipContested(Event, frozen=True, tag="ownership_contested"):
    """The peer ``by`` says that it owns what another hub owns as far as this one knows. Spec: INV-CR-4."""

    namespace: str
    by: str


class OwnershipSettled(Event, frozen=True, tag="ownership_settled"):
    """The peer ``by`` has said that it does not own the namespace after all."""

    namespace: str
    by: str


class ClaimForwarded(Event, frozen=True, tag="claim_forwarded"):
    """A command is about to be sent to the owner; what was known of the task does not count until it answers.

    ``wall``: the wall clock's instant, for signatures are dated by it; ``patience_s``: for how long it is sent again.
    """

    namespace: str
    task_id: str
    agent: str
    verb: str
    key: str
    wall: float
    patience_s: float


class ForwardSettled(Event, frozen=True, tag="forward_settled"):
    """The owner refused the command ``key``, or answered that the claim is over: the task is as it was, or not held."""

    namespace: str
    task_id: str
    key: str
    ended: bool


class ReceiptKept(Event, frozen=True, tag="receipt_kept"):
    """The owner answered that an agent of this hub holds ``claim``, its expiry told by this hub's clock.

    The receipt covers changes until ``valid_until`` by the lease clock and ``valid_until_wall`` by the wall clock, in
    the boot ``boot_id``. ``owner_seq``: the owner's event it was told at; ``key``: the command, '' for a refresh.
    """

    claim: Claim
    hub_id: str
    owner_seq: int
    valid_until: float
    valid_until_wall: float
    boot_id: str
    key: str = ""


class ReceiptEnded(Event, frozen=True, tag="receipt_ended"):
    """The owner no longer knows the claim, or took it away (``revoked``)."""

    namespace: str
    task_id: str
    cause: str


class ClaimRevoked(Event, frozen=True, tag="claim_revoked"):
    """A claim of a peer's agent was taken away; its scope is free once the peer knows, or at ``lease_expires_at``."""

    namespace: str
    task_id: str
    owner: str
    epoch: int
    by: str
    reason_text: str
    lease_expires_at: float


class IncarnationStarted(Event, frozen=True, tag="incarnation_started"):
    """The journal was imported or repaired: epochs go on above ``epoch``, and ``seq`` from ``first_seq``, this row."""

    incarnation: int
    epoch: int
    first_seq: int
    source: str


AnyEvent = (
    ClaimGranted
    | LeaseExtended
    | ClaimReleased
    | TaskUpdated
    | TaskHandedOff
    | CheckpointSaved
    | LeaseExpired
    | ClaimDenied
    | GuardDenied
    | GuardOverridden
    | MessageSent
    | MessageAcknowledged
    | NoteAdded
    | ResourceOffered
    | ForeignEditSeen
    | WorktreeRegistered
    | NamespaceGoverned
    | NamespaceFreed
    | OwnershipContested
    | OwnershipSettled
    | ClaimForwarded
    | ForwardSettled
    | ReceiptKept
    | ReceiptEnded
    | ClaimRevoked
    | NameBound
    | NameDisconnected
    | NameReleased
    | NameReclaimed
    | KeyPinned
    | CommandAnswered
    | IncarnationStarted
)

KINDS: dict[str, type[AnyEvent]] = {
    str(kind.__struct_config__.tag): kind
    for kind in (
        ClaimGranted,
        LeaseExtended,
        ClaimReleased,
        TaskUpdated,
        TaskHandedOff,
        CheckpointSaved,
        LeaseExpired,
        ClaimDenied,
        GuardDenied,
        GuardOverridden,
        MessageSent,
        MessageAcknowledged,
        NoteAdded,
        ResourceOffered,
        ForeignEditSeen,
        WorktreeRegistered,
        NamespaceGoverned,
        NamespaceFreed,
        OwnershipContested,
        OwnershipSettled,
        ClaimForwarded,
        ForwardSettled,
        ReceiptKept,
        ReceiptEnded,
        ClaimRevoked,
        NameBound,
        NameDisconnected,
        NameReleased,
        NameReclaimed,
        KeyPinned,
        CommandAnswered,
        IncarnationStarted,
    )
}


# Kinds that are evidence: kept when what they stand among is compacted.
AUDIT_KINDS = (
    "claim_denial",
    "guard_denial",
    "guard_override",
    "foreign_edit",
    "lease_expired",
    "claim_released",
    "claim_revoked",
    "namespace_governed",
    "namespace_freed",
    "ownership_contested",
    "ownership_settled",
    "name_reclaimed",
    "incarnation_started",
)


def kind_of(event: AnyEvent) -> str:
    return str(type(event).__struct_config__.tag)


def expired(claim: Claim, at: float) -> LeaseExpired:
    return LeaseExpired(at=at, namespace=claim.namespace, task_id=claim.task_id, owner=claim.owner, epoch=claim.epoch)
