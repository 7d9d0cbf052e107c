"""Who changed a file that somebody holds: the holder, another agent, or nobody can tell. Pure.

What excuses is taken generously, what accuses is not: a writer is named only if its own tool told of exactly this
content, and somebody who is alone in a worktree is the one who edits there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from synapse_git.constants import EDIT_INTENT_SECONDS, EDIT_SLACK_SECONDS
from synapse_git.policy import AUTOMATIC
from synapse_hub.core.claim import Claim

UNKNOWN = ""

Digest = str | None | msgspec.UnsetType


class Announced(msgspec.Struct, frozen=True):
    """What an agent's tool said of a file at ``at``: that it is about to edit it, or what it has ``written`` there."""

    agent: str
    at: float
    written: bool = False
    sha256: str | None = None


class Change(msgspec.Struct, frozen=True):
    """A file found changed. ``sha256``: None where it is gone, UNSET where its content is not known."""

    path: str
    changed_at: float
    sha256: Digest = msgspec.UNSET


def writer(claim: Claim, change: Change, announced: Sequence[Announced], present: Collection[str]) -> str:
    """The agent that made ``change`` in the scope of ``claim``; `UNKNOWN` where nobody can tell.

    ``announced``: what was said of this path, oldest first; ``present``: who is in the worktree.
    """
    holder = claim.owner
    if change.changed_at < claim.granted_at:
        return holder  # made before it was held, so nobody's wrong
    makers = _makers(change, announced)
    if makers:
        others = makers - {holder}
        return holder if holder in makers else min(others) if len(others) == 1 else UNKNOWN
    if _expected(claim, change, announced) or set(present) == {holder}:
        return holder
    return UNKNOWN


def undisputed(claim: Claim, change: Change, announced: Sequence[Announced], present: Collection[str]) -> bool:
    """Is it the holder's whatever its content is?"""
    if any(one.agent != claim.owner for one in announced):
        return False
    return writer(claim, change, announced, present) == claim.owner


def _makers(change: Change, announced: Sequence[Announced]) -> set[str]:
    """Whoever told of having written just this, about when it was written."""
    if isinstance(change.sha256, msgspec.UnsetType):
        return set()
    earliest = change.changed_at - EDIT_SLACK_SECONDS
    latest = change.changed_at + EDIT_INTENT_SECONDS
    return {
        one.agent for one in announced if one.written and one.sha256 == change.sha256 and earliest <= one.at <= latest
    }


def _expected(claim: Claim, change: Change, announced: Sequence[Announced]) -> bool:
    """Was the holder about to edit, or has just edited and let a formatter run over it?"""
    if claim.task_id.startswith(AUTOMATIC) and change.changed_at - claim.granted_at < EDIT_INTENT_SECONDS:
        return True  # taken on behalf of an edit that is being made
    own = [one for one in announced if one.agent == claim.owner]
    if not own:
        return False
    last = own[-1]
    patience = EDIT_SLACK_SECONDS if last.written else EDIT_INTENT_SECONDS
    return change.changed_at - last.at <= patience
