"""A team in one process: pure cores, a network of messages, clocks that drift and jump. Every choice is drawn.

Two edges and an owner. A core's journal is a list with a synced mark, to which the end of its machine cuts it back.
True time is known to the world alone. After every step it is checked that no receipt covers a path which, in truth,
another agent holds.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Protocol

from synapse_git.constants import (
    CLOCK_DRIFT_SHARE,
    DEFAULT_MESSAGE_AUTH_FUTURE_SKEW_SECONDS,
    DEFAULT_MESSAGE_AUTH_WINDOW_SECONDS,
    OWNER_DEADLINE_SECONDS,
)
from synapse_git.protocol.path import from_wire
from synapse_git.scope import overlap
from synapse_hub.core.claim import TaskKey
from synapse_hub.core.commands import AnyCommand, Keyed
from synapse_hub.core.commands.claims import FamilyCommand, HandOff, ReleaseClaim, TakeClaim
from synapse_hub.core.commands.team import ForwardClaim, GovernNamespace, RefreshReceipts, SettleForward
from synapse_hub.core.decide import decide
from synapse_hub.core.events import AnyEvent
from synapse_hub.core.outcome import Decided, Outcome, claim_document
from synapse_hub.core.state import State, apply_all
from synapse_hub.federation.nonces import Nonces
from synapse_hub.federation.receipts import Sending, receipt

NAMESPACE = "acme/api"
TASKS = ("t1", "t2")
PATHS = ("src", "src/a", "docs")
_START = 1_000_000.0


class Violation(Exception):
    """A rule was broken; the text says which."""


class Play(Protocol):
    """A history, made of the choices that a seed stands for."""

    def __init__(self, seed: int) -> None: ...

    def run(self, steps: int) -> None:
        """Raises: Violation."""


def violates(kind: type[Play], seeds: range, steps: int) -> int | None:
    """The first seed with a history of so many steps that breaks a rule."""
    for seed in seeds:
        try:
            kind(seed).run(steps)
        except Violation:
            return seed
    return None


class Machine:
    """A core with its clocks: ``boot`` seconds drift, ``wall`` seconds jump; ``boots`` tells boots apart.

    ``drift``: the share by which the boot clock runs fast or slow, from the beginning to the end.
    """

    def __init__(self, name: str, chance: random.Random, drift: float = 0.0) -> None:
        self.name = name
        self.state = State()
        self._journal: list[AnyEvent] = []
        self._synced = 0
        self.boots = 1
        self.rate = 1.0 + (drift if chance.random() < 0.5 else -drift)
        self._wall_ahead = chance.uniform(-0.4, 0.4)
        self._boot_behind = 0.0
        self._last = 0.0

    def boot(self, true: float) -> float:
        """The lease clock, which never goes back."""
        self._last = max(self._last, _START + self.rate * (true - _START) - self._boot_behind)
        return self._last

    def wall(self, true: float) -> float:
        return true + self._wall_ahead

    def jump(self, seconds: float) -> None:
        """Somebody sets the wall clock."""
        self._wall_ahead = seconds

    def freeze(self, seconds: float) -> None:
        """The boot clock stood still for so long, as a restored image's does; the wall clock was put right."""
        self._boot_behind += seconds

    def do(self, command: AnyCommand, true: float, *, sync: bool = True) -> Outcome:
        outcome = decide(self.state, command, self.boot(true))
        self._journal += outcome.events
        if sync:
            self._synced = len(self._journal)
        self.state = apply_all(self.state, outcome.events)
        return outcome

    def crash(self, *, reboot: bool = False) -> None:
        """Lose everything in memory, and, with the machine, what was not synced."""
        if reboot:
            del self._journal[self._synced :]
        self.state = apply_all(State(), self._journal)
        self.boots += reboot


class Request:
    """On its way to the owner. ``created``: as its signature says; ``answer``: what becomes of the owner's word."""

    def __init__(
        self, edge: Edge, created: int, nonce: str, act: Callable[[float], Any], take: Callable[[Any, float], None]
    ) -> None:
        self.edge = edge
        self.created = created
        self.nonce = nonce
        self.act = act
        self.take = take


class Turn:
    """An errand under way: until when an answer is waited for, and how many copies of it were sent."""

    def __init__(self, until: float) -> None:
        self.until = until
        self.copies = 1


