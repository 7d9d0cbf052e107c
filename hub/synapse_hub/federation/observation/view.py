"""What one peer's journal tells, folded. Advisory: it is shown, and nothing is granted from it. Spec: INV-MH-2.

Kept in memory only. A hub that starts has a whole picture told anew: what others grant has no place in its own journal,
and a picture of a hundred thousand claims is there in seconds.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import msgspec

from synapse_git.constants import MAX_OBSERVED_CLAIMS
from synapse_git.protocol.path import from_wire
from synapse_git.scope import ROOT
from synapse_hub.core.claim import TaskKey, TreeKey, comparable, tree_key
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


class Fold:
    """Claims by task, and which of them cover a path. ``left_out``: claims beyond the bound."""

    def __init__(self) -> None:
        self.claims: dict[TaskKey, ClaimHeld] = {}
        self.left_out = 0
        self._at: dict[tuple[TreeKey, str], dict[TaskKey, None]] = {}

    def hold(self, claim: ClaimHeld) -> None:
        """The claim stands so from now on."""
        if len(self.claims) >= MAX_OBSERVED_CLAIMS and claim.key not in self.claims:
            self.left_out += 1
            return
        known = self.claims.get(claim.key)
        if known is None or (known.paths, known.worktree) != (claim.paths, claim.worktree):
            self.end(claim.key)
            for place in _places(claim):
                self._at.setdefault(place, {})[claim.key] = None
        self.claims[claim.key] = claim

    def end(self, key: TaskKey) -> None:
        """Nobody holds the task."""
        claim = self.claims.pop(key, None)
        for place in _places(claim) if claim else ():
            here = self._at[place]
            del here[key]
            if not here:
                del self._at[place]

    def covering(self, namespace: str, worktree: str, path: str) -> Iterator[ClaimHeld]:
        """The claims at ``path``, as its checkout compares it, and above it, in that tree and in the shared one."""
        for label in dict.fromkeys((worktree, "")):
            tree = tree_key(namespace, label)
            here = path if label else comparable("", [path])[0]
            while True:
                yield from (self.claims[key] for key in self._at.get((tree, here), ()))
                if here == ROOT:
                    break
                here = here.rpartition("/")[0] or ROOT


def _places(claim: ClaimHeld) -> list[tuple[TreeKey, str]]:
    tree = tree_key(claim.namespace, claim.worktree)
    paths = comparable(claim.worktree, [from_wire(path) for path in claim.paths]) or [ROOT]
    return [(tree, path) for path in dict.fromkeys(paths)]


class View:
    """Belongs to the event loop. ``position``: up to where the journal was told, '' before a picture is complete.

    ``picture``: what a resumption goes on from; ``owns``: what the peer says it owns.
    """

    def __init__(self) -> None:
        self.position = ""
        self.picture = ""
        self.owns: tuple[str, ...] = ()
        self.complete = False
        self._shown = Fold()
        self._drawn: Fold | None = None
        # By how much the peer's lease clock is ahead of this hub's.
        self._ahead_s = 0.0

    def __len__(self) -> int:
        return len(self._shown.claims)

    def take(self, tiding: AnyTiding, position: str, now: float) -> None:
        """One more of what the peer tells, at ``now`` by this hub's clock."""
        match tiding:
            case PictureBegun():
                self.position, self.picture, self._drawn = "", tiding.picture, Fold()
                self._ahead_s = tiding.now - now
            case PictureDone():
                self._shown, self._drawn, self.complete = self._drawn or Fold(), None, True
            case Present():
                self._ahead_s = tiding.now - now
            case Asserted():
                self.owns = tiding.owns
            case ClaimHeld():
                self._latest.hold(tiding)
            case ClaimChanged():
                if held := self._latest.claims.get((tiding.namespace, tiding.task_id)):
                    self._latest.hold(tiding.amended(held))
            case ClaimEnded():
                self._latest.end((tiding.namespace, tiding.task_id))
            case Letter():
                pass  # goes to whom it is for
        if position and self._drawn is None:
            self.position = position

    @property
    def _latest(self) -> Fold:
        return self._shown if self._drawn is None else self._drawn

    @property
    def left_out(self) -> int:
        """How many claims are not remembered."""
        return self._latest.left_out

    def covering(self, namespace: str, worktree: str, path: str, now: float) -> list[ClaimHeld]:
        """What covers ``path`` in the checkout ``worktree`` as far as this tells at ``now``."""
        found = map(self._here, self._shown.covering(namespace, worktree, path))
        return [claim for claim in found if claim.lease_expires_at > now]

    def held(self, key: TaskKey, now: float) -> ClaimHeld | None:
        """The claim on a task as far as this tells at ``now``."""
        claim = self._shown.claims.get(key)
        told = claim and self._here(claim)
        return told if told and told.lease_expires_at > now else None

    def claims(self, now: float) -> Iterator[ClaimHeld]:
        """What is held as far as this tells at ``now``, times by this hub's clock."""
        return (told for claim in self._shown.claims.values() if (told := self._here(claim)).lease_expires_at > now)

    def page(self, now: float, after: TaskKey, most: int) -> tuple[list[ClaimHeld], bool]:
        """As `claims`, the first ``most`` in order of their keys beyond ``after``, and whether there are more."""
        ends = now + self._ahead_s
        live = (key for key, claim in self._shown.claims.items() if key > after and claim.lease_expires_at > ends)
        keys = heapq.nsmallest(most + 1, live)
        return [self._here(self._shown.claims[key]) for key in keys[:most]], len(keys) > most

    def _here(self, claim: ClaimHeld) -> ClaimHeld:
        """``claim`` with its times by this hub's clock."""
        granted, ends = (at - self._ahead_s for at in (claim.granted_at, claim.lease_expires_at))
        return msgspec.structs.replace(claim, granted_at=granted, lease_expires_at=ends)
