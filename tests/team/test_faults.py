"""A team whose network, processes and keys fail: each verb applies once, and nobody works on another's path."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from synapse_hub import hubfile
from synapse_hub.federation.identity import client_context, identity
from synapse_hub.federation.line import Line
from synapse_hub.federation.signature import SignedRequest, Signer
from tests.box import Box
from tests.faults.scale import LONG
from tests.team.hosts import NAMESPACE, Host, found, heard, join, origin, until
from tests.team.proxy import Proxy


@pytest.fixture
def between(box: Box, tmp_path: Path) -> Iterator[tuple[Host, Host, Proxy]]:
    """Hosts a and b, and the way from b to a."""
    upstream = origin(box)
    with Host(tmp_path, "a") as a, Host(tmp_path, "b") as b:
        a.clone(upstream)
        b.clone(upstream)
        url, token = found(a)
        with Proxy(int(url.rpartition(":")[2])) as proxy:
            joined = join(b, f"https://127.0.0.1:{proxy.port}", token)
            assert joined.code == 0, joined.text
            # The first exchange after a start may be put off by a second.
            assert b.synapse("claim", "docs", "-t", "warm", agent="ben").code == 0
            yield a, b, proxy


def granted(host: Host, task: str) -> list[int]:
    return [claim["epoch"] for claim in host.synapse("status", "--json").json()["claims"] if claim["task_id"] == task]


def test_inv_cr_1_an_answer_that_is_lost_after_the_commit_takes_effect_once(
    between: tuple[Host, Host, Proxy],
) -> None:
    """The owner has granted, the edge hears nothing, asks again under the same key, and is told the same."""
    a, b, proxy = between
    before = granted(a, "warm")
    proxy.swallow = 1
    claim = b.synapse("claim", "src/a.py", "-t", "login", "--json", agent="ben")
    assert claim.code == 0, claim.text
    assert proxy.swallow == 0 and claim.json()["replayed"] is True
    assert granted(a, "login") == [before[0] + 1]
    until(lambda: granted(b, "login") == granted(a, "login"))


def test_inv_mh_2_what_was_granted_once_is_not_taken_to_be_held_still(between: tuple[Host, Host, Proxy]) -> None:
    """Asked again under the same key after it was given back, the owner repeats itself: that covers no commit."""
    a, b, _ = between
    body = {"task_id": "login", "agent": "ben", "namespace": NAMESPACE, "paths": ["src/a.py"]}
    for replayed in (None, True):
        assert b.ask("/v2/claim", body, key="once").get("replayed") is replayed
        if not replayed:
            assert b.synapse("release", "-t", "login", agent="ben").code == 0
            assert a.synapse("claim", "src/a.py", "-t", "mine", agent="ana").code == 0
    refused = b.commit("src/a.py", "ben")
    assert refused.code == 1 and "SCOPE_CONFLICT" in refused.text


def test_an_answer_that_never_comes_is_settled_by_the_owners_list(between: tuple[Host, Host, Proxy]) -> None:
    """The claim may have been granted: the agent is told so, and may give it back though nobody here knows of it."""
    a, b, proxy = between
    proxy.swallow = 10
    lost = b.synapse("claim", "src/a.py", "-t", "login", "--json", agent="ben")
    assert lost.code == 3 and lost.json()["reason"] == "OWNER_UNREACHABLE" and "not known" in lost.json()["detail"]
    assert granted(a, "login")
    proxy.swallow = 0
    assert b.synapse("release", "-t", "login", agent="ben").code == 0
    assert not granted(a, "login")
    again = b.synapse("release", "-t", "login", "--json", agent="ben")
    assert again.code == 1 and again.json()["reason"] == "NOT_HELD"
    assert b.synapse("claim", "src/a.py", "-t", "login", agent="ben").code == 0
    assert a.synapse("claim", "src/a.py", agent="ana").code == 1


def test_a_way_that_is_closed_and_opens_again(between: tuple[Host, Host, Proxy]) -> None:
    """Partitioned, the edge grants nothing and lets through what a receipt covers; healed, it goes on."""
    a, b, proxy = between
    proxy.closed = True
    proxy.cut()
    assert b.synapse("claim", "src", "--json", agent="ben").json()["reason"] == "OWNER_UNREACHABLE"
    assert b.commit("docs/guide.md", "ben").code == 0
    assert b.commit("src/a.py", "ben").code == 1
    b.done("git", "reset", "-q", "--hard")
    assert a.synapse("claim", "src", "-t", "mine", agent="ana").code == 0
    proxy.closed = False
    assert b.synapse("claim", "src", "--json", agent="ben").json()["reason"] == "SCOPE_CONFLICT"


@pytest.mark.parametrize("killed", ["owner", "edge"])
def test_a_hub_that_is_killed_comes_back_with_what_it_knew(between: tuple[Host, Host, Proxy], killed: str) -> None:
    """Either side: the claim stands, its holder goes on, and others are refused."""
    a, b, _ = between
    assert b.synapse("claim", "src/a.py", "-t", "login", agent="ben").code == 0
    victim = a if killed == "owner" else b
    os.kill(victim.hub_pid(), signal.SIGKILL)
    victim.done("synapse-git", "hub", "start")
    assert granted(a, "login") == granted(b, "login")
    assert b.commit("src/a.py", "ben").code == 0
    assert a.synapse("claim", "src/a.py", agent="ana").code == 1
    until(lambda: b.synapse("release", "-t", "login", agent="ben").code == 0)
    assert a.synapse("claim", "src/a.py", agent="ana").code == 0


def recorded(host: Host, task: str) -> SignedRequest:
    """A claim as the host's hub signs it."""
    body = {"task_id": task, "agent": "ben", "namespace": NAMESPACE, "paths": ["src"]}
    headers = {"content-type": "application/json", "synapse-principal": "uid:1"}
    request = SignedRequest("POST", "/v2/claim", headers, json.dumps(body).encode())
    Signer(host.name, identity(str(host.state)).key).sign(request, "a", now=time.time(), nonce=task)
    return request


