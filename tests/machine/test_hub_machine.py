"""The real hub on a real journal against the shadow model: every verb, waiting, failed appends, restarts, crashes."""

from __future__ import annotations

import queue
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from synapse_hub.core.commands import AnyCommand, Keyed
from synapse_hub.core.commands.claims import ExpireDue, TakeClaim
from synapse_hub.core.commands.talk import SendMessage
from synapse_hub.core.events.claims import ClaimGranted, TaskHandedOff
from synapse_hub.core.outcome import Decided, Outcome, Refusal
from synapse_hub.core.state import State
from synapse_hub.hub import Answered
from synapse_hub.journal.record import Record
from synapse_hub.journal.sqlite import SqliteStore
from synapse_hub.journal.store import StoreError
from synapse_hub.waiting import Patience
from tests.hub.desk import FakeClock, Rig
from tests.machine.shadow import CAP
from tests.machine.test_core_machine import AGENTS, KEYS, PRINCIPALS, SCOPES, TREES, CoreMachine, take

UNKNOWN = "JOURNAL_UNAVAILABLE"
_FILES = ("journal.mark", "journal.db", "journal.db-wal")


class ShakyStore(SqliteStore):
    """Raises at the next append, before or after the rows are committed, once."""

    fail = ""

    def append(self, records: Sequence[Record], *, durable: bool) -> None:
        how, ShakyStore.fail = ShakyStore.fail, ""
        if how != "before":
            super().append(records, durable=durable)
        if how:
            raise StoreError("injected")


class Asleep:
    """A claim that waits, as the model knows it: what it asks, how long, and where its answer will come."""

    def __init__(self, command: TakeClaim, until: float) -> None:
        self.command = command
        self.until = until
        self.answers: queue.SimpleQueue[Answered] = queue.SimpleQueue()


