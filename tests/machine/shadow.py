"""What the claim family must do, told a second time: dictionaries and tuples, no index, nothing of the product.

Imports neither the decisions nor the scope algebra, so that the two can disagree.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

CAP = 128
Parts = tuple[str, ...]


def parts(path: str) -> Parts:
    """``a/b`` as ("a", "b"); the root as ()."""
    return tuple(path.split("/")) if path else ()


def overlapping(a: Parts, b: Parts) -> bool:
    """Is one a prefix of the other, part by part?"""
    shorter = min(len(a), len(b))
    return a[:shorter] == b[:shorter]


@dataclass(frozen=True)
class Lease:
    """A claim as the model sees it. ``paths``: never empty, the whole tree is {()}."""

    owner: str
    principal: str
    tree: str
    paths: frozenset[Parts]
    ttl: float
    ends: float
    epoch: int
    version: int = 0
    status: str = "claimed"
    checkpoint: object = None


@dataclass
class Shadow:
    """The expected registry, and what each request must come to."""

    leases: dict[tuple[str, str], Lease] = field(default_factory=dict)
    kept: dict[tuple[str, str], object] = field(default_factory=dict)
    principals: dict[str, str] = field(default_factory=dict)
    epoch: int = 0

    def live(self, now: float) -> dict[tuple[str, str], Lease]:
        """What is held at ``now``: a lease at its end is over."""
        return {key: lease for key, lease in self.leases.items() if lease.ends > now}

    def blockers(self, agent: str, ns: str, tree: str, paths: frozenset[Parts], now: float) -> set[tuple[str, str]]:
        """Live claims of others in that tree that overlap."""
        return {
            key
            for key, lease in self.live(now).items()
            if lease.owner != agent
            and (lease.tree == tree and (tree != "" or key[0] == ns))
            and any(overlapping(a, b) for a in lease.paths for b in paths)
        }

    def claim(
        self,
        now: float,
        agent: str,
        principal: str,
        key: tuple[str, str],
        tree: str | None,
        paths: list[str] | None,
        ttl: float | None,
        add: bool,
        epoch: int | None = None,
    ) -> str:
        """'' if it must be granted (and is, here), else the reason it must be refused for."""
        held = self.live(now).get(key)
        if held and held.owner != agent:
            return "LEASE_LIVE"
        if epoch is not None and (held is None or held.epoch != epoch):
            return "STALE_EPOCH" if held else "NOT_HELD"
        if held is None and paths is None:
            return "INVALID_SCOPE"
        if held and tree is not None and tree != held.tree:
            return "INVALID_SCOPE"
        there = held.tree if held else tree or ""
        asked = None if paths is None else frozenset(parts(path) for path in paths) or frozenset({()})
        if held and asked is None:
            wanted = held.paths
        elif held and add:
            assert asked is not None
            wanted = held.paths | asked
        else:
            assert asked is not None
            wanted = asked
        if () in wanted:
            wanted = frozenset({()})
        if self.blockers(agent, key[0], there, wanted, now):
            return "SCOPE_CONFLICT"
        mine = [other for other, lease in self.live(now).items() if lease.principal == principal]
        if not (held and held.principal == principal) and len(mine) >= CAP:
            return "QUOTA_EXCEEDED"
        self.epoch += 1
        before = self.leases.get(key)
        resumed = before.checkpoint if before else self.kept.get(key)
        status = held.status if held else "claimed"
        ttl = ttl or (held.ttl if held else 3600.0)
        self.leases[key] = Lease(
            agent, principal, there, wanted, ttl, now + ttl, self.epoch, status=status, checkpoint=resumed
        )
        self.kept.pop(key, None)
        self.principals[agent] = principal
        return ""

    def fenced(self, now: float, agent: str, key: tuple[str, str], epoch: int | None, force: bool = False) -> str:
        """'' if ``agent`` may act on the lease, else why not."""
        held = self.live(now).get(key)
        if held is None:
            return "NOT_HELD"
        if held.owner != agent and not force:
            return "NOT_OWNER"
        if epoch is not None and epoch != held.epoch:
            return "STALE_EPOCH"
        return ""

    def release(self, now: float, agent: str, key: tuple[str, str], epoch: int | None, force: bool) -> str:
        """As `claim`. Only what was taken away leaves its checkpoint behind."""
        if refused := self.fenced(now, agent, key, epoch, force):
            return refused
        lease = self.leases.pop(key)
        if force and lease.checkpoint is not None:
            self.kept[key] = lease.checkpoint
        return ""

    def update(
        self, now: float, agent: str, key: tuple[str, str], epoch: int | None, version: int | None, status: str
    ) -> str:
        """As `claim`."""
        if refused := self.fenced(now, agent, key, epoch):
            return refused
        held = self.leases[key]
        if version is not None and version != held.version:
            return "VERSION_MISMATCH"
        self.leases[key] = replace(held, version=held.version + 1, status=status)
        return ""

    def checkpoint(self, now: float, agent: str, key: tuple[str, str], epoch: int | None, data: object) -> str:
        """As `claim`."""
        if refused := self.fenced(now, agent, key, epoch):
            return refused
        self.leases[key] = replace(self.leases[key], checkpoint=data)
        return ""

    def handoff(self, now: float, agent: str, key: tuple[str, str], epoch: int | None, to: str) -> str:
        """As `claim`. The recipient pays, under the principal last seen for it, else the giver's."""
        if refused := self.fenced(now, agent, key, epoch):
            return refused
        held = self.leases[key]
        if to == agent:
            return "INVALID_REQUEST"
        if self.blockers(to, key[0], held.tree, held.paths, now) - {key}:
            return "SCOPE_CONFLICT"
        principal = self.principals.get(to, held.principal)
        mine = [other for other, lease in self.live(now).items() if lease.principal == principal]
        if principal != held.principal and len(mine) >= CAP:
            return "QUOTA_EXCEEDED"
        self.epoch += 1
        self.leases[key] = replace(
            held, owner=to, principal=principal, ends=now + held.ttl, epoch=self.epoch, version=0
        )
        self.principals[to] = principal
        return ""

    def touch(self, now: float, agent: str) -> None:
        """Activity: a lease of which less than three quarters are left starts anew; nothing else moves."""
        for key, lease in self.live(now).items():
            if lease.owner == agent and lease.ends - now < 0.75 * lease.ttl:
                self.leases[key] = replace(lease, ends=now + lease.ttl)

    def conflicts(self, now: float, agent: str, ns: str, tree: str, path: str) -> set[tuple[str, str]]:
        """Who holds ``path`` against ``agent``, in the tree or in the namespace's shared one."""
        wanted = frozenset({parts(path)})
        found = self.blockers(agent, ns, "", wanted, now)
        return found | self.blockers(agent, ns, tree, wanted, now)


