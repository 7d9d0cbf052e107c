"""The pure core against the shadow model, step by step, in both directions."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from synapse_hub.core.claim import Claim
from synapse_hub.core.commands import AnyCommand, Keyed
from synapse_hub.core.commands.claims import (
    ExpireDue,
    HandOff,
    Heartbeat,
    ReleaseClaim,
    SaveCheckpoint,
    TakeClaim,
    UpdateTask,
)
from synapse_hub.core.decide import decide
from synapse_hub.core.events import AnyEvent
from synapse_hub.core.events.claims import ClaimGranted, TaskHandedOff
from synapse_hub.core.guard import Question, Verdict
from synapse_hub.core.outcome import Decided, Outcome, Refusal
from synapse_hub.core.state import State, apply_all
from synapse_hub.journal.record import GENESIS, seal
from tests.machine.shadow import CAP, Shadow, parts

AGENTS = st.sampled_from(["ana", "ben", "cyd"])
PRINCIPALS = st.sampled_from(["uid:1", "uid:2"])
KEYS = st.tuples(st.sampled_from(["", "acme"]), st.sampled_from(["t1", "t2", "t3", "t4"]))
TREES = st.sampled_from(["", "wt:1", "wt:2"])
# Prefixes of each other as text but not as paths, and the other way round.
PATHS = st.sampled_from(["", "a", "a/b", "a/b/c", "ab", "a-b", "ab/c", "b", "b/a", "c"])
SCOPES = st.none() | st.lists(PATHS, max_size=3, unique=True)
VERSIONS = st.none() | st.integers(0, 2)
EPOCHS = st.sampled_from(["none", "none", "current", "stale"])
TTLS = st.sampled_from([30.0, 60.0, 600.0, None])


class CoreMachine(RuleBasedStateMachine):
    """Drives `decide` and `apply`; every event also goes through its row in the journal and back."""

    def __init__(self) -> None:
        super().__init__()
        self.state = State()
        self.shadow = Shadow()
        self.now = 1000.0
        self.epochs: list[int] = []
        self.rows: list[Any] = []
        self.last_keyed: tuple[Keyed, Outcome] | None = None

    def do(self, command: AnyCommand) -> Outcome:
        before = self.state
        outcome = decide(self.state, command, self.now)
        replayed: list[AnyEvent] = []
        for event in outcome.events:
            previous = self.rows[-1].hash if self.rows else GENESIS
            self.rows.append(seal(event, len(self.rows) + 1, 1, "batch", previous))
            replayed.append(self.rows[-1].event())
            if isinstance(event, ClaimGranted | TaskHandedOff):
                self.epochs.append(event.claim.epoch)
        self.state = apply_all(self.state, replayed)
        if isinstance(outcome, Refusal):
            assert self.state.claims == before.claims, "a refusal left a lease changed (INV-RR-3)"
        return outcome

    def check(self, outcome: Outcome, expected: str) -> None:
        assert (outcome.reason if isinstance(outcome, Refusal) else "") == expected

    @rule(
        agent=AGENTS, principal=PRINCIPALS, key=KEYS, tree=st.none() | TREES, paths=SCOPES, ttl=TTLS,
        add=st.booleans(), given=EPOCHS,
    )  # fmt: skip
    def claim(
        self, agent: str, principal: str, key: Any, tree: Any, paths: Any, ttl: float | None, add: bool, given: str
    ) -> None:
        """INV-ME-1…5, INV-EF-1, INV-LL-4: granted if and only if the model grants."""
        epoch = self.epoch_for(key, given)
        expected = self.shadow.claim(self.now, agent, principal, key, tree, paths, ttl, add, epoch)
        self.check(self.do(take(agent, principal, key, tree, paths, ttl, add, epoch)), expected)

    def epoch_for(self, key: Any, given: str) -> int | None:
        """The current epoch of a task, an older one, or none."""
        held = self.shadow.leases.get(key)
        return {"none": None, "current": held.epoch if held else 7, "stale": held.epoch - 1 if held else 6}[given]

    @rule(agent=AGENTS, key=KEYS, given=EPOCHS, force=st.booleans())
    def release(self, agent: str, key: Any, given: str, force: bool) -> None:
        """INV-EF-2: a stale epoch releases nothing, not even by force."""
        epoch = self.epoch_for(key, given)
        expected = self.shadow.release(self.now, agent, key, epoch, force)
        command = ReleaseClaim(agent=agent, namespace=key[0], task_id=key[1], epoch=epoch, force=force)
        self.check(self.do(command), expected)

    @rule(
        agent=AGENTS, key=KEYS, given=EPOCHS, version=st.none() | st.integers(0, 2), status=st.sampled_from(["a", "b"])
    )
    def update(self, agent: str, key: Any, given: str, version: int | None, status: str) -> None:
        """INV-EF-3: compare-and-set on the version."""
        epoch = self.epoch_for(key, given)
        expected = self.shadow.update(self.now, agent, key, epoch, version, status)
        command = UpdateTask(
            agent=agent, namespace=key[0], task_id=key[1], epoch=epoch, expected_version=version, status=status
        )
        self.check(self.do(command), expected)

    @rule(agent=AGENTS, key=KEYS, given=EPOCHS, data=st.sampled_from([1, "two", None]))
    def checkpoint(self, agent: str, key: Any, given: str, data: Any) -> None:
        """INV-CR-3: saved with the claim; `the_registry_is_the_model_s` sees it come back."""
        epoch = self.epoch_for(key, given)
        expected = self.shadow.checkpoint(self.now, agent, key, epoch, data)
        command = SaveCheckpoint(agent=agent, namespace=key[0], task_id=key[1], epoch=epoch, data=data)
        self.check(self.do(command), expected)

    @rule(agent=AGENTS, key=KEYS, given=EPOCHS, to=AGENTS)
    def handoff(self, agent: str, key: Any, given: str, to: str) -> None:
        """INV-CR-2: atomic, fenced, and never onto a third party's paths."""
        epoch = self.epoch_for(key, given)
        expected = self.shadow.handoff(self.now, agent, key, epoch, to)
        self.check(self.do(HandOff(agent=agent, namespace=key[0], task_id=key[1], epoch=epoch, to=to)), expected)

    @rule(agent=AGENTS)
    def heartbeat(self, agent: str) -> None:
        """Activity moves the expiry and nothing else."""
        self.shadow.touch(self.now, agent)
        outcome = self.do(Heartbeat(agent=agent))
        assert isinstance(outcome, Decided)
        listed = {
            (claim["namespace"], claim["task_id"]): claim["lease_expires_at"] for claim in outcome.answer["claims"]
        }
        live = self.shadow.live(self.now)
        assert listed == {key: lease.ends for key, lease in live.items() if lease.owner == agent}

    @rule(seconds=st.sampled_from([0.5, 10.0, 15.0, 29.9, 30.0, 60.0, 700.0]))
    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.now += seconds

    @rule()
    def sweep(self) -> None:
        """INV-LL-2: writing expiries down changes nothing that anyone can see."""
        self.do(ExpireDue(tasks=tuple(self.state.claims)))
        assert all(claim.live(self.now) for claim in self.state.claims.values())

    @rule(agent=AGENTS, key=KEYS, paths=SCOPES, idem=st.sampled_from(["k1", "k2"]))
    def keyed(self, agent: str, key: Any, paths: Any, idem: str) -> None:
        """INV-CR-1: a key that was answered answers the same again and does nothing."""
        command = take(agent, "uid:1", key, None, paths, 60.0, False)
        sent = Keyed(sender=f"uid:1/{agent}", verb="claim", key=idem, digest=repr((key, paths)), command=command)
        known = self.state.answers.get((sent.sender, sent.verb, idem))
        if known is not None:
            outcome = self.do(sent)
            assert outcome.events in ((), [])
            same = known[1][0] == sent.digest
            assert isinstance(outcome, Decided) if same else outcome.reason == "IDEMPOTENCY_CONFLICT"  # type: ignore[union-attr]  # else a refusal
            return
        expected = self.shadow.claim(self.now, agent, "uid:1", key, None, paths, 60.0, False)
        outcome = self.do(sent)
        self.check(outcome, expected)
        self.last_keyed = (sent, outcome)

    @precondition(lambda self: self.last_keyed is not None)
    @rule()
    def retry(self) -> None:
        """INV-CR-1: a retry applies once; a refusal is decided anew, which `keyed` covers."""
        assert self.last_keyed is not None
        sent, first = self.last_keyed
        if isinstance(first, Decided):
            again = self.do(sent)
            assert isinstance(again, Decided) and not again.events
            assert again.answer == {**first.answer, "replayed": True}

    @rule(agent=AGENTS, namespace=st.sampled_from(["", "acme"]), tree=TREES, paths=st.lists(PATHS, max_size=4))
    def guard(self, agent: str, namespace: str, tree: str, paths: list[str]) -> None:
        """Refused if and only if a path overlaps a live claim of another agent; uncovered paths are named."""
        verdict = Verdict(self.state, Question(agent, namespace, tree, "commit"), self.now)
        verdict.judge(paths)
        due = {key for path in paths for key in self.shadow.conflicts(self.now, agent, namespace, tree, path)}
        assert {conflict.claim.key for conflict in verdict.conflicts()} == due
        assert verdict.refused is bool(due)
        assert verdict.unclaimed == [path for path in paths if not self.covered(agent, namespace, tree, path)]

    def covered(self, agent: str, namespace: str, tree: str, path: str) -> bool:
        wanted = parts(path)
        return any(
            lease.owner == agent
            and (lease.tree == tree if tree and lease.tree else lease.tree == "" and key[0] == namespace)
            and any(wanted[: len(held)] == held for held in lease.paths)
            for key, lease in self.shadow.live(self.now).items()
        )

    @precondition(lambda self: len(self.shadow.live(self.now)) < 20)
    @rule(principal=PRINCIPALS, owner=AGENTS)
    def fill(self, principal: str, owner: str) -> None:
        """INV-ME-5: up to the cap under changing names, so that what follows meets it."""
        for number in range(CAP + 1):
            key = ("fill", f"{principal}-{number}")
            expected = self.shadow.claim(self.now, f"{owner}{number}", principal, key, f"wt:f{number}", [], 30.0, False)
            self.check(self.do(take(f"{owner}{number}", principal, key, f"wt:f{number}", [], 30.0, False)), expected)

    @invariant()
    def the_registry_is_the_model_s(self) -> None:
        """INV-ME-1, INV-LL-1, INV-LL-2: the same claims are live, with the same owner, end and epoch."""
        live = {key: claim for key, claim in self.state.claims.items() if claim.live(self.now)}
        assert {key: seen(claim) for key, claim in live.items()} == {
            key: (s.owner, s.principal, s.tree, s.ends, s.epoch, s.version, s.status, s.checkpoint)
            for key, s in self.shadow.live(self.now).items()
        }

    @invariant()
    def epochs_rise(self) -> None:
        """INV-EF-1."""
        assert self.epochs == sorted(set(self.epochs))

    @invariant()
    def no_two_owners_overlap(self) -> None:
        """INV-ME-2: no different-owner conflicting live pair, ever."""
        for key, lease in self.shadow.live(self.now).items():
            assert not self.shadow.blockers(lease.owner, key[0], lease.tree, lease.paths, self.now)

    def teardown(self) -> None:
        """At the end everything expires, and the rows alone tell the same state (INV-RR-1)."""
        assert apply_all(State(), (row.event() for row in self.rows)) == self.state
        self.now += 10_000.0
        self.do(ExpireDue(tasks=tuple(self.state.claims)))
        assert (
            not self.state.claims and not self.state.trees and not self.state.by_owner and not self.state.by_principal
        )


def seen(claim: Claim) -> tuple[Any, ...]:
    """A claim as far as the model knows it."""
    return (
        claim.owner, claim.principal, claim.worktree, claim.lease_expires_at,
        claim.epoch, claim.version, claim.status, claim.checkpoint,
    )  # fmt: skip


def take(
    agent: str, principal: str, key: Any, tree: Any, paths: Any, ttl: float | None, add: bool, epoch: int | None = None
) -> TakeClaim:
    """The command, its paths declared as the wire's side does it: ``()`` where any is the root."""
    declared = None if paths is None else () if "" in paths else tuple(sorted(paths))
    return TakeClaim(
        agent=agent, principal=principal, namespace=key[0], task_id=key[1],
        worktree=tree, paths=declared, ttl_s=ttl, add=add, epoch=epoch,
    )  # fmt: skip


TestCore = CoreMachine.TestCase
TestCore.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
