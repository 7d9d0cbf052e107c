"""Two hubs whose clocks lie apart, are set, and sleep: who is let in, and for how long the owner's word counts."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from synapse_git.constants import RECEIPT_VALIDITY_SECONDS, REVOCATION_SECONDS
from tests.box import Box
from tests.faults.scale import LONG
from tests.team.clocks import Clock, library
from tests.team.hosts import Host, found, join, origin, until
from tests.team.proxy import Proxy

HOUR = 3600.0

pytestmark = pytest.mark.skipif(not library(), reason="libfaketime is not installed")
long = pytest.mark.skipif(not LONG, reason="a minute: SYNAPSE_FAULTS=long")


class Timed(NamedTuple):
    """Host a, which owns the namespace, and host b, which goes to it by ``way``; the clocks of both hubs."""

    a: Host
    b: Host
    way: Proxy
    owners: Clock
    edges: Clock


@pytest.fixture(params=["wall"])
def timed(box: Box, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Timed]:
    """Clocks of the wall, or all of them; the owner has started long ago."""
    every = request.param == "every"
    upstream = origin(box)
    with Host(tmp_path, "a") as a, Host(tmp_path, "b") as b:
        with Clock(a, ahead_s=-60.0, every=every) as owners, Clock(b, ahead_s=-60.0, every=every) as edges:
            a.clone(upstream)
            b.clone(upstream)
            url, token = found(a)
            with Proxy(int(url.rpartition(":")[2])) as way:
                joined = join(b, f"https://127.0.0.1:{way.port}", token)
                assert joined.code == 0, joined.text
                for host in (a, b):
                    host.done("git", "config", "synapse.guard.unclaimed", "refuse")
                owners.set(0.0)
                edges.set(0.0)
                yield Timed(a, b, way, owners, edges)


def reason(host: Host, *arguments: str) -> str:
    """Why the host's agent was refused, '' if it was not."""
    return str(host.synapse(*arguments, "--json", agent=host.name).json().get("reason", ""))


def covered(host: Host, path: str = "src/a.py") -> bool:
    """Would a commit of ``path`` go in as the work of who holds it?"""
    return host.synapse("check", path, agent=host.name).code == 0


def test_inv_ck_2_requests_from_a_clock_that_lies_apart_are_refused_by_name(timed: Timed) -> None:
    """Five seconds late are let in; five early, an hour late or early are not, and nothing is done."""
    for ahead_s in (5.0, HOUR, -HOUR) if LONG else (5.0,):
        timed.edges.set(ahead_s)
        refused = timed.b.synapse("claim", "src", agent="b")
        assert refused.code == 1 and "EXPIRED" in refused.text and "timedatectl" in refused.text, refused.text
        assert "the clock of b is" in refused.text and ("ahead of that of a" in refused.text) is (ahead_s > 0)
        assert timed.a.synapse("status", "--json").json()["claims"] == []
    timed.edges.set(-5.0)
    assert reason(timed.b, "claim", "src", "-t", "late") == ""
    assert reason(timed.a, "claim", "src") == "SCOPE_CONFLICT"


@long
def test_inv_mh_2_a_clock_that_is_set_lengthens_no_receipt(timed: Timed) -> None:
    """Ahead by its validity it covers nothing, back it counts by the clock that nobody sets, and for no longer."""
    a, b, way, _, edges = timed
    assert reason(b, "claim", "src", "-t", "login") == ""
    asked = time.monotonic()
    way.closed = True
    way.cut()
    assert covered(b)
    for ahead_s in (RECEIPT_VALIDITY_SECONDS + 1, HOUR):
        edges.set(ahead_s)
        assert not covered(b)
    for ahead_s in (-5.0, -HOUR):
        edges.set(ahead_s)
        assert covered(b)
    assert reason(a, "claim", "src") == "SCOPE_CONFLICT"
    until(lambda: not covered(b), RECEIPT_VALIDITY_SECONDS + 3)
    assert time.monotonic() - asked > RECEIPT_VALIDITY_SECONDS - 5


