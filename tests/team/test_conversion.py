"""Joining a team while agents hold something: nothing of it is forgotten, and nothing is held twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.box import Box, Result
from tests.team.hosts import NAMESPACE, Host, found, join, origin
from tests.team.proxy import Proxy


@pytest.fixture
def strangers(box: Box, tmp_path: Path) -> Iterator[tuple[Host, Host, str, str]]:
    """Host a, which owns the namespace, host b, which has not joined yet, and how to join."""
    upstream = origin(box)
    with Host(tmp_path, "a") as a, Host(tmp_path, "b") as b:
        a.clone(upstream)
        b.clone(upstream)
        url, token = found(a)
        yield a, b, url, token


def held(host: Host) -> list[tuple[str, str, str, str]]:
    """What is live on a host: namespace, task, owner, tree."""
    claims = host.synapse("status", "--json").json()["claims"]
    return [(one["namespace"], one["task_id"], one["owner"], one["worktree"]) for one in claims]


def test_joining_with_live_claims_is_refused_and_names_them(strangers: tuple[Host, Host, str, str]) -> None:
    """Nothing has happened, and the token counts still: converted, the claims are the owner's to keep."""
    a, b, url, token = strangers
    elsewhere = b.init("elsewhere")
    assert b.synapse("claim", "docs", "-t", "other", agent="ben", cwd=elsewhere).code == 0
    assert b.synapse("claim", "src/a.py", "-t", "login", "--note", "mine", agent="ben").code == 0
    assert b.synapse("checkpoint", "-t", "login", "--data", '{"at": 7}', agent="ben").code == 0
    before = held(b)
    refused = join(b, url, token)
    assert refused.code == 1 and "LEASE_LIVE" in refused.text
    assert "src/a.py is held by ben (task login)" in refused.text and "--convert" in refused.text
    assert "docs" not in refused.text and held(b) == before
    assert b.synapse("team", "status", "--json").json()["namespaces"] == []
    joined = join(b, url, token, "--convert")
    assert joined.code == 0 and "login" in joined.out, joined.text
    assert (NAMESPACE, "login", "b/ben", "") in held(a)
    mine = [one for one in held(b) if one[1] == "login"]
    assert mine == [(NAMESPACE, "login", "ben", "")]
    assert [one[1] for one in held(b) if one[0].startswith("local:")] == ["other"]
    shown = b.synapse("show", "login", "--json").json()
    assert shown["checkpoint"] == {"at": 7} and shown["note"] == "mine"
    assert a.synapse("claim", "src", agent="ana").code == 1
    assert b.commit("src/a.py", "ben").code == 0


def test_what_the_owner_does_not_take_over_keeps_the_hub_out(strangers: tuple[Host, Host, str, str]) -> None:
    """All or nothing: what could not be is named, what could is given back, and everything is as it was."""
    a, b, url, token = strangers
    assert a.synapse("claim", "docs", "-t", "theirs", "--shared", agent="ana").code == 0
    assert b.synapse("claim", "src/a.py", "-t", "login", agent="ben").code == 0
    assert b.synapse("claim", "docs/guide.md", "-t", "words", agent="ben").code == 0
    before = held(b)
    refused = join(b, url, token, "--convert")
    assert refused.code == 1 and "words of ben: SCOPE_CONFLICT" in refused.text and "not joined" in refused.text
    assert held(b) == before
    assert [one[1] for one in held(a)] == ["theirs"]
    assert b.synapse("team", "status", "--json").json()["namespaces"] == []
    assert b.synapse("renew", "-t", "login", agent="ben").code == 0


def test_who_cannot_tell_the_team_of_a_repository_hears_it_and_has_joined(
    strangers: tuple[Host, Host, str, str],
) -> None:
    """Its remotes belong to two; and a token is not for the hub that made it."""
    a, b, url, token = strangers
    assert "lets another one in" in join(a, url, token).text
    assert join(b, url, token).code == 0
    b.done("git", "remote", "add", "fork", "https://host/me/api")
    second = a.synapse("team", "init", "me/api", "--remote", "https://host/me/api", "--json").json()
    joined = join(b, second["url"], second["token"])
    assert joined.code == 0 and "asks a for claims in me/api" in joined.out and "git config" in joined.err, joined.text
    shown = b.synapse("status")
    assert shown.code == 0 and f"git config synapse.namespace {NAMESPACE}" in shown.err, shown.text


def test_what_is_claimed_in_the_instant_of_joining_is_not_left_behind(strangers: tuple[Host, Host, str, str]) -> None:
    """By somebody who did not know of the namespace yet: it goes on in it, or nobody has joined."""
    a, b, url, token = strangers
    assert a.synapse("claim", "src", "-t", "theirs", agent="ana").code == 0
    with Proxy(int(url.rpartition(":")[2])) as proxy:

        def joins(token: str) -> Result:
            """It looks at the certificate, looks in, and comes in for good: by then something is claimed."""
            steps = iter((None, None, lambda: b.synapse("claim", "src/a.py", "-t", "login", agent="ben")))
            proxy.met = lambda: (step := next(steps, None)) and step()
            return join(b, f"https://127.0.0.1:{proxy.port}", token)

        refused = joins(token)
        assert refused.code == 1 and "login of ben: SCOPE_CONFLICT" in refused.text and "not joined" in refused.text
        assert [one[0].partition(":")[0] for one in held(b)] == ["local"]
        assert a.synapse("team", "status", "--json").json()["namespaces"][0]["members"] == []
        assert a.synapse("release", "-t", "theirs", agent="ana").code == 0
        assert b.synapse("release", "-t", "login", agent="ben").code == 0
        joined = joins(found(a)[1])
    assert joined.code == 0 and "taken over what was held here: login" in joined.out, joined.text
    assert held(a) == [(NAMESPACE, "login", "b/ben", "")] and held(b) == [(NAMESPACE, "login", "ben", "")]


def test_two_tasks_of_one_name_are_not_made_one(strangers: tuple[Host, Host, str, str]) -> None:
    """In two clones of one repository they were two; whoever joins says which stays."""
    _, b, url, token = strangers
    second = b.home / "second"
    b.done("git", "clone", "-q", b.done("git", "remote", "get-url", "origin").strip(), second)
    assert b.synapse("claim", "src/a.py", "-t", "login", agent="ben").code == 0
    assert b.synapse("claim", "docs", "-t", "login", agent="cy", cwd=second).code == 0
    refused = join(b, url, token, "--convert")
    assert refused.code == 1 and "called alike" in refused.text and "ben" in refused.text and "cy" in refused.text
    assert b.synapse("release", "-t", "login", agent="cy", cwd=second).code == 0
    assert join(b, url, token, "--convert").code == 0
