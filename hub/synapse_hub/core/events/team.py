"""Which hub grants in a namespace, and what owners answered to this one. Spec: INV-MH-1, INV-CR-4."""

from __future__ import annotations

from typing import Any

from synapse_hub.core.claim import Claim
from synapse_hub.core.events.base import Event


class NamespaceGoverned(Event, frozen=True, tag="namespace_governed"):
    """One hub grants in it: ``owner``, this one (``mine``) or a peer. Stands until it is freed. Spec: INV-MH-1."""

    namespace: str
    owner: str
    mine: bool
    remotes: tuple[str, ...]
    exclusion: str
    # Rises with each change of owner.
    term: int = 0


class NamespaceCeded(Event, frozen=True, tag="namespace_ceded"):
    """The tombstone: this hub grants in it no more, and ``owner`` will once it has what is held in it.

    ``term``: the next owner's; ``deed``: its title to it, signed by this hub, as the others are shown it.
    """

    namespace: str
    owner: str
    term: int
    deed: dict[str, str]


class NamespaceDelivered(Event, frozen=True, tag="namespace_delivered"):
    """The next owner has said that it has all that was held in it."""

    namespace: str
    term: int


class NamespaceInherited(Event, frozen=True, tag="namespace_inherited"):
    """This hub, ``owner``, grants in it from now on; what was held in it at ``giver`` stands beside this.

    ``epoch``: the highest that the giver ever stamped.
    """

    namespace: str
    owner: str
    giver: str
    term: int
    epoch: int


class CheckpointInherited(Event, frozen=True, tag="checkpoint_inherited"):
    """What an ended claim left on the task at the owner before. Spec: INV-CR-3."""

    namespace: str
    task_id: str
    data: Any


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


class ReportOwed(Event, frozen=True, tag="report_owed"):
    """What went in here against claims that another hub grants: to be told to it, whenever it can be reached.

    ``route``: where it takes such reports, ``/v2/overrides`` or ``/v2/foreign_edits``; ``body``: what is sent there.
    """

    namespace: str
    route: str
    body: dict[str, Any]


class ReportSettled(Event, frozen=True, tag="report_settled"):
    """The report that is event ``number`` is told, or nobody is left to be told."""

    number: int


class ClaimRevoked(Event, frozen=True, tag="claim_revoked"):
    """A claim of a peer's agent was taken away; its scope is free once the peer knows, or at ``lease_expires_at``."""

    namespace: str
    task_id: str
    owner: str
    epoch: int
    by: str
    reason_text: str
    lease_expires_at: float


TeamEvent = (
    NamespaceGoverned
    | NamespaceCeded
    | NamespaceDelivered
    | NamespaceInherited
    | CheckpointInherited
    | NamespaceFreed
    | OwnershipContested
    | OwnershipSettled
    | ClaimForwarded
    | ForwardSettled
    | ReceiptKept
    | ReceiptEnded
    | ReportOwed
    | ReportSettled
    | ClaimRevoked
)
