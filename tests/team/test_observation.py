"""What a hub knows of its peers' claims: shown, how fresh, and never granted from."""

from __future__ import annotations

from typing import Any

from tests.team.hosts import NAMESPACE, Host, until


def told(host: Host) -> dict[str, tuple[str, str, list[str]]]:
    """What other hosts hold as far as ``host`` knows: task → host, owner, paths."""
    return {
        claim["task_id"]: (claim["host"], claim["owner"], claim["paths"])
        for peer in peers(host).values()
        for claim in peer["claims"]
    }


def peers(host: Host) -> dict[str, Any]:
    document = host.synapse("status", "--all-hosts", "--json").json()
    assert set(document) == {"claims", "worktrees", "hosts"}
    return {peer["host"]: peer for peer in document["hosts"]}


def test_what_other_hosts_hold_is_shown_as_it_changes(team: tuple[Host, Host]) -> None:
    """Granted, updated, handed over, released; of the shared namespace only."""
    a, b = team
    a.done("synapse-git", "claim", "src/a.py", "-t", "login", agent="ana")
    a.done("git", "init", "-q", "elsewhere")
    a.done("synapse-git", "-C", "elsewhere", "claim", "secret", "-t", "private", agent="ana")
    until(lambda: told(b) == {"login": ("a", "a/ana", ["src/a.py"])})
    assert "a/ana" in b.synapse("status", "--all-hosts").out
    b.done("synapse-git", "claim", "docs", "-t", "docs", agent="ben")
    a.done("synapse-git", "handoff", "cy", "-t", "login", agent="ana")
    until(lambda: told(b)["login"][1] == "a/cy")
    a.done("synapse-git", "release", "-t", "login", agent="cy")
    until(lambda: told(b) == {})
    (listed,) = b.synapse("status", "--json").json()["claims"]
    assert (listed["task_id"], listed["namespace"]) == ("docs", NAMESPACE)
    assert peers(a)["b"]["standing"] == "silent"


def test_inv_mh_2_what_peers_told_grants_nothing_and_says_how_old_it_is(team: tuple[Host, Host]) -> None:
    """With the owner away its claims are shown as last told, and nothing is granted, held or free."""
    a, b = team
    a.done("synapse-git", "claim", "src/a.py", "-t", "login", agent="ana")
    until(lambda: "login" in told(b))
    a.stop_hub()
    until(lambda: peers(b)["a"]["standing"] == "unreachable")
    assert "cannot be reached" in b.synapse("team", "status").out and "login" in told(b)
    for path in ("src/a.py", "docs"):
        refused = b.synapse("claim", path, "--json", agent="ben")
        assert refused.json()["reason"] == "OWNER_UNREACHABLE"
    a.done("synapse-git", "hub", "start")
    a.done("synapse-git", "release", "-t", "login", agent="ana")
    until(lambda: peers(b)["a"]["standing"] == "following" and not told(b))
