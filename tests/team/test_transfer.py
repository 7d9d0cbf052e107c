"""A namespace goes from one hub to another: who held what holds it, and whoever asks is led to the new owner."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from synapse_git import address
from synapse_git.constants import REVOCATION_SECONDS
from tests.box import Box
from tests.faults.scale import LONG
from tests.team.hosts import NAMESPACE, Host, found, heard, join, origin, until


@pytest.fixture
def three(box: Box, tmp_path: Path) -> Iterator[tuple[Host, Host, Host]]:
    """Host a, which owns the namespace, host b, which listens as well, and host c; all in one team."""
    upstream = origin(box)
    with ExitStack() as stack:
        a, b, c = (stack.enter_context(Host(tmp_path, name)) for name in "abc")
        for host in (a, b, c):
            host.clone(upstream)
        joined = join(b, *found(a), "--listen", "127.0.0.1:0")
        assert joined.code == 0, joined.text
        joined = join(c, *found(a))
        assert joined.code == 0, joined.text
        yield a, b, c


def owner(host: Host) -> str:
    """Who grants, as far as the host knows."""
    (item,) = host.synapse("team", "status", "--json").json()["namespaces"]
    return str(item["owner"])


def epochs(host: Host) -> dict[str, int]:
    return {one["task_id"]: one["epoch"] for one in host.synapse("status", "--json").json()["claims"]}


def test_a_namespace_goes_to_another_hub_with_all_that_is_held(three: tuple[Host, Host, Host]) -> None:
    """Everyone's claims stand under their epochs, nobody gets what is held, and every hub asks the new owner."""
    a, b, c = three
    for host, agent in ((a, "ana"), (b, "ben"), (c, "cy")):
        assert host.synapse("claim", f"src/{host.name}.py", "-t", agent, agent=agent).code == 0
    before = epochs(a)
    moved = a.synapse("team", "transfer", NAMESPACE, "b", "--json")
    assert moved.code == 0 and moved.json()["claims"] == 3, moved.text
    assert a.synapse("team", "transfer", NAMESPACE, "b").code == 0
    assert owner(a) == owner(b) == "b"
    assert epochs(b) == before
    for host, agent in ((a, "ana"), (b, "ben"), (c, "cy")):
        refused = host.synapse("claim", "src", agent=agent)
        assert refused.code == 1 and "SCOPE_CONFLICT" in refused.text, refused.text
        assert host.commit(f"src/{host.name}.py", agent).code == 0
        assert host.synapse("claim", f"docs/{host.name}", "-t", f"{agent}2", agent=agent).code == 0
    assert owner(c) == "b"
    assert min(epoch for task, epoch in epochs(b).items() if task.endswith("2")) > max(before.values())
    until(lambda: "ana" in epochs(a))
    for host, agent in ((a, "ana"), (b, "ben"), (c, "cy")):
        assert host.synapse("release", "-t", agent, agent=agent).code == 0
    assert a.synapse("claim", "src", "-t", "all", agent="ana").code == 0
    assert b.synapse("status", "--json").json()["claims"][-1]["namespace"] == NAMESPACE


def test_it_goes_on_and_back_and_everyone_follows(three: tuple[Host, Host, Host]) -> None:
    """Two transfers at once, and the first owner again: each hub ends where the namespace is."""
    a, b, c = three
    assert c.synapse("claim", "src/a.py", "-t", "cy", agent="cy").code == 0
    for giver, heir in ((a, "b"), (b, "a"), (a, "b")):
        moved = giver.synapse("team", "transfer", NAMESPACE, heir)
        assert moved.code == 0, moved.text
    refused = a.synapse("team", "transfer", NAMESPACE, "c")
    assert refused.code == 1, refused.text
    refused = b.synapse("team", "transfer", NAMESPACE, "c")
    assert refused.code == 1 and "--listen" in refused.text, refused.text
    refused = a.synapse("team", "transfer", NAMESPACE, "a", "--from-dead")
    assert refused.code == 1 and "b answers" in refused.text, refused.text
    for host in (a, b, c):
        assert host.synapse("claim", "src/a.py", "-t", "mine", agent="dan").code == 1
        assert owner(host) == "b"
    assert c.commit("src/a.py", "cy").code == 0
    assert c.synapse("renew", "-t", "cy", agent="cy").code == 0


