"""The hub without its web face: one writer thread, and the state that readers use.

decide → append → publish, in order of arrival and in groups: whatever waits when the writer wakes is decided one
after another on a candidate, committed in one transaction, then published together and answered. Readers take the
published reference and never wait.
"""

from __future__ import annotations

import itertools
import logging
import queue
import threading
import time
import uuid
from collections.abc import Callable, Sequence

import msgspec

from synapse_hub.clock import ABSURDLY_AHEAD_S, Clock
from synapse_hub.core.claim import TreeKey
from synapse_hub.core.commands import AnyCommand, Keyed, ProbeJournal
from synapse_hub.core.commands.claims import ExpireDue, ReanchorLeases, TakeClaim
from synapse_hub.core.commands.names import EndSessions
from synapse_hub.core.decide import decide
from synapse_hub.core.events import AnyEvent
from synapse_hub.core.events.claims import ClaimGranted, ClaimReleased, LeaseExpired, TaskHandedOff
from synapse_hub.core.events.team import (
    ClaimForwarded,
    ForwardSettled,
    NamespaceCeded,
    NamespaceFreed,
    NamespaceGoverned,
    OwnershipContested,
    ReceiptEnded,
    ReceiptKept,
)
from synapse_hub.core.outcome import Outcome, Refusal
from synapse_hub.core.state import State, apply_all
from synapse_hub.expiry import DueLeases
from synapse_hub.journal.journal import Journal, JournalBroken
from synapse_hub.journal.mark import Mark
from synapse_hub.journal.snapshot import Snapshot
from synapse_hub.journal.store import StoreError
from synapse_hub.snapshots import Snapshots
from synapse_hub.tally import Tally
from synapse_hub.waiting import Patience, WaitingRoom

MAX_BATCH = 256
# How often a writer that lost its journal tries to recover it.
_RECOVER_S = 0.5
# The writer's sleep, which does not count a suspended machine's, is never longer than this while leases live.
_LONGEST_SLEEP_S = 30.0
# While somebody waits, connections are looked at this often.
_WAITING_SLEEP_S = 1.0
_SWEEP_CHUNK = 500
# Old rows are forgotten a chunk at a time: after a moment without requests, or after so many batches.
_TIDY_PAUSE_S = 0.05
_TIDY_AFTER_BATCHES = 32
# What another hub answered need not be on the disk before this goes on: the intent is there, and while it stands
# without this, nothing counts on the answer. It is synced with the next commit, or after a moment without one.
_SETTLING = (ForwardSettled, ReceiptKept)
_SYNC_PAUSE_S = 0.1
# Events after which somebody who waits may get what it waits for.
_FREEING = (ClaimReleased, LeaseExpired, TaskHandedOff, ClaimGranted, NamespaceCeded)

log = logging.getLogger("synapse_hub")


class Answered(msgspec.Struct, frozen=True):
    """An outcome with the ``seq`` and ``now`` it was decided at."""

    outcome: Outcome
    seq: int
    now: float


Reply = Callable[[Answered], None]
UNAVAILABLE = Refusal(
    "JOURNAL_UNAVAILABLE",
    "the journal cannot be written, so nothing can be granted or released now",
    "Free the disk and look at the hub's log: synapse-git hub status",
)


class _Ticket(msgspec.Struct, frozen=True):
    command: AnyCommand
    reply: Reply
    patience: Patience | None = None
    place: int = 0


