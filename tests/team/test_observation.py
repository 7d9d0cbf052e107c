"""What a hub knows of its peers' claims: shown, how fresh, and never granted from."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.team.hosts import NAMESPACE, Host, until
from tests.watch.watching import watching


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


def inbox(host: Host, agent: str) -> str:
    return host.synapse("inbox", agent=agent).out


def test_a_holder_on_another_host_is_told_what_concerns_it(team: tuple[Host, Host]) -> None:
    """Conflict, override, handover and a forced release reach its own inbox, in names that it can use."""
    a, b = team
    b.done("synapse-git", "claim", "src/a.py", "-t", "login", agent="ben")
    assert a.synapse("claim", "src", agent="ana").code == 1
    until(lambda: "a/ana was refused a claim of src" in inbox(b, "ben"))
    a.write("src/a.py", "over it\n")
    a.done("git", "commit", "-qam", "x", agent="ana", env={"SYNAPSE_OVERRIDE": "it burns"})
    until(lambda: "a/ana went over your claim" in inbox(b, "ben") and "it burns" in inbox(b, "ben"))
    a.done("synapse-git", "release", "-t", "login", "--force", "--reason", "gone home", agent="ana")
    until(lambda: "a/ana took task login" in inbox(b, "ben"))
    assert inbox(b, "ben").count("gone home") == 1
    a.done("synapse-git", "claim", "docs", "-t", "docs", agent="ana")
    until(lambda: "a/ana, as a said" in b.synapse("show", "docs", agent="ben").out)
    assert b.synapse("renew", "-t", "docs", "--json", agent="ben").json()["reason"] == "NOT_OWNER"
    a.done("synapse-git", "handoff", "b/ben", "-t", "docs", agent="ana")
    until(lambda: b.synapse("renew", "-t", "docs", agent="ben").code == 0, 3.0)
    until(lambda: "a/ana handed task docs" in inbox(b, "ben"))
    assert "nothing waits" in inbox(b, "cy")
    a.done("synapse-git", "claim", "src", "-t", "late", agent="ana")
    b.done("synapse-git", "release", "-t", "late", "--force", "--reason", "gone home", agent="ben")
    assert a.synapse("show", "late").code == 1 and "b/ben took task late" in inbox(a, "ana")


def test_an_override_is_told_to_the_holder_at_the_owner(team: tuple[Host, Host]) -> None:
    """Made on a member's machine, against what an agent of the owner's holds."""
    a, b = team
    a.done("synapse-git", "claim", "src/a.py", "-t", "login", agent="ana")
    b.write("src/a.py", "over it\n")
    b.done("git", "commit", "-qam", "x", agent="ben", env={"SYNAPSE_OVERRIDE": "it burns"})
    until(lambda: "b/ben went over your claim" in inbox(a, "ana"))


def test_agents_of_two_hosts_talk_to_each_other(team: tuple[Host, Host]) -> None:
    """Either way, each letter once, over a restart of either hub; nobody speaks under another's name."""
    a, b = team
    b.done("synapse-git", "send", "--to", "a/ana", "may I", agent="ben")
    assert "b/ben" in inbox(a, "ana") and "may I" in inbox(a, "ana")
    b.stop_hub()
    a.done("synapse-git", "send", "--to", "b/ben", "you may", agent="ana")
    a.stop_hub()
    b.done("synapse-git", "hub", "start")
    a.done("synapse-git", "hub", "start")
    until(lambda: "you may" in inbox(b, "ben"), 20.0)
    a.stop_hub()
    a.done("synapse-git", "hub", "start")
    until(lambda: peers(b)["a"]["standing"] == "following")
    assert inbox(b, "ben").count("you may") == 1
    assert b.synapse("send", "--to", "a/ana", "me", "--json", agent="a/cy").json()["reason"] == "NAME_OWNED"


