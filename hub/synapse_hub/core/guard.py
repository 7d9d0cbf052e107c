"""The verdict on a change, read from one state: who else holds what it touches, and what nobody of ours covers."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import msgspec

from synapse_git.constants import MAX_NAMED_CONFLICTS
from synapse_git.identity import acts_for
from synapse_git.policy import AUTOMATIC
from synapse_git.protocol.path import paths_to_wire, to_wire
from synapse_git.scope import show
from synapse_hub.core import overlap
from synapse_hub.core.absence import quiet_s
from synapse_hub.core.binding import impostor
from synapse_hub.core.claim import Claim, TaskKey, comparable, tree_key
from synapse_hub.core.commands.guard import RecordDenial, RecordOverride
from synapse_hub.core.events import AnyEvent
from synapse_hub.core.events.base import Holder
from synapse_hub.core.events.guard import GuardDenied, GuardOverridden
from synapse_hub.core.lease import wants_extension
from synapse_hub.core.outcome import Conflict, Decided
from synapse_hub.core.state import State
from synapse_hub.core.team.reports import owed

# What an answer lists of the paths that no claim of the agent covers.
MAX_LISTED_UNCLAIMED = 100


class Question(msgspec.Struct, frozen=True):
    """Who would change something, and where. ``worktree`` "" asks about the namespace's shared tree alone.

    ``session``: the digest of the session secret given, '' for none.
    """

    agent: str
    namespace: str
    worktree: str
    action: str
    unclaimed: str = "allow"
    session: str = ""


class Verdict:
    """Collects, path by path, what stands against a change. One state and instant for all of them."""

    def __init__(self, state: State, question: Question, now: float, *, listed: int = MAX_LISTED_UNCLAIMED) -> None:
        self.question = question
        self._state = state
        self.now = now
        shared = state.tree(tree_key(question.namespace, ""))
        own = state.tree(tree_key(question.namespace, question.worktree))
        trees = [("", shared)] + ([(question.worktree, own)] if question.worktree else [])
        self._sights = [(worktree, overlap.Sight(tree, question.agent)) for worktree, tree in trees if tree.owners]
        self._impostor = impostor(state, question.agent, question.session, now)
        self._relations: dict[str, bool] = {}
        self._changed: dict[TaskKey, list[str]] = {}
        self._totals: dict[TaskKey, int] = {}
        self._listed = listed
        self._paths: list[str] = []
        self._touched: set[TaskKey] = set()
        self.paths_total = 0
        self.held: list[str] = []
        self.held_total = 0
        self.unclaimed: list[str] = []
        self.unclaimed_total = 0

    def judge(self, paths: Iterable[str]) -> None:
        """Take more changed paths into account."""
        for path in paths:
            found: dict[TaskKey, None] = {}  # in the order met
            covered = False
            for worktree, sight in self._sights:
                foreign, own = sight.at(path if worktree else comparable("", [path])[0])
                for key in foreign:
                    claim = self._state.claims[key]
                    if not claim.live(self.now):
                        continue
                    if self._related(claim.owner):
                        covered = covered or not self._passes_on(claim, path)
                    else:
                        found[key] = None
                        if len(found) >= MAX_NAMED_CONFLICTS:
                            break
                for key in own:
                    if self._state.claims[key].live(self.now):
                        covered = True
                        self._touched.add(key)
            if found or self._impostor:
                self._note_refused(path, found)
            if not covered:
                self.unclaimed_total += 1
                if len(self.unclaimed) < self._listed:
                    self.unclaimed.append(path)

    def _related(self, owner: str) -> bool:
        """Is it a subagent of the asker's, or whom the asker works for?"""
        if (known := self._relations.get(owner)) is None:
            agent = self.question.agent
            known = self._relations[owner] = acts_for(agent, owner) or acts_for(owner, agent)
        return known

    def _passes_on(self, claim: Claim, path: str) -> bool:
        """May a subagent's edit take over ``path`` from the claim, so that its siblings keep off?"""
        takes = self.question.action == "edit" and acts_for(claim.owner, self.question.agent)
        return takes and claim.task_id.startswith(AUTOMATIC) and to_wire(path) in claim.paths

    def _note_refused(self, path: str, found: Iterable[TaskKey]) -> None:
        self.paths_total += 1
        if len(self._paths) < MAX_NAMED_CONFLICTS:
            self._paths.append(path)
        if found:
            self.held_total += 1
            if len(self.held) < MAX_NAMED_CONFLICTS:
                self.held.append(path)
        for key in found:
            if (names := self._changed.get(key)) is None:
                self._changed[key], self._totals[key] = [path], 1
                continue
            self._totals[key] += 1
            if len(names) < MAX_NAMED_CONFLICTS:
                names.append(path)

    @property
    def seq(self) -> int:
        return self._state.seq

    @property
    def refused(self) -> bool:
        """Is anything of it in another agent's live scope, or the agent's name another session's?"""
        return self.paths_total > 0

    @property
    def word(self) -> str:
        """allow, warn or refuse."""
        return "refuse" if self.refused else self.question.unclaimed if self.unclaimed else "allow"

    def conflicts(self) -> list[Conflict]:
        """The claims in the way, at most ten."""
        return [
            Conflict(claim, tuple(names), self._totals[key], quiet_s(self._state, claim, self.now))
            for key, names in islice(self._changed.items(), MAX_NAMED_CONFLICTS)
            for claim in (self._state.claims[key],)
        ]

    def evidence(self, *, moved: bool = False) -> RecordDenial:
        """The command that puts a refusal on record, or, with ``moved``, what had happened already."""
        question = self.question
        return RecordDenial(
            agent=question.agent,
            namespace=question.namespace,
            worktree=question.worktree,
            action=question.action,
            paths=tuple(self._paths),
            paths_total=self.paths_total,
            tasks=tuple(islice(self._changed, MAX_NAMED_CONFLICTS)),
            moved=moved,
        )

    def to_extend(self) -> tuple[TaskKey, ...]:
        """Own claims that an allowed change touches and whose lease it should move."""
        claims = (self._state.claims[key] for key in self._touched)
        return tuple(claim.key for claim in claims if wants_extension(claim, self.now))

    def document(self) -> dict[str, Any]:
        """The body of the answer, without ``seq`` and ``now``."""
        body: dict[str, Any] = {
            "verdict": self.word,
            "conflicts": [conflict.document() for conflict in self.conflicts()],
            "unclaimed": paths_to_wire(self.unclaimed[:MAX_LISTED_UNCLAIMED]),
            "unclaimed_total": self.unclaimed_total,
        }
        if self._impostor and self.refused:
            body |= {"reason": self._impostor.reason, "detail": self._impostor.detail, "fix": self._impostor.fix}
        elif self.refused:
            body |= {"reason": "SCOPE_CONFLICT", "detail": self._detail(), "changed_total": self.paths_total}
        elif self.word != "allow":
            first = show(self.unclaimed[0])
            body |= {
                "reason": "UNCLAIMED",
                "detail": f"{first} is covered by no claim of {self.question.agent}",
                "fix": f"Claim it first: synapse-git claim {first}",
            }
        return body

    def _detail(self) -> str:
        holders = list(dict.fromkeys(self._state.claims[key].owner for key in self._changed))
        named = ", ".join(holders[:3]) + (f" and {len(holders) - 3} more" if len(holders) > 3 else "")
        what = "path" if self.question.action == "edit" else "changed path"
        count = f"1 {what} is" if self.paths_total == 1 else f"{self.paths_total} {what}s are"
        return f"{count} in the live scope of {named}"


