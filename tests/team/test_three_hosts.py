"""Three hubs as processes, two of them behind ways that are cut, slow or forgetful: one path, one holder at a time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.box import Box
from tests.faults.scale import times
from tests.team.hosts import NAMESPACE, Host, found, join, origin, until
from tests.team.proxy import Proxy

ROUNDS = times(8, 400)
PATHS = ("src/a.py", "docs/guide.md")


class Three(NamedTuple):
    """``hosts``: the owner first; ``ways``: those of the others to it."""

    hosts: tuple[Host, ...]
    ways: tuple[Proxy, ...]


@pytest.fixture
def three(box: Box, tmp_path: Path) -> Iterator[Three]:
    upstream = origin(box)
    with ExitStack() as stack:
        hosts = tuple(stack.enter_context(Host(tmp_path, name)) for name in "abc")
        hosts[0].clone(upstream)
        ways = []
        for host in hosts[1:]:
            host.clone(upstream)
            url, token = found(hosts[0])
            ways.append(stack.enter_context(Proxy(int(url.rpartition(":")[2]))))
            joined = join(host, f"https://127.0.0.1:{ways[-1].port}", token)
            assert joined.code == 0, joined.text
        yield Three(hosts, tuple(ways))


def claim(host: Host, path: str, number: int) -> dict[str, Any]:
    body = {"task_id": f"{host.name}{number}", "agent": host.name, "namespace": NAMESPACE, "paths": [path]}
    return host.ask("/v2/claim", body, key=f"claim-{number}")


def released(host: Host, number: int) -> bool:
    """Have the host's agent give its claim back; does it hold none now?"""
    body = {"task_id": f"{host.name}{number}", "agent": host.name, "namespace": NAMESPACE}
    return bool(host.ask("/v2/release", body, key=f"release-{number}").get("reason", "NOT_HELD") == "NOT_HELD")


def may_commit(host: Host, path: str) -> bool:
    """Would a commit of ``path`` go in as the work of who holds it?"""
    policy = {"unclaimed": "refuse"}
    body = {"agent": host.name, "namespace": NAMESPACE, "worktree": "", "paths": [path], "action": "commit"}
    return bool(host.ask("/v2/guard", {**body, "policy": policy}, key="").get("verdict") == "allow")


def may_not_commit(host: Host, path: str) -> bool:
    return not may_commit(host, path)


def harm(way: Proxy, chance: random.Random) -> None:
    """Something, or nothing."""
    heal(way)
    kind = chance.randrange(5)
    if kind == 0:
        way.closed = True
        way.cut()
    elif kind == 1:
        way.swallow = chance.choice((1, 2))
    elif kind == 2:
        way.cut()
    elif kind == 3:
        way.delay_s = 0.05


def heal(way: Proxy) -> None:
    way.closed, way.swallow, way.delay_s = False, 0, 0.0


def test_inv_mh_2_one_path_has_one_holder_whatever_happens_on_the_way(three: Three) -> None:
    """All three want it at once, again and again; one gets it at most, and nobody else may commit it meanwhile."""
    chance = random.Random(7)
    last = 0
    with ThreadPoolExecutor(3) as pool:
        for number in range(ROUNDS):
            path = chance.choice(PATHS)
            for way in three.ways:
                harm(way, chance)
            asked = [pool.submit(claim, host, path, number) for host in three.hosts]
            answers = [one.result() for one in asked]
            epochs = [answer["epoch"] for answer in answers if "epoch" in answer]
            assert len(epochs) <= 1 and min(epochs, default=last + 1) > last, answers
            last = max([last, *epochs])
            refused = [answer["reason"] for answer in answers if "reason" in answer]
            assert set(refused) <= {"SCOPE_CONFLICT", "OWNER_UNREACHABLE"}, answers
            assert sum(may_commit(host, path) for host in three.hosts) <= 1
            for way in three.ways:
                heal(way)
            for host in three.hosts:
                until(partial(released, host, number))
            for host in three.hosts:
                until(partial(may_not_commit, host, path))


def test_what_is_said_to_everyone_is_heard_on_all_machines(three: Three) -> None:
    """By way of the owner, which was away when it was said; by each once, and by its author not at all."""
    a, b, c = three.hosts
    a.stop_hub()
    b.done("synapse-git", "send", "lunch", agent="ben")
    a.done("synapse-git", "hub", "start")
    for host, name in ((a, "ana"), (c, "cy"), (b, "bea")):
        until(partial(heard, host, name), 30.0)
    assert "lunch" not in b.done("synapse-git", "inbox", agent="ben")


def heard(host: Host, name: str) -> bool:
    return host.done("synapse-git", "inbox", agent=name).count("lunch") == 1