@long
def test_inv_ck_2_an_owner_whose_clock_is_set_ends_and_extends_no_lease(timed: Timed) -> None:
    """Whoever asks by the right time is refused by name until it is right again; what is held stays held."""
    a, b, _, owners, edges = timed
    assert reason(b, "claim", "src", "-t", "login") == ""
    for ahead_s in (5.0, HOUR, -5.0, -HOUR):
        owners.set(ahead_s)
        assert reason(a, "claim", "src") == "SCOPE_CONFLICT"
        assert covered(b)
        assert reason(b, "claim", "docs", "-t", "docs") == ("" if ahead_s == 5.0 else "EXPIRED"), ahead_s
    # Both were set back together: what was signed in the hours before is let in no second time.
    edges.set(-HOUR)
    assert reason(b, "renew", "-t", "login") == "EXPIRED"
    owners.set(0.0)
    edges.set(0.0)
    assert reason(b, "renew", "-t", "login") == ""


@long
def test_inv_ck_2_an_owner_that_started_on_a_wrong_clock_says_what_to_do(timed: Timed) -> None:
    """An hour ahead at its start, then put right: it is restarted, as it says, and lets everyone in."""
    _, b, _, owners, _ = timed
    owners.set(HOUR)
    owners.restart()
    # It answers on its socket before it listens to others, and only then takes note of the time.
    until(lambda: reason(b, "claim", "src") == "EXPIRED")
    owners.set(0.0)
    assert reason(b, "claim", "src") == "EXPIRED"
    assert "synapse-git hub stop" in b.synapse("claim", "src", agent="b").text
    owners.restart()
    until(lambda: reason(b, "claim", "src", "-t", "login") == "")


@long
@pytest.mark.parametrize("timed", ["every"], indirect=True)
def test_inv_mh_2_machines_that_slept_keep_no_word_for_longer(timed: Timed) -> None:
    """Both sleep for most of a receipt's validity, then to its end, then until what was taken away is given on."""
    a, b, way, owners, edges = timed
    assert reason(b, "claim", "src", "-t", "login") == ""
    way.closed = True
    way.cut()
    assert reason(a, "release", "-t", "login", "--force", "--reason", "urgent") == ""
    for slept_s, holds in ((RECEIPT_VALIDITY_SECONDS - 15, True), (RECEIPT_VALIDITY_SECONDS, False)):
        owners.set(slept_s)
        edges.set(slept_s)
        assert covered(b) is holds
        assert reason(a, "claim", "src", "-t", "mine") == "SCOPE_CONFLICT" or not holds
    owners.set(REVOCATION_SECONDS)
    edges.set(REVOCATION_SECONDS)
    assert reason(a, "claim", "src", "-t", "mine") == "" and covered(a)
    way.closed = False
    until(lambda: reason(b, "claim", "src") == "SCOPE_CONFLICT")
    assert not covered(b)


@long
def test_inv_mh_2_a_hub_that_was_stopped_wakes_to_nothing_that_ran_out(timed: Timed) -> None:
    """SIGSTOP for longer than a receipt counts: the first question after it, asked meanwhile, knows."""
    a, b, *_ = timed
    assert reason(b, "claim", "src", "-t", "login") == ""
    stopped = b.hub_pid()
    os.kill(stopped, signal.SIGSTOP)
    assert reason(a, "release", "-t", "login", "--force", "--reason", "urgent") == ""
    until(lambda: reason(a, "claim", "src", "-t", "mine") == "", REVOCATION_SECONDS + 5)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(covered, b)
        time.sleep(0.5)
        os.kill(stopped, signal.SIGCONT)
        assert asked.result() is False
    assert b.commit("src/a.py", "b").code == 1


@long
def test_inv_mh_2_an_owner_that_was_stopped_for_longer_than_a_lease_wakes_and_gives_it_on(timed: Timed) -> None:
    """Its holder commits no more when the lease is over, though nobody could say so."""
    a, b, *_ = timed
    asked = time.monotonic()
    assert reason(b, "claim", "src", "-t", "login", "--ttl", "30s") == ""
    stopped = a.hub_pid()
    os.kill(stopped, signal.SIGSTOP)
    assert covered(b)
    until(lambda: not covered(b), 34)
    assert time.monotonic() - asked > 28
    os.kill(stopped, signal.SIGCONT)
    assert reason(a, "claim", "src", "-t", "mine") == ""
    assert not covered(b)