@contextmanager
def session(host: Host, agent: str) -> Iterator[ClientConnection]:
    """A session of the agent's at its own hub."""
    line = socket.socket(socket.AF_UNIX)
    line.connect(host.synapse("hub", "status", "--json").json()["socket"])
    with connect("ws://hub/v2/session", sock=line, compression=None) as opened:
        opened.send(json.dumps({"type": "register", "agent": agent}))
        assert json.loads(opened.recv(5))["type"] == "welcome"
        yield opened


def test_sessions_on_two_hosts_talk_live(team: tuple[Host, Host]) -> None:
    """What is said to an agent elsewhere is heard there as it comes; to nobody of that name in vain, which is said."""
    a, b = team
    until(lambda: peers(b)["a"]["standing"] == "following")
    with session(a, "ana") as ana, session(b, "ben") as ben:
        ben.send(json.dumps({"type": "chat", "to": "a/ana", "body": "may I", "client_msg_id": "m1"}))
        sent = json.loads(ben.recv(5))
        assert (sent["type"], sent["client_msg_id"], sent["delivered"]) == ("sent", "m1", True)
        heard_there = json.loads(ana.recv(5))
        assert (heard_there["sender"], heard_there["body"]) == ("b/ben", "may I")
        ana.send(json.dumps({"type": "chat", "to": "b/ben", "body": "you may"}))
        assert json.loads(ana.recv(5))["type"] == "sent"
        reply = json.loads(ben.recv(5))
        assert (reply["type"], reply["sender"], reply["body"]) == ("message", "a/ana", "you may")
        a.stop_hub()
        ben.send(json.dumps({"type": "chat", "to": "a/ana", "body": "and now", "client_msg_id": "m2"}))
        refused = json.loads(ben.recv(10))
        assert (refused["type"], refused["reason"], refused["client_msg_id"]) == ("refused", "OWNER_UNREACHABLE", "m2")


def test_a_watcher_knows_what_is_held_on_other_hosts(team: tuple[Host, Host]) -> None:
    """A change here of what somebody holds there is told here, and its holder hears of it there."""
    a, b = team
    a.done("synapse-git", "claim", "src", "-t", "login", agent="ana")
    until(lambda: "login" in told(b))
    with watching(b) as watch:
        b.write("docs/free.md")
        b.write("src/a.py", "over it\n")
        watch.until(watch.edits)
        assert watch.edits() == {"src/a.py": ""}
    (seen,) = b.synapse("status", "--json").json()["worktrees"]
    assert [edit["holders"][0]["owner"] for edit in seen["foreign_edits"]] == ["a/ana"]
    assert "somebody unknown changed src/a.py, held by a/ana (task login)" in b.synapse("log").out
    until(lambda: "somebody unknown changed src/a.py, which you hold for task login" in inbox(a, "ana"))


def test_inv_cr_4_two_that_own_the_same_find_out_by_following_each_other(team: tuple[Host, Host]) -> None:
    """Nobody has to nudge them; it heals once the one says that it gives way."""
    a, b = team
    file = b.state / "hub.toml"
    before = file.read_text()
    a.stop_hub()
    b.stop_hub()
    file.write_text(before.replace('owner = "a"', 'owner = "b"\nmembers = ["a"]'))
    assert _reason(b) == ""  # it has heard of nobody else yet
    a.done("synapse-git", "hub", "start")
    for host in (a, b):
        until(partial(_refused, host, "CONTESTED"), 20.0)
    b.stop_hub()
    file.write_text(before)
    b.done("synapse-git", "hub", "start")
    for host in (a, b):
        until(partial(_refused, host, ""), 20.0)


def _refused(host: Host, reason: str) -> bool:
    return _reason(host) == reason


def _reason(host: Host) -> str:
    """Why its agent gets no claim, '' if it does."""
    claim = host.synapse("claim", f"src/{host.name}.py", "-t", host.name, "--json", agent="ana")
    return str(claim.json().get("reason", ""))
