"""Two hubs as processes, each with its own home: one path, one holder, wherever it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.box import Box
from tests.team.hosts import NAMESPACE, Host, found, join, origin


@pytest.fixture
def team(box: Box, tmp_path: Path) -> Iterator[tuple[Host, Host]]:
    """Host a, whose hub owns the namespace, and host b, which has joined."""
    upstream = origin(box)
    with Host(tmp_path, "a") as a, Host(tmp_path, "b") as b:
        a.clone(upstream)
        b.clone(upstream)
        joined = join(b, *found(a))
        assert joined.code == 0, joined.text
        yield a, b


def test_inv_mh_1_one_path_has_one_holder_on_two_hosts(team: tuple[Host, Host]) -> None:
    """Claimed on the one, refused on the other, by the owner, in the same words; either way round."""
    a, b = team
    claim = b.synapse("claim", "src/a.py", "-t", "login", "--json", agent="ben")
    assert claim.code == 0, claim.text
    document = claim.json()
    assert (document["owner"], document["namespace"], document["worktree"]) == ("ben", NAMESPACE, "")
    refused = a.synapse("claim", "src", "--json", agent="ana")
    assert refused.code == 1 and refused.json()["reason"] == "SCOPE_CONFLICT"
    assert refused.json()["conflicts"][0]["owner"] == "b/ben"
    assert a.synapse("claim", "docs", "-t", "docs", agent="ana").code == 0
    refused = b.synapse("claim", "docs/guide.md", "--json", agent="ben")
    assert refused.code == 1 and refused.json()["reason"] == "SCOPE_CONFLICT"
    assert refused.json()["conflicts"][0]["owner"] == "a/ana"


def test_a_commit_of_what_is_held_on_the_other_host_is_refused(team: tuple[Host, Host]) -> None:
    """Hooks on both machines know; what is one's own or free goes in."""
    a, b = team
    assert a.synapse("claim", "src/a.py", "-t", "login", agent="ana").code == 0
    assert b.synapse("claim", "src/b.py", "-t", "other", agent="ben").code == 0
    refused = b.commit("src/a.py", "ben")
    assert refused.code == 1 and "SCOPE_CONFLICT" in refused.text and "a/ana" in refused.text, refused.text
    b.done("git", "checkout", "-q", "HEAD", "--", ".")
    assert b.commit("src/b.py", "ben").code == 0
    assert b.commit("docs/guide.md", "ben").code == 0
    refused = a.commit("src/b.py", "ana")
    assert refused.code == 1 and "b/ben" in refused.text