DAY = 86_400.0
MONTH = 30 * DAY


@dataclass(frozen=True)
class Said:
    """A message by its number; ``to`` None: to everyone; ``about``: of the hub's own."""

    seq: int
    at: float
    sender: str
    to: str | None
    body: str
    about: str = ""


@dataclass
class Talk:
    """Who has what to read, and what the board shows: plain lists, looked through from end to end.

    ``bounds``: how many messages to all, letters in a box, letters in all, notices in a box, notes of a task, of an
    agent, in all, and offers are kept.
    """

    bounds: tuple[int, int, int, int, int, int, int, int]
    hub: str
    said: list[Said] = field(default_factory=list)
    marks: dict[str, int] = field(default_factory=dict)
    notes: list[tuple[float, str, str, str]] = field(default_factory=list)
    offers: list[tuple[float, float, str, str]] = field(default_factory=list)
    told: dict[tuple[str, str], float] = field(default_factory=dict)

    def _letters(self, to: str | None = None) -> list[Said]:
        return [one for one in self.said if one.to and one.sender != self.hub and to in (None, one.to)]

    def send(self, seq: int, now: float, sender: str, to: str | None, body: str) -> str:
        """'' if it must be taken (and is, here), else the reason it must be refused for."""
        chat, box, letters, *_ = self.bounds
        if to is not None:
            fresh = [one for one in self._letters() if one.at > now - MONTH]
            if sum(one.to == to for one in fresh) >= box or len(fresh) >= letters:
                return "QUOTA_EXCEEDED"
            self.said = [one for one in self.said if one.to is None or one.sender == self.hub or one.at > now - MONTH]
        self.said.append(Said(seq, now, sender, to, body))
        spoken = [one for one in self.said if one.to is None]
        gone = {one.seq for one in spoken[: max(len(spoken) - chat, 0)]}
        self.said = [one for one in self.said if one.seq not in gone]
        return ""

    def notify(self, seq: int, now: float, to: str, about: str) -> bool:
        """Must the hub tell ``to``? Once in ten minutes; the newest of its notices stay."""
        if self.told.get((to, about), -1e18) > now - 600.0:
            return False
        self.told[to, about] = now
        self.said = [one for one in self.said if one.sender != self.hub or one.at > now - MONTH]
        self.said.append(Said(seq, now, self.hub, to, "", about))
        mine = [one.seq for one in self.said if one.sender == self.hub and one.to == to]
        gone = set(mine[: max(len(mine) - self.bounds[3], 0)])
        self.said = [one for one in self.said if one.seq not in gone]
        return True

    def acknowledge(self, agent: str, seq: int, newest: int) -> int:
        """The watermark that it comes to."""
        self.marks[agent] = max(self.marks.get(agent, 0), min(seq, newest))
        self.said = [one for one in self.said if one.to != agent or one.seq > self.marks[agent]]
        return self.marks[agent]

    def waiting(self, agent: str, now: float, after: int = 0) -> list[int]:
        """The numbers of what ``agent`` has to read."""
        after = max(after, self.marks.get(agent, 0))
        return [
            one.seq
            for one in self.said
            if one.seq > after and (one.to == agent or (one.to is None and one.sender != agent and one.at > now - DAY))
        ]

    def note(self, now: float, agent: str, task: str, text: str) -> None:
        """Kept, unless the agent said just that last."""
        own = [one for one in self.notes if one[1] == agent]
        if own and own[-1][2:] == (task, text):
            return
        self.notes = [one for one in self.notes if one[0] > now - MONTH] + [(now, agent, task, text)]
        of_task, of_agent, in_all = self.bounds[4:7]
        if task:
            self._shed(of_task, [one for one in self.notes if one[2] == task])
        self._shed(of_agent, [one for one in self.notes if one[1] == agent])
        self._shed(in_all, list(self.notes))

    def _shed(self, most: int, group: list[tuple[float, str, str, str]]) -> None:
        for one in group[: max(len(group) - most, 0)]:
            self.notes.remove(one)

    def offer(self, now: float, agent: str, name: str, ttl: float) -> None:
        """Listed from now on, instead of an earlier one of that name."""
        kept = [one for one in self.offers if one[1] > now and one[2:] != (agent, name)]
        self.offers = [*kept, (now, now + ttl, agent, name)][-self.bounds[7] :]

    def withdraw(self, now: float, agent: str, name: str) -> bool:
        """Was it on offer? It is not any more."""
        found = [one for one in self.listed(now) if one[2:] == (agent, name)]
        self.offers = [one for one in self.offers if one not in found]
        return bool(found)

    def listed(self, now: float) -> list[tuple[float, float, str, str]]:
        """What is on offer."""
        return [one for one in self.offers if one[1] > now]
