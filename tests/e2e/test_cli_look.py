"""status, show, check and log: what can be seen, by people and by programs."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.box import PROGRAMS, Box


@pytest.fixture
def place(box: Box) -> Box:
    """A box whose commands run in a repository where ana holds src."""
    box.cwd = box.init()
    box.done("synapse-git", "claim", "-t", "login", "--note", "new flow", "src", agent="ana")
    return box


def test_status_lists_claims_and_worktrees(place: Box) -> None:
    """Plain aligned text without a terminal: who, what, until when, where; what covers each worktree."""
    out = place.synapse("status").out
    claims, worktrees = out.split("\n\n")
    assert claims.splitlines()[0].split() == ["TASK", "AGENT", "PATHS", "UNTIL", "WHERE", "NOTE"]
    assert claims.splitlines()[1].startswith("login  ana    src    ")
    assert "new flow" in claims
    assert worktrees.splitlines()[0].split() == ["WORKTREE", "BRANCH", "COVERED", "BY", "IN", "IT"]
    assert "repo (here)" in worktrees
    assert "none: synapse-git install" in worktrees
    assert "\x1b" not in out


def test_status_json_has_claims_and_worktrees_and_all_pages(place: Box) -> None:
    """More claims than a page holds are all there."""
    for number in range(101):
        place.done("synapse-git", "claim", "-t", f"t{number}", f"docs/{number}", agent="ana")
    found = place.synapse("status", "--json").json()
    assert set(found) == {"claims", "worktrees"}
    assert len(found["claims"]) == 102
    (worktree,) = found["worktrees"]
    assert (worktree["root"], worktree["branch"], worktree["layers"]) == (str(place.cwd), "main", [])
    assert worktree["worktree"] == found["claims"][0]["worktree"]


def test_status_of_nothing_says_what_to_do(box: Box) -> None:
    """No claims: the command to take one; works outside of any repository."""
    ended = box.synapse("status", cwd=box.home)
    assert ended.code == 0
    assert "synapse-git claim PATH" in ended.out


def test_status_marks_worktrees_that_are_gone(place: Box) -> None:
    """A deleted checkout stays listed, and is called gone."""
    place.cwd.rename(place.cwd.parent / "elsewhere")
    assert "repo (gone)" in place.synapse("status", cwd=place.home).out


def test_status_on_a_terminal_is_drawn(place: Box) -> None:
    """With a terminal the table is drawn, in colour unless NO_COLOR is set."""
    import os
    import pty

    def shown(**extra: str) -> str:
        leader, follower = pty.openpty()
        process = subprocess.Popen(
            [PROGRAMS / "synapse-git", "status"],
            cwd=place.cwd,
            env=place.env | {"TERM": "xterm-256color"} | extra,
            stdin=subprocess.DEVNULL,
            stdout=follower,
            stderr=follower,
        )
        os.close(follower)
        seen = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:
                break
            if not part:
                break
            seen += part
        os.close(leader)
        assert process.wait() == 0
        return seen.decode()

    assert "\x1b[1m" in shown()
    plain = shown(NO_COLOR="1", COLUMNS="200")
    assert "─" in plain
    assert "login" in plain
    assert "\x1b[3" not in plain


def test_show_is_one_claim_in_full(place: Box) -> None:
    """Every member, for people as lines, for programs as the claim."""
    out = place.synapse("show", "login").out
    for part in ("held by:", "ana", "note:", "new flow", "epoch:", "paths:\n  src"):
        assert part in out
    claim = place.synapse("show", "login", "--json").json()
    assert (claim["task_id"], claim["owner"], claim["paths"]) == ("login", "ana", ["src"])


def test_show_of_nothing_is_not_held(place: Box) -> None:
    """Exit 1 with the reason."""
    ended = place.synapse("show", "none")
    assert ended.code == 1
    assert "NOT_HELD" in ended.err


def test_check_tells_held_from_free(place: Box) -> None:
    """Exit 1 and the conflicts for what another holds; 0 for one's own and for what is free."""
    ended = place.synapse("check", "docs", "src/a.py", agent="ben")
    assert ended.code == 1
    assert "SCOPE_CONFLICT" in ended.out
    assert "src/a.py is held by ana (task login)" in ended.out
    assert place.synapse("check", "docs", agent="ben").out == "free: docs\n"
    assert place.synapse("check", "src/a.py", agent="ana").code == 0