def decide_denial(state: State, command: RecordDenial, now: float) -> Decided:
    """Put a refused change on record, unless the same was within a minute. Touches no lease (INV-RR-3)."""
    event = GuardDenied(
        at=now,
        agent=command.agent,
        namespace=command.namespace,
        worktree=command.worktree,
        action=command.action,
        paths=tuple(paths_to_wire(command.paths)),
        paths_total=command.paths_total,
        holders=tuple(_holder(state, key) for key in command.tasks),
        moved=command.moved,
    )
    return Decided([] if state.denied_lately(event) else [event], {})


def _holder(state: State, key: TaskKey) -> Holder:
    claim: Claim | None = state.claims.get(key)
    return Holder(*key, claim.owner if claim else "")


def decide_override(state: State, command: RecordOverride, now: float) -> Decided:
    """Put on record that a change was let through against the guard: what of it others hold, or all where none do."""
    verdict = Verdict(state, Question(command.agent, command.namespace, command.worktree, command.action), now)
    verdict.judge(command.paths)
    event = GuardOverridden(
        at=now,
        agent=command.agent,
        namespace=command.namespace,
        worktree=command.worktree,
        action=command.action,
        paths=tuple(paths_to_wire(verdict.held or command.paths[:MAX_LISTED_UNCLAIMED])),
        paths_total=verdict.held_total or len(command.paths),
        changed_total=len(command.paths),
        reason_text=command.reason_text,
        holders=tuple(conflict.holder() for conflict in verdict.conflicts()),
        spooled_at=command.spooled_at,
    )
    # A tool that edits in a loop says it again and again; two commits for one reason are two.
    known = command.action == "edit" and state.denied_lately(event)
    events: list[AnyEvent] = [] if known else [event, *owed(state.team, command, now)]
    return Decided(events, {"recorded": True, "conflicts": [found.document() for found in verdict.conflicts()]})