class Hub:
    """``on_grant`` is called after publication, before anyone hears of it, with the trees in which a verdict may
    have changed: granted in here, or where what another hub granted may be given back.


    ``on_publish`` gets the events after each publication, none where the state was read anew from the disk.
    ``on_bug`` is called when the writer is about to end by an error that nobody foresaw.
    """

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        *,
        state: State,
        on_grant: Callable[[Sequence[TreeKey]], None] = lambda _: None,
        on_publish: Callable[[Sequence[AnyEvent]], None] = lambda _: None,
        on_bug: Callable[[], None] = lambda: None,
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._on_grant = on_grant
        self._on_publish = on_publish
        self._on_bug = on_bug
        self._state = state
        self.tally = Tally()
        self._last_now = 0.0
        self._inbox: queue.SimpleQueue[_Ticket | Snapshot | None] = queue.SimpleQueue()
        self._snapshots = Snapshots(journal, self._inbox.put)
        self._due = DueLeases(state)
        self._room = WaitingRoom()
        self._waiting: dict[int, _Ticket] = {}
        self._places = itertools.count(1)
        self._freed = False
        self._untidied = 0
        self._suspect_batch = ""
        self._unsynced = journal.synced_seq < state.seq
        self._writer = threading.Thread(target=self._run, name="writer", daemon=True)

    @property
    def state(self) -> State:
        """The published state: everything in it is committed. Spec: INV-JA-1."""
        return self._state

    @property
    def granting(self) -> bool:
        return not self._suspect_batch

    @property
    def waiting(self) -> int:
        """How many claims wait for others to end."""
        return len(self._room)

    @property
    def hub_id(self) -> str:
        return self._journal.hub_id

    @property
    def incarnation(self) -> int:
        return self._journal.incarnation

    @property
    def mark(self) -> Mark:
        """How far the journal is covered by a full sync."""
        return self._journal.mark

    @property
    def synced_seq(self) -> int:
        """Up to here events may be shown to others."""
        return self._journal.synced_seq

    def now(self) -> float:
        """The lease clock, never behind the last decision."""
        return max(self._clock.now(), self._last_now)

    def start(self) -> None:
        """Serve what is submitted, after what a new hub knows: leases of a clock gone wild, sessions that are over."""
        ahead_s = self._state.last_at - self._clock.now()
        if ahead_s > ABSURDLY_AHEAD_S:
            log.warning(
                "the last event lies %d days ahead of this machine's clock; leases follow the clock", ahead_s // 86_400
            )
            self.submit(ReanchorLeases(ahead_s=ahead_s), _ignore)
        if live := self._state.names.live:
            # Whoever was connected to the hub before is not connected to this one.
            sessions = tuple((agent, bound.secret_sha256) for agent, bound in live.items())
            self.submit(EndSessions(sessions=sessions), _ignore)
        self._writer.start()

    def stop(self) -> None:
        """Answer what is queued, fold the journal, end the writer."""
        self._inbox.put(None)
        self._writer.join()

    def submit(self, command: AnyCommand, reply: Reply, patience: Patience | None = None) -> None:
        """Queue ``command``; ``reply`` is called once, from the writer's thread, when its outcome is durable.

        A caller that goes away changes nothing: what was committed stays (Spec: INV-JA-3). With ``patience`` a claim
        that others are in the way of waits for them to end.
        """
        self._inbox.put(_Ticket(command, reply, patience, next(self._places) if patience else 0))

    def transact(self, command: AnyCommand) -> Answered:
        """`submit` and wait."""
        done: queue.SimpleQueue[Answered] = queue.SimpleQueue()
        self.submit(command, done.put)
        return done.get()

    def _run(self) -> None:
        """A hub without its writer would leave everyone without an answer, so ``on_bug`` ends it."""
        ended = False
        try:
            self._write()
            ended = True
        finally:
            if not ended:
                log.critical("a bug in the writer", exc_info=True)
                self._on_bug()

    def _write(self) -> None:
        while True:
            tickets, more = self._take()
            if tickets and self.granting:
                self._transact_batch(tickets)
            elif tickets:
                self._refuse(tickets)
            elif self._unsynced and self.granting:
                self._sync()
            if not self.granting:
                self._recover()
            self._sweep()
            self._serve_waiting(final=not more)
            if self.granting:
                self._snapshots.consider(self._state)
                self._tidy(busy=bool(tickets))
            if not more:
                self._journal.close()
                return

    def _take(self) -> tuple[list[_Ticket], bool]:
        """What waits, at most a batch; False with it once `stop` was called. Sleeps until something is due."""
        tickets: list[_Ticket] = []
        try:
            item = self._inbox.get(timeout=self._pause())
            while item is not None:
                if isinstance(item, Snapshot):
                    self._snapshots.keep(item)
                else:
                    tickets.append(item)
                if len(tickets) >= MAX_BATCH:
                    return tickets, True
                item = self._inbox.get_nowait()
        except queue.Empty:
            return tickets, True
        return tickets, False

    def _tidy(self, *, busy: bool) -> None:
        """Forget old rows when nobody waits for an answer, and now and then even so: load may never end."""
        self._untidied += busy
        if self._snapshots.more and (not busy or self._untidied >= _TIDY_AFTER_BATCHES):
            self._untidied = 0
            self._snapshots.tidy()

    def _pause(self) -> float | None:
        if not self.granting:
            return _RECOVER_S
        if self._snapshots.more:
            return _TIDY_PAUSE_S
        if self._unsynced:
            return _SYNC_PAUSE_S
        due = [at for at in (self._due.next_at(), self._room.next_at()) if at is not None]
        if not due:
            return None
        longest = _WAITING_SLEEP_S if len(self._room) else _LONGEST_SLEEP_S
        return min(max(min(due) - self.now(), 0.0), longest)

    def _transact_batch(self, tickets: list[_Ticket]) -> None:
        began = time.monotonic()
        candidate, events, answers = self._state, list[AnyEvent](), list[Answered]()
        probe = False
        for ticket in tickets:
            self._last_now = now = self.now()
            outcome = decide(candidate, ticket.command, now)
            if ticket.place in self._waiting and isinstance(outcome, Refusal):
                outcome = msgspec.structs.replace(outcome, events=())  # its denial is on record since it came
            candidate = apply_all(candidate, outcome.events)
            events += outcome.events
            answers.append(Answered(outcome, candidate.seq, now))
            probe = probe or isinstance(ticket.command, ProbeJournal)
        batch = uuid.uuid4().hex
        try:
            if events:
                durable = not all(isinstance(event, _SETTLING) for event in events)
                self._journal.append(events, batch, candidate.epoch, durable=durable)
                self._unsynced = not durable
            elif probe:
                self._journal.probe()
        except StoreError:
            log.exception("the journal failed; granting stops until it is recovered")
            self._suspect_batch = batch
            self._refuse(tickets)
            return
        self._publish(candidate, events)
        for ticket, answer in zip(tickets, answers, strict=True):
            self._answer(ticket, answer)
        self.tally.batch(time.monotonic() - began)

    def _sync(self) -> None:
        try:
            self._journal.sync()
        except StoreError:
            log.exception("the journal failed; granting stops until it is recovered")
            self._suspect_batch = uuid.uuid4().hex
            return
        self._unsynced = False
        self._on_publish([])  # it may be shown to others from now on

    def _answer(self, ticket: _Ticket, answer: Answered) -> None:
        """Reply, or let a refused claim that has patience wait."""
        outcome = answer.outcome
        if ticket.patience and isinstance(outcome, Refusal):
            agent = _agent_of(ticket.command)
            refused = self._room.admit(ticket.place, agent, ticket.patience, outcome, answer.now)
            if refused is None:
                self._waiting[ticket.place] = ticket
                return
            answer = msgspec.structs.replace(answer, outcome=refused)
        self._reply(ticket, answer)

    def _reply(self, ticket: _Ticket, answer: Answered) -> None:
        self._room.leave(ticket.place)
        self._waiting.pop(ticket.place, None)
        self.tally.answer(ticket.command, answer.outcome)
        ticket.reply(answer)

    def _serve_waiting(self, *, final: bool) -> None:
        """Try those who wait, in order of arrival, whenever something may have become free."""
        for waiter in self._room.ended(float("inf") if final else self.now()):
            self._reply(self._waiting[waiter.place], Answered(waiter.refusal, self._state.seq, self.now()))
        while self._freed and self.granting and self._waiting:
            self._freed = False
            self._transact_batch([self._waiting[place] for place in self._room.places()])

    def _publish(self, state: State, events: Sequence[AnyEvent]) -> None:
        self._state = state
        self._due.follow(events)
        self._freed = self._freed or any(isinstance(event, _FREEING) for event in events)
        if trees := {tree for event in events if (tree := _unsettled(event))}:
            self._on_grant(list(trees))
        if events:
            self._on_publish(events)

    def _refuse(self, tickets: list[_Ticket]) -> None:
        """Spec: INV-JA-2. The outcome is unknown, not "no": a retry with the same key will tell."""
        for ticket in tickets:
            self._reply(ticket, Answered(UNAVAILABLE, self._state.seq, self.now()))

    def _recover(self) -> None:
        try:
            state, committed = self._journal.recover(self._suspect_batch)
        except JournalBroken:
            log.exception("the journal does not hold together; not granting from it")
            return
        except (StoreError, OSError) as error:
            log.warning("the journal cannot be recovered yet: %s", error)
            return
        log.warning("the journal is recovered; the batch in doubt was %scommitted", "" if committed else "not ")
        self._due = DueLeases(state)
        self._suspect_batch, self._unsynced = "", False
        self._freed = True  # the batch in doubt may have ended what somebody waits for
        self._state = state
        self._on_grant([*state.trees, *((namespace, "") for namespace in state.team.governed)])
        self._on_publish([])

    def _sweep(self) -> None:
        """Write down leases that ended, a chunk at a time."""
        if not self.granting:
            return
        due = self._due.take(self._state, self.now(), _SWEEP_CHUNK)
        if due:
            self._transact_batch([_Ticket(ExpireDue(tasks=tuple(due)), _ignore)])


def _unsettled(event: AnyEvent) -> TreeKey | None:
    """The tree in which a change that was let in may not be let in any more."""
    if isinstance(event, ClaimGranted | TaskHandedOff):
        return event.claim.tree
    if isinstance(event, ClaimForwarded | ReceiptEnded | OwnershipContested):
        return (event.namespace, "")
    if isinstance(event, NamespaceGoverned | NamespaceCeded | NamespaceFreed):
        return (event.namespace, "")
    return None


def _ignore(_: Answered) -> None:
    pass


def _agent_of(command: AnyCommand) -> str:
    inner = command.command if isinstance(command, Keyed) else command
    return inner.agent if isinstance(inner, TakeClaim) else ""
