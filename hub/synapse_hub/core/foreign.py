"""Changes in the live scopes of others, as a watcher finds them after the fact."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from synapse_git.constants import MAX_NAMED_CONFLICTS
from synapse_git.protocol.path import paths_to_wire, to_wire
from synapse_hub.core import overlap
from synapse_hub.core.attribution import UNKNOWN, Announced, Change, Told, undisputed, writer
from synapse_hub.core.claim import Held, comparable, tree_key
from synapse_hub.core.commands.guard import RecordForeignEdit
from synapse_hub.core.events.base import Holder
from synapse_hub.core.events.guard import ForeignEditSeen
from synapse_hub.core.outcome import Decided
from synapse_hub.core.state import State
from synapse_hub.core.team.reports import owed

# Of one claim nobody is an agent called so, since a name cannot be empty: every owner is somebody else.
_NOBODY = ""

HOLDER, AGENT, GIT, NOBODY_KNOWS = "holder", "agent", "git", "unknown"


class Finding(msgspec.Struct, frozen=True):
    """A change in a live scope: ``agent`` made it, '' for nobody knows. ``certain``: it is known, not only excused."""

    change: Change
    claim: Held
    agent: str
    certain: bool

    @property
    def foreign(self) -> bool:
        return self.agent != self.claim.owner

    @property
    def owned_up(self) -> bool:
        """Did its maker's tool say so? That Git wrote it for somebody is concluded, and from what was heard so far."""
        return bool(self.agent) and not self.change.git

    def document(self) -> dict[str, Any]:
        """As it stands in the answer to a watcher."""
        by = HOLDER if not self.foreign else NOBODY_KNOWS if not self.agent else GIT if self.change.git else AGENT
        return {
            "path": to_wire(self.change.path),
            "owner": self.claim.owner,
            "task_id": self.claim.key[1],
            "namespace": self.claim.key[0],
            "by": by,
            "agent": self.agent,
            "certain": self.certain,
        }


class Place(msgspec.Struct, frozen=True):
    """A checkout that is watched, who is in it, and who ran Git there lately and when."""

    namespace: str
    worktree: str
    present: frozenset[str]
    ran: tuple[tuple[str, float], ...] = ()


def find(
    state: State,
    place: Place,
    changes: Iterable[Change],
    said: Callable[[str], Sequence[Announced]],
    now: float,
    *,
    complete: bool,
) -> Iterator[Finding]:
    """What of ``changes`` lies in a live scope; ``said`` gives what was announced of a path, oldest first.

    ``complete``: see `Told`.
    """
    own = state.tree(tree_key(place.namespace, place.worktree))
    shared = state.tree(tree_key(place.namespace, ""))
    trees = [(place.worktree, own), ("", shared)]
    sights = [(tree, overlap.Sight(root, _NOBODY)) for tree, root in trees if root.owners]
    for change in changes:
        for tree, sight in sights:
            keys, _ = sight.at(change.path if tree else comparable("", [change.path])[0])
            live = [claim for key in dict.fromkeys(keys) if (claim := state.live(key, now))]
            if live:
                yield _finding(live, change, Told(said(change.path), place.present, place.ran, complete))
                break


def find_covered(
    held: Callable[[str], Sequence[Held]],
    place: Place,
    changes: Iterable[Change],
    said: Callable[[str], Sequence[Announced]],
    *,
    complete: bool,
) -> Iterator[Finding]:
    """As `find`, where another hub grants; ``held``: what covers a path, as far as that one told."""
    for change in changes:
        if claims := held(change.path):
            yield _finding(claims, change, Told(said(change.path), place.present, place.ran, complete))


def _finding(claims: Sequence[Held], change: Change, told: Told) -> Finding:
    """Several hold it where a directory changed that holds what they hold: a change by any of them is excused."""
    found = [(claim, writer(claim, change, told)) for claim in claims]
    claim, agent = next((pair for pair in found if pair[1] == pair[0].owner), found[0])
    if agent == claim.owner:
        return Finding(change, claim, agent, undisputed(claim, change, told))
    return Finding(change, claim, agent, agent != UNKNOWN)


def evidence(place: Place, findings: Iterable[Finding]) -> list[RecordForeignEdit]:
    """The commands that put the foreign ones of ``findings`` on record, one for each writer and holder."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        if finding.foreign:
            groups.setdefault((finding.agent, finding.claim.owner), []).append(finding)
    return [
        RecordForeignEdit(
            agent=agent,
            namespace=place.namespace,
            worktree=place.worktree,
            paths=tuple(one.change.path for one in found[:MAX_NAMED_CONFLICTS]),
            paths_total=len(found),
            tasks=tuple(dict.fromkeys(one.claim.key for one in found))[:MAX_NAMED_CONFLICTS],
            owner=owner,
        )
        for (agent, owner), found in groups.items()
    ]


def decide_foreign_edit(state: State, command: RecordForeignEdit, now: float) -> Decided:
    """Put it on record, unless the same was within a minute. Touches no lease (INV-RR-3). ``recorded`` tells."""
    event = ForeignEditSeen(
        at=now,
        agent=command.agent,
        namespace=command.namespace,
        worktree=command.worktree,
        paths=tuple(paths_to_wire(command.paths)),
        paths_total=command.paths_total,
        holders=tuple(_holders(state, command)),
        quarantine=command.quarantine,
    )
    known = state.denied_lately(event)
    # Where a holder's content was put back, that one is at work here and is told here.
    told = () if command.quarantine else owed(state.team, command, now)
    return Decided([] if known else [event, *told], {"recorded": not known})


def _holders(state: State, command: RecordForeignEdit) -> Iterator[Holder]:
    """Those of the tasks that are still held; where another hub grants, as the watcher's asker was told."""
    for key in command.tasks:
        if claim := state.claims.get(key):
            yield Holder(*key, claim.owner)
        elif state.team.elsewhere(key[0]) and command.owner:
            yield Holder(*key, command.owner)
