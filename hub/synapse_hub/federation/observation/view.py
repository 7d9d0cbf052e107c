"""What one peer's journal tells, folded. Advisory: it is shown, and nothing is granted from it. Spec: INV-MH-2.

Kept in memory only. A hub that starts has a whole picture told anew: what others grant has no place in its own journal,
and a picture of a hundred thousand claims is there in seconds.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import msgspec

from synapse_git.constants import MAX_OBSERVED_CLAIMS
from synapse_hub.core.claim import TaskKey
from synapse_hub.federation.observation.tidings import (
    AnyTiding,
    Asserted,
    ClaimChanged,
    ClaimEnded,
    ClaimHeld,
    Letter,
    PictureBegun,
    PictureDone,
    Present,
)


class View:
    """Belongs to the event loop. ``position``: up to where the journal was told, '' before a picture is complete.

    ``picture``: what a resumption goes on from; ``owns``: what the peer says it owns; ``left_out``: claims beyond the
    bound.
    """

    def __init__(self) -> None:
        self.position = ""
        self.picture = ""
        self.owns: tuple[str, ...] = ()
        self.left_out = 0
        self.complete = False
        self._claims: dict[TaskKey, ClaimHeld] = {}
        self._drawn: dict[TaskKey, ClaimHeld] | None = None
        # By how much the peer's lease clock is ahead of this hub's.
        self._ahead_s = 0.0

    def __len__(self) -> int:
        return len(self._claims)

    def take(self, tiding: AnyTiding, position: str, now: float) -> None:
        """One more of what the peer tells, at ``now`` by this hub's clock."""
        match tiding:
            case PictureBegun():
                self.position, self.picture, self.left_out, self._drawn = "", tiding.picture, 0, {}
                self._ahead_s = tiding.now - now
            case PictureDone():
                self._claims, self._drawn, self.complete = self._drawn or {}, None, True
            case Present():
                self._ahead_s = tiding.now - now
            case Asserted():
                self.owns = tiding.owns
            case ClaimHeld():
                self._hold(tiding)
            case ClaimChanged():
                if held := self._latest.get((tiding.namespace, tiding.task_id)):
                    self._latest[held.key] = tiding.amended(held)
            case ClaimEnded():
                self._latest.pop((tiding.namespace, tiding.task_id), None)
            case Letter():
                pass  # goes to whom it is for
        if position and self._drawn is None:
            self.position = position

    @property
    def _latest(self) -> dict[TaskKey, ClaimHeld]:
        return self._claims if self._drawn is None else self._drawn

    def _hold(self, claim: ClaimHeld) -> None:
        if len(self._latest) >= MAX_OBSERVED_CLAIMS and claim.key not in self._latest:
            self.left_out += 1
        else:
            self._latest[claim.key] = claim

    def claims(self, now: float) -> Iterator[ClaimHeld]:
        """What is held as far as this tells at ``now``, times by this hub's clock."""
        return (told for claim in self._claims.values() if (told := self._here(claim)).lease_expires_at > now)

    def page(self, now: float, after: TaskKey, most: int) -> tuple[list[ClaimHeld], bool]:
        """As `claims`, the first ``most`` in order of their keys beyond ``after``, and whether there are more."""
        ends = now + self._ahead_s
        live = (key for key, claim in self._claims.items() if key > after and claim.lease_expires_at > ends)
        keys = heapq.nsmallest(most + 1, live)
        return [self._here(self._claims[key]) for key in keys[:most]], len(keys) > most

    def _here(self, claim: ClaimHeld) -> ClaimHeld:
        """``claim`` with its times by this hub's clock."""
        granted, ends = (at - self._ahead_s for at in (claim.granted_at, claim.lease_expires_at))
        return msgspec.structs.replace(claim, granted_at=granted, lease_expires_at=ends)