def told(host: Host, request: SignedRequest) -> str:
    """The reason why the owner, as the host knows it, refuses it; '' if it does not."""

    async def ask() -> bytes:
        file = hubfile.read(str(host.state))
        assert file is not None
        line = Line(file.peers["a"].url, client_context(file.peers["a"].certificate))
        try:
            return (await line.exchange(request.method, request.target, request.headers, request.body)).body
        finally:
            line.close()

    return str(json.loads(asyncio.run(ask())).get("reason", ""))


@pytest.mark.skipif(not LONG, reason="seconds: SYNAPSE_FAULTS=long")
def test_inv_ck_2_what_was_recorded_or_altered_is_worth_nothing(between: tuple[Host, Host, Proxy]) -> None:
    """Over TLS to a real owner: again, with another body, and after a restart that forgot what was here before."""
    a, b, _ = between
    request = recorded(b, "login")
    assert told(b, request) == ""
    before = granted(a, "login")
    assert told(b, request) == "NOT_AUTHORISED"
    altered = recorded(b, "other")
    altered.body = altered.body.replace(b"src", b"doc")
    assert told(b, altered) == "NOT_AUTHORISED"
    os.kill(a.hub_pid(), signal.SIGKILL)
    a.done("synapse-git", "hub", "start")
    assert told(b, request) == "EXPIRED"
    assert granted(a, "login") == before and not granted(a, "other")


