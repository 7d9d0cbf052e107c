"""What can be asked of the hub: imperative, already parsed, with the principal the connection proved."""

from __future__ import annotations

from typing import Any

import msgspec

from synapse_hub.core.claim import Claim


class KeptAnswer(msgspec.Struct, frozen=True):
    """The first answer to a keyed command; as in `CommandAnswered`."""

    sender: str
    verb: str
    key: str
    digest: str
    answer: dict[str, Any]


class Command(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Base of all."""


class Acting(Command, frozen=True, kw_only=True):
    """Base of what is done under an agent's name. ``session``: the SHA-256 of the session secret given, '' for none.

    A name that is bound to another session refuses it before anything else is looked at.
    """

    agent: str
    session: str = ""


class TakeClaim(Acting, frozen=True, kw_only=True):
    """Claim, renew or widen. ``paths``: normalised, ``()`` the whole tree.

    None keeps what a held task has, of ``paths``, ``worktree``, ``ttl_s`` and ``note``.
    """

    principal: str
    namespace: str
    task_id: str
    worktree: str | None
    paths: tuple[str, ...] | None
    ttl_s: float | None = None
    epoch: int | None = None
    add: bool = False
    note: str | None = None


class ReleaseClaim(Acting, frozen=True, kw_only=True):
    """Give back; ``force`` takes it from whoever holds it, for the reason given."""

    namespace: str
    task_id: str
    epoch: int | None = None
    force: bool = False
    reason_text: str = ""


class UpdateTask(Acting, frozen=True, kw_only=True):
    namespace: str
    task_id: str
    epoch: int | None = None
    expected_version: int | None = None
    status: str | None = None
    note: str | None = None


class HandOff(Acting, frozen=True, kw_only=True):
    namespace: str
    task_id: str
    to: str
    epoch: int | None = None


class SaveCheckpoint(Acting, frozen=True, kw_only=True):
    """``data``: any JSON value; null clears."""

    namespace: str
    task_id: str
    data: Any
    epoch: int | None = None


class Heartbeat(Acting, frozen=True, kw_only=True):
    """Extend all live claims of an agent."""


class ExtendLeases(Command, frozen=True):
    """Activity seen on these tasks, each as (namespace, task id)."""

    agent: str
    tasks: tuple[tuple[str, str], ...]


class ExpireDue(Command, frozen=True):
    """Write down leases that are over, each as (namespace, task id)."""

    tasks: tuple[tuple[str, str], ...]


class YieldClaims(Command, frozen=True):
    """These go on at another hub, each as (namespace, task id): end them here."""

    tasks: tuple[tuple[str, str], ...]


class AdoptClaims(Command, frozen=True):
    """These go on in ``namespace``, each as (namespace, task id); ``shared``: on the tree that its checkouts share."""

    namespace: str
    shared: bool
    tasks: tuple[tuple[str, str], ...]


class ClaimEdit(Acting, frozen=True, kw_only=True):
    """An edit is about to be made: refuse it, or claim for its author what of ``paths`` nobody covers yet.

    ``unclaimed``: what to say where nothing can be claimed.
    """

    principal: str
    namespace: str
    worktree: str
    paths: tuple[str, ...]
    unclaimed: str = "allow"


class ReanchorLeases(Command, frozen=True):
    """The clock that everything was written down by was ``ahead_s`` seconds ahead: what is left of leases stays."""

    ahead_s: float


class RecordDenial(Command, frozen=True):
    """Evidence of a refused change: ``paths`` the first of ``paths_total``, ``tasks`` what was in the way.

    ``moved``: it had happened already.
    """

    agent: str
    namespace: str
    worktree: str
    action: str
    paths: tuple[str, ...]
    paths_total: int
    tasks: tuple[tuple[str, str], ...]
    moved: bool = False


class RecordOverride(Command, frozen=True):
    agent: str
    namespace: str
    worktree: str
    action: str
    paths: tuple[str, ...]
    reason_text: str
    spooled_at: float | None = None


class RecordForeignEdit(Command, frozen=True):
    """Evidence of a change in others' scopes that a watcher found; ``agent`` '' where nobody knows who made it.

    ``owner``: who holds the tasks, where another hub grants and only that one knows.
    """

    agent: str
    namespace: str
    worktree: str
    paths: tuple[str, ...]
    paths_total: int
    tasks: tuple[tuple[str, str], ...]
    quarantine: str = ""
    owner: str = ""


class RegisterWorktree(Command, frozen=True):
    worktree: str
    root: str
    repository: str
    namespace: str
    branch: str
    agent: str
    layers: tuple[str, ...]


class SendMessage(Acting, frozen=True, kw_only=True):
    """``to`` None: to everyone. ``reached``: a session of the recipient is open now (Spec: INV-DG-3).

    ``origin``, ``number``: as in `MessageSent`.
    """

    to: str | None
    body: str
    client_msg_id: str | None = None
    client_timestamp: float | None = None
    reached: bool = False
    origin: str = ""
    number: int = 0


class Acknowledge(Acting, frozen=True, kw_only=True):
    """``agent`` has what was said up to event ``seq``."""

    seq: int


class AddNote(Acting, frozen=True, kw_only=True):
    """``task_id`` '' is about none."""

    namespace: str
    task_id: str
    text: str


class OfferResource(Acting, frozen=True, kw_only=True):
    namespace: str
    name: str
    note: str
    ttl_s: float


class WithdrawResource(Acting, frozen=True, kw_only=True):
    namespace: str
    name: str


class GovernNamespace(Command, frozen=True):
    """``hub.toml`` says who owns it; ``mine``: this hub does."""

    namespace: str
    owner: str
    mine: bool
    remotes: tuple[str, ...]
    exclusion: str
    term: int = 0


class CedeNamespace(Command, frozen=True):
    """Grant in it no more, in favour of ``owner``; ``deed``: as in `NamespaceCeded`."""

    namespace: str
    owner: str
    term: int
    deed: dict[str, str]


class ConfirmDelivery(Command, frozen=True):
    """The next owner has it all."""

    namespace: str
    term: int


class InheritNamespace(Command, frozen=True):
    """All that was held at ``giver``, for ``owner``, this hub, to grant beside.

    Names and principals are as this hub calls them; instants of claims count from the moment it is carried out.
    ``checkpoints``: of ended claims, by task id.
    """

    namespace: str
    owner: str
    giver: str
    term: int
    epoch: int
    claims: tuple[Claim, ...]
    answers: tuple[KeptAnswer, ...]
    checkpoints: tuple[tuple[str, Any], ...] = ()


class FreeNamespace(Command, frozen=True):
    """Leave its team."""

    namespace: str


class HearAssertion(Command, frozen=True):
    """The peer ``by`` says whether it owns the namespace."""

    namespace: str
    by: str
    owns: bool


class ForwardClaim(Command, frozen=True):
    """``verb`` under ``key`` is about to be sent to the owner, and again for up to ``patience_s``."""

    namespace: str
    task_id: str
    agent: str
    verb: str
    key: str
    wall: float
    patience_s: float


class SettleForward(Command, frozen=True):
    """The owner answered ``key`` with a refusal, or (``ended``) with the end of the claim."""

    namespace: str
    task_id: str
    key: str
    ended: bool


class KeepReceipt(Command, frozen=True):
    """The owner answered ``key`` with this claim; fields as in `ReceiptKept`."""

    claim: Claim
    hub_id: str
    owner_seq: int
    valid_until: float
    valid_until_wall: float
    boot_id: str
    key: str = ""


class RefreshReceipts(Command, frozen=True):
    """All that ``owner`` says this hub's agents hold in the namespaces, asked at ``sent_at`` by the lease clock and at
    ``wall`` by the other.

    ``revoked``: what it took away, each as (namespace, task id, epoch).
    """

    namespaces: tuple[str, ...]
    held: tuple[KeepReceipt, ...]
    revoked: tuple[tuple[str, str, int], ...]
    sent_at: float
    wall: float
    owner: str = ""


class SettleReport(Command, frozen=True):
    """The report that is event ``number`` needs to be told no more."""

    number: int


TeamCommand = (
    GovernNamespace
    | FreeNamespace
    | HearAssertion
    | ForwardClaim
    | SettleForward
    | KeepReceipt
    | RefreshReceipts
    | CedeNamespace
    | ConfirmDelivery
    | SettleReport
)


class BindName(Command, frozen=True):
    """Let a session have a name. ``key``: the Ed25519 key (base64) that it has proven to have, '' for none."""

    agent: str
    principal: str
    secret_sha256: str
    key: str = ""


class EndSessions(Command, frozen=True):
    """These sessions are no longer connected, each as (name, digest of its secret)."""

    sessions: tuple[tuple[str, str], ...]


class ReleaseName(Acting, frozen=True):
    """A session gives its name up."""


class ReclaimName(Command, frozen=True):
    """The user ``principal`` takes a name back from whatever session owns it."""

    agent: str
    principal: str


class ProbeJournal(Command, frozen=True):
    """Nothing but a trip through the write path, for health."""


TalkCommand = SendMessage | Acknowledge | AddNote | OfferResource | WithdrawResource
NameCommand = BindName | EndSessions | ReleaseName | ReclaimName
FamilyCommand = TakeClaim | ReleaseClaim | UpdateTask | HandOff | SaveCheckpoint


class Keyed(Command, frozen=True):
    """``command`` with an idempotency key; ``digest`` tells two requests under one key apart. Spec: INV-CR-1."""

    sender: str
    verb: str
    key: str
    digest: str
    command: FamilyCommand | RecordOverride | RecordForeignEdit


AnyCommand = (
    FamilyCommand
    | Heartbeat
    | ExtendLeases
    | ExpireDue
    | YieldClaims
    | AdoptClaims
    | ClaimEdit
    | ReanchorLeases
    | RecordDenial
    | RecordOverride
    | RecordForeignEdit
    | RegisterWorktree
    | TeamCommand
    | InheritNamespace
    | TalkCommand
    | NameCommand
    | ProbeJournal
    | Keyed
)
