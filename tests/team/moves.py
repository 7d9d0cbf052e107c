"""A namespace that moves between three hubs in one process, while their agents claim. Every choice is drawn.

The cores and the parts of an estate are the real ones; messages are lost, late, doubled and out of order, and each hub
may crash at any step. True time is known to the world alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec

from synapse_git.constants import CLOCK_DRIFT_SHARE, OWNER_DEADLINE_SECONDS
from synapse_git.protocol.path import from_wire
from synapse_git.scope import overlap
from synapse_hub.core.claim import Claim
from synapse_hub.core.commands import Keyed
from synapse_hub.core.commands.claims import FamilyCommand, ReleaseClaim, TakeClaim
from synapse_hub.core.commands.team import (
    CedeNamespace,
    ConfirmDelivery,
    ForwardClaim,
    GovernNamespace,
    RefreshReceipts,
    SettleForward,
)
from synapse_hub.core.outcome import Decided, Outcome, claim_document
from synapse_hub.core.team.state import Governed
from synapse_hub.federation.estate import Arrivals, EstatePart, assembled, parts
from synapse_hub.federation.names import seen_by
from synapse_hub.federation.receipts import Sending, receipt
from tests.team.world import NAMESPACE, PATHS, TASKS, Machine, Turn, Violation

_START = 1_000_000.0
NAMES = ("a", "b", "c")
# A signed request reaches nobody later than this.
_WINDOW_S = 11.0


class Mover(Machine):
    """A hub. ``lives``: of its process; ``turns``: errands by task, the last of each."""

    def __init__(self, name: str, chance: random.Random) -> None:
        super().__init__(name, chance, CLOCK_DRIFT_SHARE / 4)
        self.lives = 1
        self.turns: dict[str, Turn] = {}
        self.arrivals = Arrivals()

    def crash(self, *, reboot: bool = False) -> None:
        super().crash(reboot=reboot)
        self.lives += 1
        self.turns.clear()
        self.arrivals = Arrivals()

    def waits(self, task: str, true: float) -> bool:
        """Is there an errand about ``task`` whose answer is waited for?"""
        return task in self.turns and self.boot(true) < self.turns[task].until

    @property
    def known(self) -> Governed:
        return self.state.team.governed[NAMESPACE]

    @property
    def grants(self) -> bool:
        return self.known.mine

    def called(self, owner: str) -> str:
        """An agent that is called so here, as everyone would call it."""
        return owner if owner.partition("/")[0] in NAMES and "/" in owner else f"{self.name}/{owner}"


class Moves:
    """Subclasses break single rules."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.true = _START
        self.hubs = {name: Mover(name, self.chance) for name in NAMES}
        self.network: list[tuple[float, Callable[[], None]]] = []
        self.asked_for: list[tuple[Mover, FamilyCommand, str]] = []
        self.applied: dict[str, int] = {}
        self.epochs: dict[str, int] = {}
        self._count = 0
        for hub in self.hubs.values():
            mine = hub.name == "a"
            govern = GovernNamespace(namespace=NAMESPACE, owner="a", mine=mine, remotes=(), exclusion="repository")
            hub.do(govern, self.true)

    # ---- rules that a broken variant replaces ----

    def ceded(self, hub: Mover, command: CedeNamespace) -> Outcome:
        return hub.do(command, self.true)

    def handed_over(self, part: EstatePart) -> EstatePart:
        return part

    def announced(self, heir: Mover, giver: str, term: int) -> None:
        """The heir hears of its luck, and waits."""

    def inherited(self, heir: Mover, whole: list[EstatePart], giver: str) -> Outcome:
        return heir.do(assembled(whole, giver, heir.name), self.true)

    def crashed(self, hub: Mover) -> None:
        hub.crash(reboot=self.chance.random() < 0.3)

    def asked(self, owner: Mover) -> str:
        """Whose word a listing is."""
        return owner.name

    # ---- steps ----

    def run(self, steps: int) -> None:
        """Raises: Violation."""
        asks, mails = [self.ask] * 3, [self.deliver] * 5
        kinds = (*asks, *mails, self.again, self.refresh, self.transfer, self.transfer, self.wait, self.mishap)
        for _ in range(steps):
            self.chance.choice(kinds)()
            self.check()

    def wait(self) -> None:
        self.true += self.chance.choice((0.01, 0.3, 2.0, 7.0, 16.0, 61.0))

    def mishap(self) -> None:
        if self.chance.random() < 0.4:
            self.crashed(self.chance.choice(list(self.hubs.values())))
        else:
            self.wait()

    def ask(self) -> None:
        hub, task = self.chance.choice(list(self.hubs.values())), self.chance.choice(TASKS)
        if hub.waits(task, self.true):
            return
        kind = self.chance.choice(("claim", "claim", "release", "force"))
        agent = self.chance.choice("xy")
        command: FamilyCommand
        if kind == "claim":
            paths, ttl_s = (self.chance.choice(PATHS),), self.chance.choice((30.0, 3600.0))
            command = TakeClaim(
                agent=agent, principal="uid:1", namespace=NAMESPACE, task_id=task, worktree="", paths=paths, ttl_s=ttl_s
            )
        else:
            force = kind == "force" and hub.grants
            command = ReleaseClaim(agent=agent, namespace=NAMESPACE, task_id=task, force=force, reason_text="r")
        self._count += 1
        self.asked_for.append((hub, command, f"k{self._count}"))
        self.errand(*self.asked_for[-1], hops=0)

    def again(self) -> None:
        """An agent that heard no answer asks under the same key, however late."""
        if self.asked_for:
            hub, command, key = self.chance.choice(self.asked_for)
            if not hub.waits(command.task_id, self.true):
                self.errand(hub, command, key, hops=0)

    def errand(self, hub: Mover, command: FamilyCommand, key: str, hops: int) -> None:
        """Done here where this hub grants, else carried to who does as far as it knows."""
        owner = self.hubs[hub.known.owner]
        if owner is hub:
            self.decided(hub, hub, command, key)
            return
        task = command.task_id
        intent = ForwardClaim(
            namespace=NAMESPACE, task_id=task, agent=command.agent, verb="claim", key=key,
            wall=hub.wall(self.true), patience_s=OWNER_DEADLINE_SECONDS,
        )  # fmt: skip
        hub.do(intent, self.true)
        turn = hub.turns[task] = Turn(hub.boot(self.true) + OWNER_DEADLINE_SECONDS)
        lives, sent = hub.lives, self.sending(hub)

        def answer(word: Any) -> None:
            # The connection of an errand that was given up is gone, and with it the answer.
            if hub.lives == lives and hub.turns.get(task) is turn and hub.waits(task, self.true):
                hub.turns.pop(task)
                self.concluded(hub, command, key, word, sent, hops)

        for _ in range(1 + (self.chance.random() < 0.2)):
            self.send(lambda: self.post(partial(answer, self.decided(owner, hub, command, key))))

    def decided(self, owner: Mover, asker: Mover, command: FamilyCommand, key: str) -> Any:
        """The owner's word, with how far it had come; its deed where it granted once."""
        known = owner.known
        if not known.mine:
            told = known.deed if NAMESPACE not in owner.state.team.estates else None
            return told, owner.name, known.term, known.owner
        if owner is not asker:
            command = msgspec.structs.replace(command, agent=f"{asker.name}/{command.agent}")
            if isinstance(command, TakeClaim):
                command = msgspec.structs.replace(command, principal=f"{asker.name}/uid:1")
        principal = "uid:1" if owner is asker else f"{asker.name}/uid:1"
        sender = f"{principal}/{command.agent}"
        keyed = Keyed(sender=sender, verb=type(command).__name__, key=key, digest="d", command=command)
        outcome = owner.do(keyed, self.true)
        if isinstance(outcome, Decided) and outcome.events:
            self.applied[key] = self.applied.get(key, 0) + 1
            if isinstance(command, TakeClaim):
                self.granted(command.task_id, int(outcome.answer["epoch"]))
        return outcome, owner.state.seq, owner.boot(self.true), owner

    def granted(self, task: str, epoch: int) -> None:
        if epoch <= self.epochs.get(task, 0):
            raise Violation(f"{task} was granted under epoch {epoch} after {self.epochs[task]}")
        self.epochs[task] = epoch

    def concluded(self, hub: Mover, command: FamilyCommand, key: str, word: Any, sent: Sending, hops: int) -> None:
        said = word[0]
        if said is None:
            return
        if isinstance(said, dict):
            self.learn(hub, *word[1:])
            if hops < 3 and not hub.grants:
                self.errand(hub, command, key, hops + 1)
            return
        _, seq, now, owner = word
        if isinstance(said, Decided) and isinstance(command, TakeClaim) and not said.answer.get("replayed"):
            document = self.told(owner, hub, said.answer)
            hub.do(receipt(document, {"seq": seq, "now": now}, sent, "uid:1", key), self.true)
        elif isinstance(said, Decided):
            hub.do(SettleForward(namespace=NAMESPACE, task_id=command.task_id, key=key, ended=True), self.true)

    def learn(self, hub: Mover, giver: str, term: int, heir: str) -> None:
        if hub.known.owner == giver and hub.known.term < term and heir != hub.name:
            govern = GovernNamespace(
                namespace=NAMESPACE, owner=heir, mine=False, remotes=(), exclusion="repository", term=term
            )
            hub.do(govern, self.true)

    def refresh(self) -> None:
        hub = self.chance.choice(list(self.hubs.values()))
        if hub.grants:
            return
        owner, lives, sent = self.hubs[hub.known.owner], hub.lives, self.sending(hub)

        def take(word: Any) -> None:
            if hub.lives == lives and hub.boot(self.true) < sent.boot + OWNER_DEADLINE_SECONDS:
                self.listed(hub, owner, word, sent)

        self.send(lambda: self.post(partial(take, self.listing(owner, hub))))

    def listing(self, owner: Mover, hub: Mover) -> Any:
        known, now = owner.known, owner.boot(self.true)
        deed = known.deed if NAMESPACE not in owner.state.team.estates else None
        of_hub = (one for one in owner.state.claims.values() if one.principal.startswith(hub.name + "/"))
        mine = [one for one in of_hub if one.live(now)]
        held = [self.told(owner, hub, claim_document(one)) for one in mine if not one.revoked]
        revoked = [(one.task_id, one.epoch, one.owner) for one in mine if one.revoked]
        return held, revoked, owner.state.seq, now, (owner.name, known.term, known.owner) if deed else None

    def listed(self, hub: Mover, owner: Mover, word: Any, sent: Sending) -> None:
        documents, revoked, seq, now, deed = word
        held = tuple(receipt(one, {"seq": seq, "now": now}, sent, "uid:1", "") for one in documents)
        spaces = (NAMESPACE,) if hub.known.owner == owner.name else ()
        ends = tuple((NAMESPACE, task, epoch) for task, epoch, _ in revoked)
        heard = RefreshReceipts(
            namespaces=spaces, held=held, revoked=ends, sent_at=sent.boot, wall=sent.wall, owner=self.asked(owner)
        )
        hub.do(heard, self.true)
        if deed:
            self.learn(hub, *deed)
        for task, epoch, agent in revoked:
            if (NAMESPACE, task) not in hub.state.team.under_way:
                release = ReleaseClaim(agent=agent.partition("/")[2], namespace=NAMESPACE, task_id=task, epoch=epoch)
                self.send(partial(self.decided, owner, hub, release, f"revoked-{epoch}"))

    def transfer(self) -> None:
        """Somebody types the command: a tombstone where this hub grants, and what is held once more where it did."""
        hub = self.chance.choice(list(self.hubs.values()))
        if hub.grants:
            heir = self.chance.choice([name for name in NAMES if name != hub.name])
            term = hub.known.term + 1
            self.ceded(hub, CedeNamespace(namespace=NAMESPACE, owner=heir, term=term, deed={"deed": "d"}))
        if NAMESPACE in hub.state.team.estates:
            self.deliver_estate(hub, self.hubs[hub.known.owner], hub.known.term)

    def deliver_estate(self, giver: Mover, heir: Mover, term: int) -> None:
        say = partial(seen_by, heir.name, giver.name, [name for name in NAMES if name != giver.name])
        (whole,) = parts(giver.state, NAMESPACE, term, say, giver.boot(self.true))
        halves = (
            msgspec.structs.replace(whole, parts=2, answers=[], checkpoints=[]),
            msgspec.structs.replace(whole, part=2, parts=2, claims=[]),
        )
        lives = giver.lives

        def confirmed() -> None:
            if giver.lives == lives:
                giver.do(ConfirmDelivery(namespace=NAMESPACE, term=term), self.true)

        for half in halves:
            raw = msgspec.json.encode(self.handed_over(half))
            self.send(partial(self.arrived, heir, giver.name, raw, confirmed))

    def arrived(self, heir: Mover, giver: str, raw: bytes, confirmed: Callable[[], None]) -> None:
        part = msgspec.json.decode(raw, type=EstatePart)
        self.announced(heir, giver, part.term)
        whole = heir.arrivals.add(giver, part)
        if whole and isinstance(outcome := self.inherited(heir, whole, giver), Decided):
            del outcome
            self.post(confirmed)

    def told(self, owner: Mover, hub: Mover, document: dict[str, Any]) -> dict[str, Any]:
        peers = [name for name in NAMES if name != owner.name]
        said = seen_by(hub.name, owner.name, peers, str(document["owner"]))
        return {**document, "owner": said, "hub_id": owner.name}

    def sending(self, hub: Mover) -> Sending:
        return Sending(hub.boot(self.true), hub.wall(self.true), f"{hub.name}{hub.boots}")

    def send(self, act: Callable[[], object]) -> None:
        """A signed request: too late it counts for nothing, and once only."""
        sent, done = self.true, list[bool]()

        def once() -> None:
            if self.true - sent < _WINDOW_S and not done:
                done.append(True)
                act()

        self.network.append((self.true, once))

    def post(self, act: Callable[[], None]) -> None:
        self.network.append((self.true, act))

    def deliver(self) -> None:
        """Any message, in any order; it may be lost, or come a second time later."""
        if not self.network:
            return
        at = self.chance.randrange(len(self.network))
        fate = self.chance.random()
        _, act = self.network.pop(at) if fate > 0.15 else self.network[at]
        if 0.1 <= fate <= 0.95:
            act()

    # ---- what must hold ----

    def check(self) -> None:
        granting = [hub.name for hub in self.hubs.values() if hub.grants]
        if len(granting) > 1:
            raise Violation(f"{' and '.join(granting)} grant")
        if twice := [key for key, times in self.applied.items() if times > 1]:
            raise Violation(f"{twice[0]} took effect twice")
        held = list(self.held())
        for hub in self.hubs.values():
            wall, boot_id = hub.wall(self.true), f"{hub.name}{hub.boots}"
            for task, kept in hub.state.team.receipts.items():
                if not hub.grants and hub.state.team.covers(task, hub.boot(self.true), wall, boot_id):
                    self._alone(hub, kept.claim, held)

    def held(self) -> Iterator[tuple[str, Claim]]:
        """What is live in truth, and whose: at whoever grants, else where it waits to be handed over."""
        hub = max(
            self.hubs.values(), key=lambda one: (one.known.term if one.grants or one.known.deed else -1, one.grants)
        )
        estate = hub.state.team.estates.get(NAMESPACE)
        claims = hub.state.claims.values() if hub.grants else estate.claims if estate else ()
        for claim in claims:
            if claim.live(hub.boot(self.true)):
                yield hub.called(claim.owner), claim

    def _alone(self, hub: Mover, mine: Claim, held: list[tuple[str, Claim]]) -> None:
        for owner, claim in held:
            if owner == f"{hub.name}/{mine.owner}":
                continue
            if any(overlap(from_wire(a), from_wire(b)) for a in mine.paths for b in claim.paths):
                raise Violation(f"{hub.name}'s receipt of {mine.task_id} covers what {owner} holds")