class HubMachine(CoreMachine):
    """Inherits the verbs and what they must come to. The clock stands still within a step."""

    def __init__(self) -> None:
        self.scratch = TemporaryDirectory(prefix="machine-")
        self.directory = Path(self.scratch.name) / "0"
        self.directory.mkdir()
        self.clock = FakeClock(1000.0)
        self.starts = 0
        self.seq = 0
        self.waiting: list[Asleep] = []
        self.arrivals = 0
        self.letters: list[str] = []
        ShakyStore.fail = ""
        self.rig = Rig(self.directory, self.clock, ShakyStore)
        super().__init__()

    @property
    def state(self) -> State:
        return self.rig.hub.state

    @state.setter
    def state(self, _: State) -> None:
        """The hub has its own."""

    def do(self, command: AnyCommand) -> Outcome:
        """Have it done, and everyone served who waited for it."""
        before = self.living()
        answered = self.rig.hub.transact(command)
        assert answered.now == self.now, "an answer was decided at another time than it says"
        assert answered.seq >= self.seq, "an answer was decided on an older state than one before it"
        self.seq = answered.seq
        outcome = answered.outcome
        if isinstance(outcome, Refusal):
            assert self.waiting or self.living() == before, "a refusal left a lease changed (INV-RR-3)"
        else:
            self.note_epochs(outcome)
        self.settle()
        return outcome

    def note_epochs(self, outcome: Decided) -> None:
        self.epochs += [
            event.claim.epoch for event in outcome.events if isinstance(event, ClaimGranted | TaskHandedOff)
        ]

    def check(self, outcome: Outcome, expected: str) -> None:
        super().check(outcome, expected)
        self.serve()

    def living(self) -> dict[Any, Any]:
        return {key: claim for key, claim in self.state.claims.items() if claim.live(self.now)}

    def settle(self) -> None:
        """Two rounds of the writer: what the first one swept, and whom it served, is done when the second answers."""
        for _ in range(2):
            self.rig.hub.transact(ExpireDue(tasks=()))

    def serve(self) -> None:
        """What the hub must have done for those who wait: tried them in order of arrival until nothing moved."""
        for one in [one for one in self.waiting if one.until <= self.now]:
            self.woken(one, "SCOPE_CONFLICT", "LEASE_LIVE")
        moved = True
        while moved:
            moved = False
            for one in list(self.waiting):
                expected = self.expect(one.command)
                if expected not in ("SCOPE_CONFLICT", "LEASE_LIVE"):
                    self.woken(one, expected)
                    moved = moved or not expected

    def woken(self, one: Asleep, *reasons: str) -> None:
        self.waiting.remove(one)
        outcome = one.answers.get(timeout=10).outcome
        assert (outcome.reason if isinstance(outcome, Refusal) else "") in reasons
        if isinstance(outcome, Decided):
            self.note_epochs(outcome)

    def expect(self, c: TakeClaim) -> str:
        """What the model makes of a claim, now."""
        paths = None if c.paths is None else list(c.paths)
        key = (c.namespace, c.task_id)
        return self.shadow.claim(self.now, c.agent, c.principal, key, c.worktree, paths, c.ttl_s, c.add, c.epoch)

    @rule(seconds=st.sampled_from([0.5, 10.0, 15.0, 29.9, 30.0, 60.0, 700.0]))
    def wait(self, seconds: float) -> None:
        """Time passes, and the sweeper sees it."""
        self.now += seconds
        self.clock.at = self.now
        self.settle()
        self.serve()

    @rule()
    def sweep(self) -> None:
        """INV-LL-2."""
        super().sweep()

    @rule(agent=AGENTS, key=KEYS, given=st.sampled_from(["none", "current", "stale"]), force=st.booleans())
    def release(self, agent: str, key: Any, given: str, force: bool) -> None:
        """INV-EF-2. What it frees goes to whoever waited first."""
        super().release(agent, key, given, force)

    @precondition(lambda self: len(self.waiting) < 4)
    @rule(
        key=KEYS, tree=TREES, paths=st.lists(st.sampled_from(["", "a", "a/b", "ab", "b"]), min_size=1, max_size=2),
        seconds=st.sampled_from([5.0, 100.0, 1000.0]),
    )  # fmt: skip
    def wait_for(self, key: Any, tree: str, paths: list[str], seconds: float) -> None:
        """Granted at once, refused for good, or asleep until something frees. Each waiter is a newcomer: no circles."""
        self.arrivals += 1
        asked = take(f"newcomer {self.arrivals}", "uid:3", key, tree, paths, 60.0, False)
        one = Asleep(asked, self.now + seconds)
        self.rig.hub.submit(asked, one.answers.put, Patience(one.until, lambda: True))
        self.settle()
        self.waiting.append(one)
        self.serve()
        assert (one in self.waiting) is one.answers.empty() or one not in self.waiting

    @rule(
        agent=AGENTS, principal=PRINCIPALS, key=KEYS, paths=SCOPES, how=st.sampled_from(["before", "after"]),
        restarted=st.booleans(),
    )  # fmt: skip
    def fail_and_retry(self, agent: str, principal: str, key: Any, paths: Any, how: str, restarted: bool) -> None:
        """INV-JA-2, INV-CR-1: an append that raised is "unknown"; the retry by key applies once, whatever happened."""
        command = take(agent, principal, key, None, paths, 60.0, False)
        self.arrivals += 1
        sent = Keyed(sender=agent, verb="claim", key=f"shaky {self.arrivals}", digest="d", command=command)
        ShakyStore.fail = how
        first = self.rig.hub.transact(sent).outcome
        attempted, ShakyStore.fail = not ShakyStore.fail, ""
        assert not attempted or (isinstance(first, Refusal) and first.reason == UNKNOWN)
        self.await_granting()
        if restarted:
            self.restart()
        expected = self.expect(command)
        again = self.do(sent)
        self.check(again, expected)
        if isinstance(again, Decided):
            assert again.answer.get("replayed", False) is (how == "after")
            self.epochs += [] if again.events else [again.answer["epoch"]]

    @rule(how=st.sampled_from(["", "before", "after"]), restarted=st.booleans())
    def say(self, how: str, restarted: bool) -> None:
        """INV-DG-3, INV-JA-2: what was acknowledged waits; what was left unknown is what the journal says it is."""
        self.arrivals += 1
        body = f"letter {self.arrivals}"
        ShakyStore.fail = how
        outcome = self.rig.hub.transact(SendMessage(agent="ana", to="ben", body=body)).outcome
        assert (isinstance(outcome, Refusal) and outcome.reason == UNKNOWN) is bool(how)
        ShakyStore.fail = ""
        self.await_granting()
        if how != "before":
            self.letters.append(body)
        if restarted:
            self.restart()
        self.settle()
        self.serve()

    def await_granting(self) -> None:
        patience = time.monotonic() + 10
        while not self.rig.hub.granting:
            assert time.monotonic() < patience, "the journal was not recovered"
            time.sleep(0.001)

    @rule()
    def restart(self) -> None:
        """INV-RR-1: a hub that was stopped knows everything but who waited."""
        before = self.living(), self.state.mail.boxes
        self.rig.hub.stop()
        self.dismiss()
        self.rig = Rig(self.directory, self.clock, ShakyStore)
        assert (self.living(), self.state.mail.boxes) == before

    @rule()
    def crash(self) -> None:
        """Its files as they lie there, with nothing folded in or written after the last answer."""
        before = self.living(), self.state.mail.boxes
        self.starts += 1
        directory = Path(self.scratch.name) / str(self.starts)
        directory.mkdir()
        for name in _FILES:
            if (self.directory / name).exists():
                shutil.copy(self.directory / name, directory / name)
        self.rig.hub.stop()
        self.dismiss()
        self.directory = directory
        self.rig = Rig(directory, self.clock, ShakyStore)
        assert (self.living(), self.state.mail.boxes) == before

    def dismiss(self) -> None:
        """Nobody waits beyond the end of a hub, and nobody is left without an answer."""
        for one in list(self.waiting):
            self.woken(one, "SCOPE_CONFLICT", "LEASE_LIVE")

    @precondition(lambda self: len(self.shadow.live(self.now)) < 20)
    @rule(principal=PRINCIPALS, owner=AGENTS)
    def fill(self, principal: str, owner: str) -> None:
        """INV-ME-5: up to the cap, in one group, in order of arrival."""
        answers: queue.SimpleQueue[Answered] = queue.SimpleQueue()
        keys = [("fill", f"{principal}-{number}") for number in range(CAP + 1)]
        commands = [take(f"{owner}{key[1]}", principal, key, f"wt:f{key[1]}", [], 30.0, False) for key in keys]
        for command in commands:
            self.rig.hub.submit(command, answers.put)
        for command in commands:
            outcome = answers.get(timeout=10).outcome
            CoreMachine.check(self, outcome, self.expect(command))
            if isinstance(outcome, Decided):
                self.note_epochs(outcome)
        self.settle()
        self.serve()

    @invariant()
    def those_who_wait_have_no_answer(self) -> None:
        """A waiter is asleep if and only if the model lets it."""
        assert all(one.answers.empty() for one in self.waiting)

    @invariant()
    def letters_wait(self) -> None:
        """INV-DG-3: all that were acknowledged and no other, in order."""
        assert [one.sent.body for one in self.state.mail.box("ben") if not one.notice] == self.letters

    def teardown(self) -> None:
        """At the end everything expires, and a last replay tells an empty registry with the epochs kept."""
        try:
            self.now += 10_000.0
            self.clock.at = self.now
            self.settle()
            self.serve()
            self.settle()
            self.now += 10_000.0
            self.clock.at = self.now
            self.do(ExpireDue(tasks=tuple(self.state.claims)))
            assert not self.state.claims and not self.state.trees
            self.restart()
            assert self.state.epoch == self.shadow.epoch
        finally:
            self.rig.hub.stop()
            self.scratch.cleanup()


TestHub = HubMachine.TestCase
TestHub.settings = settings(
    max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