class Edge(Machine):
    """``lives``: of its process; an answer to an earlier one reaches nobody. ``turns``: errands by task.

    Either its wall clock is set about, or its boot clock stands still at times: with both wrong there is no clock.
    """

    def __init__(self, name: str, chance: random.Random, drift: float) -> None:
        super().__init__(name, chance, drift)
        self.lives = 1
        self.turns: dict[str, Turn] = {}
        self.freezes = chance.random() < 0.5

    def crash(self, *, reboot: bool = False) -> None:
        super().crash(reboot=reboot)
        self.lives += 1
        self.turns.clear()


class World:
    """All that is drawn comes from ``chance``. Subclasses break single rules; see `BROKEN` in the tests."""

    hasty = False
    # Between two clocks no more is allowed for, and in these histories it is never less.
    drift = CLOCK_DRIFT_SHARE

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.true = _START
        self.owner = Machine("a", self.chance)
        self.edges = (Edge("b", self.chance, self.drift), Edge("c", self.chance, self.drift))
        self.network: list[tuple[float, str, Any]] = []
        self.nonces = Nonces()
        self.owner_started = self.owner.wall(self.true)
        self.applied: dict[str, int] = {}
        self._count = 0
        for machine in (self.owner, *self.edges):
            mine = machine is self.owner
            machine.do(
                GovernNamespace(namespace=NAMESPACE, owner="a", mine=mine, remotes=(), exclusion="repository"),
                self.true,
            )

    # ---- rules that a broken variant replaces ----

    def sending(self, edge: Edge, _arrived: float) -> Sending:
        """The moment before a request leaves."""
        return Sending(edge.boot(self.true), edge.wall(self.true), f"{edge.name}{edge.boots}")

    def boot_id(self, edge: Edge) -> str:
        return f"{edge.name}{edge.boots}"

    def covers(self, edge: Edge, task: TaskKey) -> bool:
        wall, boot_id = edge.wall(self.true), self.boot_id(edge)
        return edge.state.team.covers(task, edge.boot(self.true), wall, boot_id)

    def intent(self, edge: Edge, task: str, key: str) -> None:
        edge.do(
            ForwardClaim(
                namespace=NAMESPACE, task_id=task, agent="x", verb="claim", key=key,
                wall=edge.wall(self.true), patience_s=OWNER_DEADLINE_SECONDS,
            ),
            self.true,
        )  # fmt: skip

    def old_news(self, outcome: Decided) -> bool:
        """Is it what the owner answered before, which may hold no more?"""
        return bool(outcome.answer.get("replayed"))

    def refreshed(self, edge: Edge, command: RefreshReceipts) -> None:
        edge.do(command, self.true)

    def admits(self, request: Request) -> bool:
        """The owner's judgement of a signature. Spec: INV-CK-2"""
        wall = self.owner.wall(self.true)
        late = request.created < wall - DEFAULT_MESSAGE_AUTH_WINDOW_SECONDS
        early = request.created > wall + DEFAULT_MESSAGE_AUTH_FUTURE_SKEW_SECONDS
        if late or early or request.created < self.owner_started or self.nonces.outlived(request.created):
            return False
        if self.nonces.known(request.edge.name, request.nonce, request.created):
            return False
        return self.nonces.remember(request.edge.name, request.nonce, request.created, wall)

    def decided(self, command: FamilyCommand, key: str) -> Outcome:
        """At the owner."""
        keyed = Keyed(sender=command.agent, verb=type(command).__name__, key=key, digest="d", command=command)
        return self.owner.do(keyed, self.true)

    def taken_away(self, command: ReleaseClaim) -> None:
        """By an agent at the owner."""
        self.owner.do(command, self.true)

    def listed(self, edge: Edge) -> tuple[list[dict[str, Any]], list[tuple[str, str, int, str]]]:
        """What the owner says that agents of ``edge`` hold, and what it took away."""
        now = self.owner.boot(self.true)
        mine = [c for c in self.owner.state.claims.values() if c.principal.startswith(edge.name + "/") and c.live(now)]
        revoked = [(c.namespace, c.task_id, c.epoch, c.owner) for c in mine if c.revoked]
        return [self.told(edge, claim_document(c)) for c in mine if not c.revoked], revoked

    # ---- steps ----

    def run(self, steps: int) -> None:
        """Raises: Violation."""
        kinds = (
            self.ask,
            self.ask,
            self.deliver,
            self.deliver,
            self.deliver,
            self.refresh,
            self.home,
            self.wait,
            self.mishap,
        )
        for _ in range(steps):
            self.chance.choice(kinds)()
            self.check()

    def wait(self) -> None:
        self.true += self.chance.choice((0.01, 0.3, 2.0, 7.0, 16.0, 33.0, 61.0))

    def ask(self) -> None:
        """An agent of an edge claims, narrows, hands over or gives back."""
        edge = self.chance.choice(self.edges)
        task = self.chance.choice(TASKS)
        if task in edge.turns and edge.turns[task].until > edge.boot(self.true):
            return
        agent = f"{edge.name}/{self.chance.choice('xy')}"
        kind = self.chance.choice(("claim", "claim", "release", "handoff"))
        command: FamilyCommand
        if kind == "claim":
            command = self.take(agent, f"{edge.name}/uid:1", task)
        elif kind == "release":
            command = ReleaseClaim(agent=agent, namespace=NAMESPACE, task_id=task)
        else:
            to = f"{edge.name}/{self.chance.choice('xy')}"
            command = HandOff(agent=agent, namespace=NAMESPACE, task_id=task, to=to)
        self._count += 1
        self.errand(edge, task, command, f"k{self._count}")

    def errand(self, edge: Edge, task: str, command: FamilyCommand, key: str) -> None:
        """Have the owner asked, once or twice at a time."""
        begun = edge.state.team.under_way.get((NAMESPACE, task), ())
        open_before = any(one.key == key for one in begun)
        self.intent(edge, task, key)
        edge.turns[task] = Turn(edge.boot(self.true) + OWNER_DEADLINE_SECONDS)
        edge.turns[task].copies += open_before
        self.carry(edge, task, command, key, edge.turns[task])
        if self.chance.random() < 0.2:
            edge.turns[task].copies += 1
            self.carry(edge, task, command, key, edge.turns[task])

    def take(self, agent: str, principal: str, task: str) -> TakeClaim:
        paths = (self.chance.choice(PATHS),)
        ttl_s = self.chance.choice((30.0, 60.0, 3600.0))
        return TakeClaim(
            agent=agent, principal=principal, namespace=NAMESPACE, task_id=task, worktree="", paths=paths, ttl_s=ttl_s
        )

    def carry(self, edge: Edge, task: str, command: FamilyCommand, key: str, turn: Turn) -> None:
        lives, sent = edge.lives, self.sending(edge, 0.0)

        def act(_: float) -> Any:
            outcome = self.decided(command, key)
            if isinstance(outcome, Decided) and outcome.events:
                self.applied[key] = self.applied.get(key, 0) + 1
            return outcome, self.owner.state.seq, self.owner.boot(self.true)

        def take(word: Any, arrived: float) -> None:
            if edge.lives != lives or edge.turns.get(task) is not turn or turn.until <= edge.boot(self.true):
                return
            edge.turns.pop(task)
            if isinstance(word[0], Decided) or self.settles(turn):
                self.conclude(edge, task, command, key, word, self.counted_from(edge, sent))

        self.send(edge, act, take)

    def settles(self, turn: Turn) -> bool:
        """Is a refusal the last word?"""
        return turn.copies == 1

    def counted_from(self, edge: Edge, sent: Sending) -> Sending:
        """From when on a lease counts: before it was asked for."""
        del edge
        return sent

    def conclude(self, edge: Edge, task: str, command: FamilyCommand, key: str, word: Any, sent: Sending) -> None:
        outcome, seq, now = word
        ended = True
        if not isinstance(outcome, Decided):
            ended = outcome.reason == "NOT_HELD"
        elif not isinstance(command, ReleaseClaim) and not self.old_news(outcome):
            document = self.told(edge, outcome.answer)
            edge.do(receipt(document, {"seq": seq, "now": now}, sent, "uid:1", key), self.true, sync=False)
            return
        edge.do(SettleForward(namespace=NAMESPACE, task_id=task, key=key, ended=ended), self.true, sync=False)

    def told(self, edge: Edge, document: dict[str, Any]) -> dict[str, Any]:
        return {**document, "owner": str(document["owner"]).removeprefix(edge.name + "/")}

    def refresh(self) -> None:
        edge = self.chance.choice(self.edges)
        lives, sent = edge.lives, self.sending(edge, 0.0)

        def act(_: float) -> Any:
            return (*self.listed(edge), self.owner.state.seq, self.owner.boot(self.true))

        def take(word: Any, _: float) -> None:
            if edge.lives != lives or edge.boot(self.true) > sent.boot + OWNER_DEADLINE_SECONDS:
                return
            documents, revoked, seq, now = word
            counted = self.counted_from(edge, sent)
            held = tuple(receipt(one, {"seq": seq, "now": now}, counted, "uid:1", "") for one in documents)
            ends = tuple(one[:3] for one in revoked)
            self.refreshed(
                edge,
                RefreshReceipts(namespaces=(NAMESPACE,), held=held, revoked=ends, sent_at=sent.boot, wall=sent.wall),
            )
            for one in revoked:
                if one[:2] not in edge.state.team.under_way or self.hasty:
                    self.acknowledge(edge, one)

        self.send(edge, act, take)

    def acknowledge(self, edge: Edge, revoked: tuple[str, str, int, str]) -> None:
        release = ReleaseClaim(agent=revoked[3], namespace=NAMESPACE, task_id=revoked[1], epoch=revoked[2])
        self.send(edge, lambda _: self.decided(release, f"revoked-{revoked[2]}"), lambda *_: None)

    def home(self) -> None:
        """An agent at the owner claims, gives back, or takes away."""
        task = self.chance.choice(TASKS)
        kind = self.chance.choice(("claim", "claim", "release", "force"))
        command: FamilyCommand
        if kind == "claim":
            command = self.take("home", "uid:1", task)
        else:
            force = kind == "force"
            command = ReleaseClaim(agent="home", namespace=NAMESPACE, task_id=task, force=force, reason_text="r")
            if force:
                self.taken_away(command)
                return
        self.owner.do(command, self.true)

    def send(self, edge: Edge, act: Callable[[float], Any], take: Callable[[Any, float], None]) -> None:
        self._count += 1
        request = Request(edge, int(edge.wall(self.true)), f"n{self._count}", act, take)
        self.network.append((self.true, "request", request))

    def deliver(self) -> None:
        """Any message, in any order; it may be lost, or come a second time later."""
        if not self.network:
            return
        at = self.chance.randrange(len(self.network))
        sent, kind, what = self.network[at]
        fate = self.chance.random()
        if fate > 0.15:
            self.network.pop(at)
        if fate < 0.1 or fate > 0.9:
            return
        if kind == "request":
            if self.admits(what):
                self.network.append((self.true, "answer", (what, what.act(self.true))))
        else:
            what[0].take(what[1], sent)

    def mishap(self) -> None:
        edge = self.chance.choice(self.edges)
        match self.chance.randrange(12):
            case 0:
                edge.crash()
            case 1:
                edge.crash(reboot=True)
            case 2:
                self.restart_owner()
            case 3:
                self.owner.jump(self.chance.choice((0.0, -5.0, 5.0, 3600.0, -3600.0)))
            case 4:
                if edge.freezes:
                    edge.freeze(40.0)
                else:
                    edge.jump(self.chance.choice((0.0, 0.0, -5.0, 5.0, 3600.0, -3600.0)))
            case _:
                self.wait()

    def restart_owner(self) -> None:
        self.owner.crash()
        self.nonces = Nonces()
        self.owner_started = self.owner.wall(self.true)

    # ---- what must hold ----

    def check(self) -> None:
        for key, times in self.applied.items():
            if times > 1:
                raise Violation(f"{key} took effect {times} times")
        now = self.owner.boot(self.true)
        live = [claim for claim in self.owner.state.claims.values() if claim.live(now)]
        for edge in self.edges:
            team = edge.state.team
            for task, kept in team.receipts.items():
                if not self.covers(edge, task):
                    continue
                for claim in live:
                    if claim.owner == f"{edge.name}/{kept.claim.owner}":
                        continue
                    mine = [from_wire(path) for path in kept.claim.paths]
                    if any(overlap(a, from_wire(b)) for a in mine for b in claim.paths):
                        raise Violation(f"{edge.name}'s receipt of {task[1]} covers what {claim.owner} holds")
