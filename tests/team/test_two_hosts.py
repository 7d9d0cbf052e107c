"""Two hubs as processes, each with its own home: one path, one holder, wherever it is asked for."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from tests.box import Box
from tests.hooking import count_starts, log, script
from tests.team.hosts import NAMESPACE, Host, found, heard, join, until


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


def test_a_commit_that_receipts_cover_is_judged_once(team: tuple[Host, Host]) -> None:
    """One Python, until something was asked of the owner since; what no receipt covers is asked of it by each hook."""
    _, b = team
    assert b.synapse("claim", "src/a.py", "-t", "login", agent="ben").code == 0
    count_starts(b.repo / ".git/hooks", b)
    for number in range(2):
        b.write("src/a.py", f"{number}\n")
        assert b.git("commit", "-qam", "x", agent="ben").code == 0
        assert log(b) == ["pre-commit"]
    b.write("docs/guide.md")
    assert b.git("commit", "-qam", "x", agent="ben").code == 0
    assert log(b) == ["pre-commit", "prepare-commit-msg", "reference-transaction"]
    editor = script(b.home / "editor", 'synapse-git release --agent ben -t login && echo message >"$1"')
    b.write("src/a.py")
    assert b.git("commit", "-a", agent="ben", env={"GIT_EDITOR": str(editor)}).code == 0
    assert log(b) == ["pre-commit", "reference-transaction"]


def test_one_name_on_two_hosts_is_two_agents(team: tuple[Host, Host]) -> None:
    """What ana holds on the one is in the way of ana on the other, and neither can speak for the other."""
    a, b = team
    assert a.synapse("claim", "src", "-t", "one", agent="ana").code == 0
    assert b.synapse("claim", "src/a.py", "-t", "two", "--json", agent="ana").json()["reason"] == "SCOPE_CONFLICT"
    assert b.synapse("release", "-t", "one", agent="ana").code == 1
    assert b.commit("src/a.py", "ana").code == 1
    for name in ("b/ana", "b"):
        assert a.synapse("claim", "docs", "--json", agent=name).json()["reason"] == "NAME_OWNED"


def test_a_forwarded_claim_is_used_like_any_other(team: tuple[Host, Host]) -> None:
    """Seen, shown, renewed, updated, resumed, handed over and given back where it was taken."""
    a, b = team
    assert b.synapse("claim", "src/a.py", "-t", "login", agent="ben").code == 0
    (listed,) = b.synapse("status", "--json").json()["claims"]
    assert (listed["task_id"], listed["owner"], listed["paths"]) == ("login", "ben", ["src/a.py"])
    assert "src/a.py" in b.synapse("show", "login").out
    renewed = b.synapse("renew", "--json", agent="ben")
    assert renewed.code == 0 and renewed.json()["epoch"] > listed["epoch"], renewed.text
    assert b.synapse("update", "-t", "login", "--note", "half way", agent="ben").code == 0
    assert b.synapse("checkpoint", "-t", "login", "--data", '{"at": 7}', agent="ben").code == 0
    assert b.synapse("handoff", "cy", "-t", "login", agent="ben").code == 0
    assert b.synapse("status", "--json").json()["claims"][0]["owner"] == "cy"
    assert a.synapse("status", "--json").json()["claims"][0]["owner"] == "b/cy"
    assert b.synapse("heartbeat", "--json", agent="cy").json()["claims"][0]["task_id"] == "login"
    assert b.synapse("handoff", "a/ana", "-t", "login", agent="cy").code == 0
    heard(b)  # what is listed is what b's agents hold now, whoever asked for it first
    assert b.synapse("status", "--json").json()["claims"] == []
    assert a.synapse("release", "-t", "login", agent="ana").code == 0


def test_without_the_owner_nothing_is_granted_and_what_was_covered_a_moment_ago_goes_in(
    team: tuple[Host, Host],
) -> None:
    """OWNER_UNREACHABLE names it; a live receipt needs no question, and everything else is refused."""
    a, b = team
    assert b.synapse("claim", "src/a.py", "-t", "login", agent="ben").code == 0
    a.stop_hub()
    refused = b.synapse("claim", "docs", "--json", agent="ben")
    assert refused.code == 3 and refused.json()["reason"] == "OWNER_UNREACHABLE" and "a," in refused.json()["detail"]
    # Nothing was sent, so nothing can have been done, and what is held is held as before.
    assert "not known" not in refused.json()["detail"]
    assert b.synapse("renew", "-t", "login", agent="ben").code == 3
    assert b.commit("src/a.py", "ben").code == 0
    refused = b.commit("docs/guide.md", "ben")
    assert refused.code == 1 and "OWNER_UNREACHABLE" in refused.text
    assert b.synapse("check", "docs", agent="ben").code == 3
    b.done("git", "config", "synapse.guard.ownerDown", "warn")
    assert b.commit("docs/guide.md", "ben").code == 0
    a.done("synapse-git", "hub", "start")
    b.done("git", "config", "--unset", "synapse.guard.ownerDown")
    until(lambda: b.synapse("claim", "docs", agent="ben").code == 0)


def test_what_is_taken_away_is_given_on_once_its_holders_hub_knows(team: tuple[Host, Host]) -> None:
    """Until then nobody gets it, for its holder's commits might still pass; its hub hears of it at once."""
    a, b = team
    assert b.synapse("claim", "src/a.py", "-t", "login", agent="ben").code == 0
    hub = b.hub_pid()
    os.kill(hub, signal.SIGSTOP)
    try:
        taken = a.synapse("release", "-t", "login", "--force", "--reason", "urgent", agent="ana")
        assert taken.code == 0, taken.text
        assert a.synapse("claim", "src/a.py", "--json", agent="ana").json()["reason"] == "SCOPE_CONFLICT"
    finally:
        os.kill(hub, signal.SIGCONT)
    until(lambda: a.synapse("claim", "src/a.py", "-t", "mine", agent="ana").code == 0, 5.0)
    assert b.commit("src/a.py", "ben").code == 1
    assert b.synapse("renew", "-t", "login", agent="ben").code == 1


