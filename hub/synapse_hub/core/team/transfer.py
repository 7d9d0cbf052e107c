"""Decisions on a namespace that changes its owner. At no instant do two hubs grant in it. Pure. Spec: INV-MH-1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from synapse_git.constants import MAX_IDEMPOTENCY_KEYS
from synapse_hub.core.claim import Claim
from synapse_hub.core.commands.team import CedeNamespace, ConfirmDelivery, InheritNamespace
from synapse_hub.core.events import AnyEvent
from synapse_hub.core.events.claims import ClaimGranted
from synapse_hub.core.events.team import (
    CheckpointInherited,
    NamespaceCeded,
    NamespaceDelivered,
    NamespaceInherited,
)
from synapse_hub.core.events.upkeep import CommandAnswered
from synapse_hub.core.outcome import Decided, Outcome, Refusal
from synapse_hub.core.recent import Recent
from synapse_hub.core.team.state import Team

if TYPE_CHECKING:
    from synapse_hub.core.state import Answer, AnswerKey


def decide_cede(team: Team, command: CedeNamespace, now: float) -> Outcome:
    """The old owner's tombstone, which nothing but an inheritance takes back.

    Refuses with UNGOVERNED, CONTESTED, and INVALID_REQUEST where the term is not the next one.
    """
    known = team.governed.get(command.namespace)
    if known is None or not known.mine:
        return Refusal("UNGOVERNED", f"{command.namespace} is not this hub's to give")
    if known.contested_by:
        return Refusal("CONTESTED", f"{', '.join(known.contested_by)} says that it owns {command.namespace} as well")
    if command.term != known.term + 1 or command.owner == known.owner:
        return Refusal("INVALID_REQUEST", f"the next term of {command.namespace} is {known.term + 1}, another hub's")
    event = NamespaceCeded(
        at=now, namespace=command.namespace, owner=command.owner, term=command.term, deed=command.deed
    )
    return Decided([event], {})


def decide_delivered(team: Team, command: ConfirmDelivery, now: float) -> Decided:
    """Said twice it is no news."""
    known = team.governed.get(command.namespace)
    if known is None or known.term != command.term or command.namespace not in team.estates:
        return Decided([], {})
    return Decided([NamespaceDelivered(at=now, namespace=command.namespace, term=command.term)], {})


def inherits(team: Team, namespace: str, giver: str, term: int) -> Refusal | bool:
    """May this hub take over from ``giver``? False where it has done so already, whatever became of it since."""
    known = team.governed.get(namespace)
    if known is not None and known.term >= term:
        return False
    if known is None or known.owner != giver:
        owner = known.owner if known else "nobody"
        return Refusal(
            "NOT_AUTHORISED", f"{namespace} is not {giver}'s to give, but {owner}'s, as far as is known here"
        )
    if known.contested_by:
        return Refusal("CONTESTED", f"{', '.join(known.contested_by)} says that it owns {namespace} as well")
    return True


def decide_inherit(team: Team, answers: Recent[AnswerKey, Answer], command: InheritNamespace, now: float) -> Outcome:
    """The new owner's beginning: it grants once it knows what is held and what was answered. Once for each term.

    Refuses with NOT_AUTHORISED, CONTESTED, and QUOTA_EXCEEDED where keys would have to be forgotten early.
    """
    due = inherits(team, command.namespace, command.giver, command.term)
    if isinstance(due, Refusal):
        return due
    if not due:
        return Decided([], {"inherited": False})
    if len(answers) + len(command.answers) > MAX_IDEMPOTENCY_KEYS:
        return Refusal("QUOTA_EXCEEDED", f"{len(command.answers)} answered keys would be too many here", "Try it later")
    begun = NamespaceInherited(
        at=now,
        namespace=command.namespace,
        owner=command.owner,
        giver=command.giver,
        term=command.term,
        epoch=command.epoch,
    )
    return Decided([begun, *_held(command, now)], {"inherited": True})


def _held(command: InheritNamespace, now: float) -> Iterator[AnyEvent]:
    left = dict(command.checkpoints)
    for claim in command.claims:
        if claim.lease_expires_at > 0.0:
            yield ClaimGranted(at=now, claim=shifted(claim, now), cause="inherited")
        elif claim.checkpoint is not None:
            left[claim.task_id] = claim.checkpoint
    for task_id, data in left.items():
        yield CheckpointInherited(at=now, namespace=command.namespace, task_id=task_id, data=data)
    for kept in command.answers:
        yield CommandAnswered(
            at=now, sender=kept.sender, verb=kept.verb, key=kept.key, digest=kept.digest, answer=kept.answer
        )


def shifted(claim: Claim, seconds: float) -> Claim:
    """``claim`` on a clock that is ``seconds`` ahead of the one its instants are by."""
    return msgspec.structs.replace(
        claim, granted_at=claim.granted_at + seconds, lease_expires_at=claim.lease_expires_at + seconds
    )
