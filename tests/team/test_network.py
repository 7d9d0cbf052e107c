"""Hubs on machines whose network fails: links that are down, packets that get lost. Kernels, not a proxy, do it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.faults.scale import LONG
from tests.team.hosts import Host, until
from tests.team.network import Wired


def established(host: Host) -> list[str]:
    """The host's ports of connections to others."""
    rows = [row.split() for row in host.done("cat", "/proc/self/net/tcp").splitlines()[1:]]
    return [str(int(row[1].rpartition(":")[2], 16)) for row in rows if row[3] == "01"]


def test_inv_mh_2_a_link_that_is_down_grants_nothing_and_lets_through_what_a_receipt_covers(wired: Wired) -> None:
    """Until it is up again the owner grants to its own agents only; then both go on, and the later claim is refused."""
    net, (a, b) = wired
    assert b.synapse("claim", "src/a.py", "-t", "login", agent="ben").code == 0
    net.unplug("b")
    assert b.commit("src/a.py", "ben").code == 0
    refused = b.commit("docs/guide.md", "ben")
    assert refused.code == 1 and "OWNER_UNREACHABLE" in refused.text, refused.text
    b.done("git", "reset", "-q", "--hard")
    assert a.synapse("claim", "docs", "-t", "mine", agent="ana").code == 0
    assert a.synapse("claim", "src", "--json", agent="ana").json()["conflicts"][0]["owner"] == "b/ben"
    net.plug("b")
    until(lambda: b.synapse("claim", "docs", "--json", agent="ben").json()["reason"] == "SCOPE_CONFLICT")
    assert b.synapse("renew", "-t", "login", agent="ben").code == 0


@pytest.mark.skipif(not LONG, reason="seconds: SYNAPSE_FAULTS=long")
def test_connections_that_died_in_silence_cost_one_attempt(wired: Wired) -> None:
    """As after a firewall forgot them: one request is not answered, the next goes over a connection of its own."""
    net, (_, b) = wired
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda name: b.synapse("claim", name, "-t", name, agent="ben").code == 0, "wxyz"))
    ports = ", ".join(established(b))
    assert ports.count(",") >= 2
    net.drop(f"tcp sport {{ {ports} }}", f"tcp dport {{ {ports} }}")
    lost = b.synapse("claim", "docs", "-t", "docs", "--json", agent="ben")
    assert lost.code in (0, 3), lost.text
    assert b.synapse("claim", "docs", "-t", "docs", agent="ben").code == 0