def test_check_json_is_the_verdict(place: Box) -> None:
    """The hub's document either way."""
    refused = place.synapse("check", "--json", "src/a.py", agent="ben")
    assert refused.code == 1
    assert refused.json()["verdict"] == "refuse"
    assert refused.json()["conflicts"][0]["changed"] == ["src/a.py"]
    assert place.synapse("check", "--json", "docs", agent="ben").json()["verdict"] == "allow"


def test_check_makes_no_ids_and_starts_no_hub(box: Box) -> None:
    """Where nobody ever claimed, everything is free, and asking leaves no trace."""
    box.cwd = box.init()
    ended = box.synapse("check", "--json", "src", agent="ben")
    assert (ended.code, ended.json()["verdict"]) == (0, "allow")
    assert box.synapse("check", "src", agent="ben").out == "free: src\n"
    assert not (box.cwd / ".git/synapse").exists()
    assert not box.state.exists()


def test_check_in_a_fresh_worktree_makes_no_id(place: Box) -> None:
    """A linked worktree without an id is judged against the shared tree, and gets none by asking."""
    place.done("git", "worktree", "add", "-q", "../linked")
    linked = place.cwd.parent / "linked"
    assert place.synapse("check", "src", agent="ben", cwd=linked).code == 0
    assert not (place.cwd / ".git/worktrees/linked/synapse").exists()
    place.done("synapse-git", "claim", "-t", "all", "--shared", "docs", agent="ana")
    assert place.synapse("check", "docs", agent="ben", cwd=linked).code == 1


def test_log_is_the_audit_trail(place: Box) -> None:
    """Grant, refusal and release, oldest first, one line each."""
    place.synapse("claim", "-t", "tidy", "src", agent="ben")
    place.synapse("release", "-t", "login", agent="ana")
    out = place.synapse("log").out
    said = [line.partition("  ")[2] for line in out.splitlines()]
    assert 'ana claimed src (task login, epoch 1): "new flow"' in said
    assert "ben was refused src (SCOPE_CONFLICT), held by ana (task login)" in said
    assert said[-1] == "ana released task login"


def test_log_json_is_one_document(place: Box) -> None:
    """Every event with its identity, kind and time."""
    events = place.synapse("log", "--json").json()["events"]
    granted = next(event for event in events if event["kind"] == "claim_granted")
    assert granted["claim"]["task_id"] == "login"
    assert granted["id"].count(":") == 1
    assert granted["at"] > 0


@pytest.mark.parametrize("json_wanted", [True, False])
def test_log_follow_goes_on_as_things_happen(place: Box, json_wanted: bool) -> None:
    """Each line comes when it happens; interrupted it ends quietly with 130."""
    import signal

    words = ["log", "--follow", *(["--json"] if json_wanted else [])]
    with subprocess.Popen(
        [PROGRAMS / "synapse-git", *words],
        cwd=place.cwd,
        env=place.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as following:
        assert following.stdout
        assert following.stderr
        assert "login" in following.stdout.readline()
        place.done("synapse-git", "release", "-t", "login", agent="ana")
        for line in following.stdout:
            if "released" in line:
                assert not json_wanted or json.loads(line)["kind"] == "claim_released"
                break
        following.send_signal(signal.SIGINT)
        assert following.wait() == 130
        assert following.stderr.read() == ""


def test_a_reader_that_leaves_is_no_error(place: Box) -> None:
    """`log | head -1` is quiet, whatever the log holds."""
    for _ in range(5):
        place.done("synapse-git", "renew", "-t", "login", agent="ana")
    ended = place.run("sh", "-c", "{ synapse-git log --json; echo $? >&2; } | true")
    assert ended.err == "0\n"


def test_status_begins_with_the_project_at_hand(box: Box) -> None:
    """Its claims and worktrees come before those of others, wherever the command is typed."""
    roots = [box.init(name) for name in ("one", "two")]
    for root in roots:
        assert box.synapse("claim", "src", agent="ana", cwd=root).code == 0
    for root in roots:
        shown = box.synapse("status", cwd=root).out.splitlines()
        first = [
            next(line for line in shown[shown.index(head) + 1 :])
            for head in shown
            if "WHERE" in head or "BRANCH" in head
        ]
        assert len(first) == 2 and all(f"/{root.name}" in line for line in first), shown
