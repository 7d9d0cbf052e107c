"""Decisions on what a hub knows of its team. Pure; none of them grants anything. Spec: INV-MH-2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from synapse_git.constants import MAX_FORWARDS_UNDER_WAY, RECEIPT_VALIDITY_SECONDS
from synapse_hub.core.commands.team import (
    CedeNamespace,
    ConfirmDelivery,
    ForwardClaim,
    FreeNamespace,
    GovernNamespace,
    HearAssertion,
    KeepReceipt,
    RefreshReceipts,
    SettleForward,
    SettleReport,
    TeamCommand,
)
from synapse_hub.core.events import AnyEvent
from synapse_hub.core.events.team import (
    ClaimForwarded,
    ForwardSettled,
    NamespaceFreed,
    NamespaceGoverned,
    OwnershipContested,
    OwnershipSettled,
    ReceiptEnded,
    ReceiptKept,
    ReportSettled,
)
from synapse_hub.core.outcome import Decided, Outcome, Refusal
from synapse_hub.core.team.state import Governed, Team
from synapse_hub.core.team.transfer import decide_cede, decide_delivered


def decide_team(team: Team, command: TeamCommand, now: float) -> Outcome:
    """What ``command`` comes to."""
    match command:
        case GovernNamespace():
            return _govern(team, command, now)
        case FreeNamespace():
            known = command.namespace in team.governed
            return Decided([NamespaceFreed(at=now, namespace=command.namespace)] if known else [], {})
        case HearAssertion():
            return _hear(team, command, now)
        case ForwardClaim():
            return _forward(team, command, now)
        case SettleForward():
            settled = ForwardSettled(
                at=now, namespace=command.namespace, task_id=command.task_id, key=command.key, ended=command.ended
            )
            return Decided([settled], {})
        case KeepReceipt():
            return Decided([_kept(team, command, now)], {})
        case RefreshReceipts():
            return _refresh(team, command, now)
        case CedeNamespace():
            return decide_cede(team, command, now)
        case ConfirmDelivery():
            return decide_delivered(team, command, now)
        case SettleReport():
            owed = team.owed.get(command.number)
            return Decided([ReportSettled(at=now, number=command.number)] if owed else [], {})
    assert_never(command)


def _forward(team: Team, command: ForwardClaim, now: float) -> Outcome:
    """Refuses with QUOTA_EXCEEDED: what is under way suspends receipts, so none of it may be forgotten early."""
    if len(team.under_way) >= MAX_FORWARDS_UNDER_WAY:
        return Refusal(
            "QUOTA_EXCEEDED", f"{len(team.under_way)} requests to owners have no answer yet", "Try again later"
        )
    event = ClaimForwarded(
        at=now,
        namespace=command.namespace,
        task_id=command.task_id,
        agent=command.agent,
        verb=command.verb,
        key=command.key,
        wall=command.wall,
        patience_s=command.patience_s,
    )
    return Decided([event], {})


def _govern(team: Team, command: GovernNamespace, now: float) -> Decided:
    known = team.governed.get(command.namespace)
    told = (command.owner, command.mine, command.remotes, command.exclusion, command.term)
    if known and (known.owner, known.mine, known.remotes, known.exclusion, known.term) == told:
        return Decided([], {})
    if known and _outdated(known, command):
        return Decided([], {})
    event = NamespaceGoverned(
        at=now,
        namespace=command.namespace,
        owner=command.owner,
        mine=command.mine,
        remotes=command.remotes,
        exclusion=command.exclusion,
        term=command.term,
    )
    return Decided([event], {})


def _outdated(known: Governed, command: GovernNamespace) -> bool:
    """What has changed hands does not go back by a line in a file."""
    same = (command.term, command.owner) == (known.term, known.owner)
    return known.term > 0 and command.term <= known.term and not same


def _hear(team: Team, command: HearAssertion, now: float) -> Decided:
    """Spec: INV-CR-4. Healed by nothing but the word of whoever contested it."""
    if not contests(team, command):
        return Decided([], {})
    kind = OwnershipContested if command.owns else OwnershipSettled
    return Decided([kind(at=now, namespace=command.namespace, by=command.by)], {})


def contests(team: Team, command: HearAssertion) -> bool:
    """Is it news, whether ``by`` owns what another hub owns as far as this one knows?"""
    known = team.governed.get(command.namespace)
    return known is not None and command.by != known.owner and command.owns != (command.by in known.contested_by)


def _kept(team: Team, command: KeepReceipt, now: float) -> ReceiptKept | ForwardSettled:
    """Of what is this hub's own by now, it knows better than the hub that answered."""
    namespace, task_id = command.claim.key
    known = team.governed.get(namespace)
    if known is not None and known.mine:
        return ForwardSettled(at=now, namespace=namespace, task_id=task_id, key=command.key, ended=False)
    return _receipt(command, now)