def _ungoverned(host: Host) -> bool:
    return bool(host.synapse("claim", "docs", "--json").json().get("reason") == "UNGOVERNED")


def _granted(host: Host) -> bool:
    return host.synapse("claim", "docs", "-t", "t", agent="ana").code == 0


def test_a_file_that_is_gone_or_broken_grants_nothing(team: tuple[Host, Host]) -> None:
    """On either side: that the namespace has an owner is in the journal, and nobody falls back to granting alone."""
    a, b = team
    for host, other in ((a, b), (b, a)):
        file = host.state / "hub.toml"
        text = file.read_text()
        for broken in ("", text.replace("owner", "ownr"), None):
            if broken is None:
                file.unlink()
            else:
                file.write_text(broken)
            heard(host)
            until(partial(_ungoverned, host))
            assert host.commit("docs/guide.md", "ana").code == 1
            if broken and "ownr" in broken:
                assert "hub.toml" in host.synapse("hub", "status").out
                assert "hub.toml" in host.synapse("team", "status").out
            host.done("git", "reset", "-q", "--hard")
        file.write_text(text)
        heard(host)
        until(partial(_granted, host))
        assert host.synapse("release", "-t", "t", agent="ana").code == 0
        assert other.synapse("status").code == 0


def test_a_token_counts_once_and_only_for_the_hub_it_is_of(box: Box, tmp_path: Path) -> None:
    """A second use, a garbled one, and one given to another hub are refused with what to do."""
    with Host(tmp_path, "a") as a, Host(tmp_path, "b") as b, Host(tmp_path, "c") as c:
        url, token = found(a)
        assert join(b, url, token).code == 0
        assert "used up" in join(c, url, token).text
        assert "no token" in join(c, url, "nonsense").text
        _, fresh = found(a, "--remote", "git@example.org:acme/api.git")
        assert join(c, "https://127.0.0.1:1", fresh).code == 3
        assert "no address of a hub" in join(c, "nonsense", fresh).text
        taken = a.synapse("team", "init", "other/name", "--remote", "https://example.org/acme/api", "--json")
        assert taken.code == 1 and NAMESPACE in taken.json()["detail"]
        assert a.synapse("team", "init", "x" * 257, "--json").json()["reason"] == "INVALID_REQUEST"
        _, foreign = found(c)
        refused = join(b, url, foreign)
        assert refused.code == 1 and "not the hub that gave the token out" in refused.text
        second = join(c, *found(a))
        assert second.code == 1 and "CONTESTED" in second.text


@pytest.mark.parametrize("joined", [False, True])
def test_inv_mh_4_two_default_hubs_exclude_nothing_between_them(tmp_path: Path, joined: bool, box: Box) -> None:
    """Each grants the same path for itself, and says so; in a team only one of them does."""
    upstream = box.init("api")
    with Host(tmp_path, "a") as a, Host(tmp_path, "b") as b:
        a.clone(upstream)
        b.clone(upstream)
        if joined:
            assert join(b, *found(a)).code == 0
        codes = [host.synapse("claim", "src", "-t", "t", agent="ana").code for host in (a, b)]
        assert codes == ([0, 1] if joined else [0, 0])
        for verb in ("team", "hub"):
            assert ("excludes nothing on other machines" in a.synapse(verb, "status").out) is not joined
        a.done("git", "config", "synapse.namespace", NAMESPACE)
        assert ("excludes nothing on other machines" in a.synapse("status").err) is not joined
        if joined:
            held = b.synapse("status")
            assert "nothing is claimed by agents of this machine" in held.out and "status --all-hosts" in held.err
            until(lambda: "a/ana" in b.synapse("status", "--all-hosts").out)
            assert "nothing is claimed" not in b.synapse("status", "--all-hosts").out
            b.done("git", "config", "synapse.namespace", "acme/apj")
            alone = b.synapse("status").err
            assert "nobody grants in it" in alone and f"git config synapse.namespace {NAMESPACE}" in alone
