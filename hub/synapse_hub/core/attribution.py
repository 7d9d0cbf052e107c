"""Who changed a file that somebody holds: the holder, another agent, or nobody can tell. Pure.

What excuses is taken generously, what accuses is not: a writer is named only if its own tool told of exactly this
content, or if it alone had Git write there and Git has exactly this; and somebody who is alone in a worktree is the one
who edits there. That an edit of the holder's was expected excuses only what no tool owns up to, once all have had the
time to.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from synapse_git.constants import EDIT_INTENT_SECONDS, EDIT_SLACK_SECONDS
from synapse_git.identity import acts_for
from synapse_git.policy import AUTOMATIC
from synapse_hub.core.claim import Held

UNKNOWN = ""

# What another's Git wrote it wrote within so many seconds of saying so.
_CLOSE_S = 2.0

Digest = str | None | msgspec.UnsetType


class Announced(msgspec.Struct, frozen=True):
    """What an agent's tool said of a file at ``at``: that it is about to edit it, or what it has ``written`` there."""

    agent: str
    at: float
    written: bool = False
    sha256: str | None = None


class Change(msgspec.Struct, frozen=True):
    """A file found changed. ``sha256``: None where it is gone, UNSET where its content is not known.

    ``git``: Git has the same, and so may have written it.
    """

    path: str
    changed_at: float
    sha256: Digest = msgspec.UNSET
    git: bool = False


class Told(msgspec.Struct, frozen=True):
    """What was heard of a file: ``announced`` of it, oldest first; who is ``present`` in its worktree; who ``ran`` Git
    there in a way that writes files, and when. ``complete``: whoever would own up to a change has done so.
    """

    announced: Sequence[Announced]
    present: Collection[str]
    ran: Sequence[tuple[str, float]] = ()
    complete: bool = True


def writer(claim: Held, change: Change, told: Told) -> str:
    """The agent that made ``change`` in the scope of ``claim``; `UNKNOWN` where nobody can tell.

    Whoever the holder works for, and whoever works for the holder, counts as the holder.
    """
    holder = claim.owner
    if change.changed_at < claim.granted_at:
        return holder  # made before it was held, so nobody's wrong
    if makers := _makers(change, told.announced):
        return _judged(holder, makers)
    if set(told.present) == {holder} or _written_before(holder, change, told.announced):
        return holder
    if told.complete and _expected(claim, change, told.announced):
        return holder
    if change.git:
        return _ran(holder, change.changed_at, told.ran)
    return UNKNOWN


def _ran(holder: str, at: float, ran: Sequence[tuple[str, float]]) -> str:
    near = {agent for agent, when in ran if abs(at - when) <= EDIT_SLACK_SECONDS}
    close = {agent for agent, when in ran if abs(at - when) <= _CLOSE_S}
    found = _judged(holder, near)
    return found if found == holder or found in close else UNKNOWN


def _judged(holder: str, makers: Collection[str]) -> str:
    if any(agent == holder or acts_for(agent, holder) or acts_for(holder, agent) for agent in makers):
        return holder
    return min(makers) if len(makers) == 1 else UNKNOWN


def undisputed(claim: Held, change: Change, told: Told) -> bool:
    """Is it known to be the holder's, rather than excused since an edit of its was expected?"""
    unseen = isinstance(change.sha256, msgspec.UnsetType)
    if unseen and any(one.agent != claim.owner for one in told.announced):
        return False
    return writer(claim, change, msgspec.structs.replace(told, complete=False)) == claim.owner


def _makers(change: Change, announced: Sequence[Announced]) -> set[str]:
    """Whoever told of having written just this, about when it was written."""
    if isinstance(change.sha256, msgspec.UnsetType):
        return set()
    earliest = change.changed_at - EDIT_SLACK_SECONDS
    latest = change.changed_at + EDIT_INTENT_SECONDS
    return {
        one.agent for one in announced if one.written and one.sha256 == change.sha256 and earliest <= one.at <= latest
    }


def _written_before(holder: str, change: Change, announced: Sequence[Announced]) -> bool:
    """Taken aside by Git and brought back."""
    return any(one.written and one.agent == holder and one.sha256 == change.sha256 for one in announced)


def _expected(claim: Held, change: Change, announced: Sequence[Announced]) -> bool:
    """Was the holder about to edit, or has it just edited and let a formatter run over it?"""
    own = [one for one in announced if one.agent == claim.owner]
    if not own:  # an automatic claim is taken on behalf of an edit that is being made
        return claim.key[1].startswith(AUTOMATIC) and change.changed_at - claim.granted_at < EDIT_INTENT_SECONDS
    last = own[-1]
    patience = EDIT_SLACK_SECONDS if last.written else EDIT_INTENT_SECONDS
    return change.changed_at - last.at <= patience