def _receipt(command: KeepReceipt, now: float) -> ReceiptKept:
    return ReceiptKept(
        at=now,
        claim=command.claim,
        hub_id=command.hub_id,
        owner_seq=command.owner_seq,
        valid_until=command.valid_until,
        valid_until_wall=command.valid_until_wall,
        boot_id=command.boot_id,
        key=command.key,
    )


def _refresh(team: Team, command: RefreshReceipts, now: float) -> Decided:
    """What the owner listed counts, but for tasks about which something was said since, or may still reach it."""
    if now > command.sent_at + RECEIPT_VALIDITY_SECONDS:
        return Decided([], {})
    told = {one.claim.key: one for one in command.held if _authority(team, one.claim.namespace, command.owner)}
    namespaces = [name for name in command.namespaces if _authority(team, name, command.owner)]
    revoked = {(namespace, task_id): epoch for namespace, task_id, epoch in command.revoked}
    events: list[AnyEvent] = list(_lapsed(team, command, now))
    doubtful = {
        task for task, begun in team.under_way.items() if any(one.open(command.sent_at, command.wall) for one in begun)
    }
    doubtful |= {task for task, at, _ in team.touched.items() if at >= command.sent_at}
    for key, one in told.items():
        if key not in doubtful and _older(team, key, one, command.sent_at):
            events.append(_receipt(one, now))
    for key, receipt in team.receipts.items():
        if key in told or key[0] not in namespaces:
            continue
        if receipt.claim.epoch <= revoked.get(key, 0):
            events.append(ReceiptEnded(at=now, namespace=key[0], task_id=key[1], cause="revoked"))
        elif receipt.at <= command.sent_at and key not in doubtful:
            events.append(ReceiptEnded(at=now, namespace=key[0], task_id=key[1], cause="ended"))
    return Decided(events, {})


def _lapsed(team: Team, command: RefreshReceipts, now: float) -> Iterator[ForwardSettled]:
    """Commands that never got an answer, and that the owner would not take any more."""
    for (namespace, task_id), begun in team.under_way.items():
        for one in begun:
            if namespace in command.namespaces and not one.open(command.sent_at, command.wall):
                yield ForwardSettled(at=now, namespace=namespace, task_id=task_id, key=one.key, ended=False)


def _authority(team: Team, namespace: str, owner: str) -> bool:
    """Does the word of ``owner`` count there? It may have given it away since it was asked."""
    known = team.governed.get(namespace)
    return known is None or (not known.mine and owner in ("", known.owner))


def _older(team: Team, key: tuple[str, str], told: KeepReceipt, sent_at: float) -> bool:
    """Is what we know of ``key`` older than what the owner told? Two owners count apart."""
    known = team.receipts.get(key)
    if known is None:
        return True
    return known.at <= sent_at and (known.owner_seq <= told.owner_seq or known.hub_id != told.hub_id)


def forbidden(team: Team, namespace: str) -> Refusal | None:
    """Why this hub must not grant in ``namespace``, whatever else is asked of it. Spec: INV-MH-1, INV-CR-4."""
    known = team.governed.get(namespace)
    if known is None:
        return None
    if known.contested_by:
        return contested(namespace, known.owner, known.contested_by)
    if not known.mine:
        return Refusal("UNGOVERNED", f"{namespace} is owned by {known.owner}, so nothing is granted in it here")
    return None


def contested(namespace: str, owner: str, by: tuple[str, ...]) -> Refusal:
    """Spec: INV-CR-4."""
    return Refusal(
        "CONTESTED",
        f"{namespace} is owned by {owner}, and {', '.join(by)} says the same of itself",
        "Nobody grants in it until one of them gives it up: a hub that owns it no more, since another took over while "
        f"it was away, leaves (synapse-git team leave {namespace}) and joins the other's team",
    )