@pytest.mark.skipif(not LONG, reason="seconds: SYNAPSE_FAULTS=long")
def test_inv_mh_1_an_owner_from_a_plain_copy_grants_nothing_twice(between: tuple[Host, Host, Proxy]) -> None:
    """Its agents are refused what it has forgotten that another holds, until a person says how to go on."""
    a, b, _ = between
    a.stop_hub()
    shutil.copytree(a.state, a.home / "copy")
    a.done("synapse-git", "hub", "start")
    until(lambda: b.synapse("claim", "src/a.py", "-t", "login", agent="ben").code == 0)
    a.stop_hub()
    shutil.rmtree(a.state)
    shutil.copytree(a.home / "copy", a.state)
    refused = a.synapse("claim", "src", agent="ana")
    assert refused.code == 3 and "b heard of its event" in refused.text and "hub import" in refused.text, refused.text
    assert b.synapse("claim", "docs", agent="ben").code == 3 and a.commit("src/a.py", "ana").code == 1
    assert "put back to an earlier day" in a.synapse("team", "status").out
    a.stop_hub()
    a.done("synapse-git", "hub", "import")
    assert a.synapse("claim", "src", agent="ana").code == 0
    until(lambda: "task login (src/a.py) is not yours any more, says a" in b.synapse("inbox", agent="ben").out, 30.0)


def test_another_certificate_is_not_the_owner(between: tuple[Host, Host, Proxy]) -> None:
    """Whoever answers at the owner's address under another key is asked nothing; the owner itself is joined anew."""
    a, b, _ = between
    a.stop_hub()
    for name in ("identity.pem", "certificate.pem"):
        (a.state / name).unlink()
    a.done("synapse-git", "hub", "start")
    refused = b.synapse("claim", "src", "--json", agent="ben").json()
    assert refused["reason"] == "OWNER_UNREACHABLE" and "its certificate is another" in refused["detail"]
    assert "team join URL" in refused["detail"] and "ssl" not in refused["detail"].lower()
    assert join(b, *found(a)).code == 0 and b.synapse("claim", "src", agent="ben").code == 0


def test_another_key_is_not_the_peer(between: tuple[Host, Host, Proxy]) -> None:
    """A hub that lost its key is nobody's peer; once the one of before was put out, it joins anew under its name."""
    a, b, _ = between
    b.stop_hub()
    for name in ("identity.pem", "certificate.pem"):
        (b.state / name).unlink()
    b.done("synapse-git", "hub", "start")
    stranger = b.synapse("claim", "src", "--json", agent="ben").json()
    assert stranger["reason"] == "NOT_AUTHORISED" and "joined with another key" in stranger["detail"]
    refused = join(b, *found(a))
    assert refused.code == 1 and "another hub of the team is called b" in refused.text
    assert f"synapse-git team remove {NAMESPACE} b" in refused.text
    assert a.synapse("team", "remove", NAMESPACE, "b").code == 0
    assert join(b, *found(a)).code == 0 and b.synapse("claim", "src", agent="ben").code == 0


def test_inv_cr_4_two_owners_of_one_namespace_grant_nothing_until_one_gives_way(
    between: tuple[Host, Host, Proxy],
) -> None:
    """Heard of, refused on both, over a restart, healed by the word of the one that gives way."""
    a, b, _ = between
    file = b.state / "hub.toml"
    before = file.read_text()
    file.write_text(before.replace('owner = "a"', 'owner = "b"\nmembers = ["a"]'))
    heard(b)
    for host in (a, b):
        until(partial(is_refused, host, "CONTESTED"))
        assert "CONTESTED" in host.synapse("team", "status").out
        host.stop_hub()
    for host in (a, b):
        assert reason(host) == "CONTESTED"
    file.write_text(before)
    heard(b)
    for host in (a, b):
        until(partial(is_refused, host, ""))


def is_refused(host: Host, expected: str) -> bool:
    return reason(host) == expected


def reason(host: Host) -> str:
    """Why the host's agent gets no claim, '' if it does."""
    claim = host.synapse("claim", f"src/{host.name}.py", "-t", host.name, "--json", agent="ana")
    return str(claim.json().get("reason", ""))