def test_whoever_took_over_from_a_dead_owner_is_joined_by_one_command(three: tuple[Host, Host, Host]) -> None:
    """With its token; as long as the owner so far answers, that is refused, since it is not dead."""
    a, b, c = three
    until(lambda: "heard" in c.synapse("team", "status").out)
    path = Path(address.state_dir(b.env)) / "hub.toml"
    path.write_text(path.read_text().replace('owner = "a"', 'owner = "b"\nterm = 1'))
    heard(b)
    until(lambda: owner(b) == "b")
    refused = join(c, *found(b))
    assert refused.code == 1 and "CONTESTED" in refused.text and f"team leave {NAMESPACE}" in refused.text
    a.stop_hub()
    until(lambda: "gone for good" in c.synapse("team", "status").text)
    joined = join(c, *found(b))
    assert joined.code == 0, joined.text
    assert owner(c) == "b" and c.synapse("claim", "src/a.py", agent="cy").code == 0
    assert "c/cy" in b.synapse("claim", "src", agent="ben").text
    comes_back(a, b)


def comes_back(a: Host, b: Host) -> None:
    """The owner of before, whose namespace is b's: its first word is that it may grant nothing, and how to go on."""
    told = a.synapse("claim", "src/a.py", agent="ana")
    assert told.code == 1 and "CONTESTED" in told.text and f"synapse-git team leave {NAMESPACE}" in told.text, told.text
    assert a.synapse("team", "leave", NAMESPACE).code == 0
    joined = join(a, *found(b))
    assert joined.code == 0, joined.text
    refused = a.synapse("claim", "src/a.py", agent="ana")
    assert "c/cy" in refused.text and "SCOPE_CONFLICT" in refused.text, refused.text
    assert a.synapse("claim", "docs/a", agent="ana").code == 0


@pytest.mark.skipif(not LONG, reason="an owner has to be silent for a minute; with SYNAPSE_FAULTS=long")
def test_inv_mh_1_an_owner_that_was_taken_for_dead_owns_no_more_and_nothing_is_granted_twice(
    three: tuple[Host, Host, Host],
) -> None:
    """Killed, waited out and taken over; then it comes back, and knows of nothing that happened."""
    a, b, c = three
    assert c.synapse("claim", "src/a.py", "-t", "cy", "--ttl", "40", agent="cy").code == 0
    until(lambda: "heard" in b.synapse("team", "status").out)
    os.kill(a.hub_pid(), signal.SIGKILL)
    early = b.synapse("team", "transfer", NAMESPACE, "b", "--from-dead")
    assert early.code == 1 and "LEASE_LIVE" in early.text, early.text
    assert c.synapse("claim", "docs", agent="cy").code == 3
    until(lambda: b.synapse("team", "transfer", NAMESPACE, "b", "--from-dead").code == 0, 2 * REVOCATION_SECONDS)
    assert join(c, *found(b)).code == 0
    assert c.synapse("claim", "src/a.py", agent="cy").code == 0
    comes_back(a, b)


def test_members_talk_to_each_other_by_way_of_the_owner(three: tuple[Host, Host, Host]) -> None:
    """Either way, although neither knows the other; refused while the owner is away. A name of one's own stays here."""
    a, b, c = three
    c.done("synapse-git", "send", "--to", "b/ben", "may I", agent="cy")
    until(lambda: "c/cy to you: may I" in b.synapse("inbox", agent="ben").out)
    b.done("synapse-git", "send", "--to", "c/cy", "you may", agent="ben")
    until(lambda: "b/ben to you: you may" in c.synapse("inbox", agent="cy").out)
    c.done("synapse-git", "-C", c.init("elsewhere"), "claim", "x", agent="crew/dan")
    c.done("synapse-git", "send", "--to", "crew/dan", "here", agent="cy")
    a.stop_hub()
    c.done("synapse-git", "send", "--to", "crew/dan", "still here", agent="cy")
    assert c.synapse("inbox", agent="crew/dan").out.count("cy to you: ") == 2
    assert c.synapse("send", "--to", "b/ben", "and now", agent="cy").code == 3
