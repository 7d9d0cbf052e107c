"""Commands between hubs: who grants where, and what was carried to whoever does."""

from __future__ import annotations

from typing import Any

import msgspec

from synapse_hub.core.claim import Claim
from synapse_hub.core.commands.base import Command


class KeptAnswer(msgspec.Struct, frozen=True):
    """The first answer to a keyed command; as in `CommandAnswered`."""

    sender: str
    verb: str
    key: str
    digest: str
    answer: dict[str, Any]


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
