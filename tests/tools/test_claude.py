"""Claude Code, as it runs our hooks from a project's settings."""

from __future__ import annotations

import codecs
import hashlib
import json
import os
import time
from pathlib import Path

import pytest

from synapse_git import checkout, document, identity, starter
from synapse_git.protocol.body import parse
from synapse_git.protocol.watch import EditsBody
from synapse_hooks.tools import report
from tests.box import Box
from tests.hooking import allowed, claim, refused
from tests.tools.harness import Session

FREE = ""


@pytest.fixture
def project(box: Box, repo: Path) -> Path:
    """A repository with the guard, and the hooks in its `.claude/settings.json`."""
    box.done("synapse-git", "agents", "install", "claude", cwd=repo)
    return repo


def before(session: Session, path: Path | str, kind: str = "write") -> str:
    """What is said to a session that is about to change ``path``."""
    return session.say("PreToolUse", kind, path=str(path))


def held(box: Box) -> dict[str, list[str]]:
    """Whose automatic claims there are, and on what."""
    claims = box.synapse("status", "--json").json()["claims"]
    found: dict[str, list[str]] = {}
    for one in claims:
        if one["task_id"].startswith("auto:"):
            found.setdefault(one["owner"], []).extend(one["paths"])
    return found


def test_what_another_claimed_is_refused_before_it_is_edited(box: Box, project: Path) -> None:
    """The reason says who holds it, for what, and what to do; a free file beside it passes without a word."""
    claim(box, "ana", "src/a.py", task="login")
    session = Session(box, "claude", "s1", project)
    for kind in ("edit", "write", "notebook"):
        reason = before(session, project / "src/a.py", kind)
        assert "SCOPE_CONFLICT" in reason
        assert "src/a.py is held by ana (task login) until" in reason
        assert "synapse-git claim --wait" in reason
    assert before(session, project / "src/b.py", "edit") == FREE
    assert held(box) == {identity.alias("claude", "s1"): ["src/b.py"]}
    marked = codecs.BOM_UTF8 + json.dumps(session.payload("edit", path=str(project / "src/a.py"))).encode()
    (ended,) = session.fire("PreToolUse", marked, "Edit")
    assert "src/a.py is held by ana" in ended.out and ended.err == ""


def test_what_a_server_of_mcp_writes_is_refused_likewise(box: Box, project: Path) -> None:
    """A file moved is judged where it goes and where it comes from."""
    claim(box, "ana", "src/a.py", task="login")
    session = Session(box, "claude", "s1", project)
    held, free = str(project / "src/a.py"), str(project / "src/b.py")
    for kind in ("served-write", "served-edit"):
        assert "src/a.py is held by ana" in before(session, held, kind)
        assert before(session, free, kind) == FREE
    for source, path in ((held, free), (free, held)):
        assert "src/a.py is held by ana" in session.say("PreToolUse", "served-move", source=source, path=path)


def test_a_path_below_the_home_directory_may_begin_with_a_tilde(box: Box, project: Path) -> None:
    """Tools take it for the user's home, and so is it judged."""
    claim(box, "ana", "src/a.py", task="login")
    session = Session(box, "claude", "s1", project)
    assert "SCOPE_CONFLICT" in before(session, f"~/{os.path.relpath(project, box.home)}/src/a.py")


def test_edits_are_judged_where_another_tool_took_the_guard_s_place(box: Box, project: Path) -> None:
    """A `core.hooksPath` set since, and hooks replaced since, concern commits; an uninstalled guard concerns both."""
    claim(box, "ana", "src/a.py", task="login")
    session = Session(box, "claude", "s1", project)
    box.done("git", "config", "core.hooksPath", ".githooks", cwd=project)
    assert "SCOPE_CONFLICT" in before(session, project / "src/a.py", "edit")
    worktrees = box.synapse("status", "--json", cwd=project).json()["worktrees"]
    assert [item["layers"] for item in worktrees] == [["tools"]]
    box.done("git", "config", "--unset", "core.hooksPath", cwd=project)
    (project / ".git/hooks/prepare-commit-msg").write_text("#!/bin/sh\n")
    assert "SCOPE_CONFLICT" in before(session, project / "src/a.py", "edit")
    box.done("synapse-git", "uninstall", cwd=project)
    assert before(session, project / "src/a.py", "edit") == FREE


def test_what_another_has_not_committed_is_not_thrown_away(box: Box, project: Path) -> None:
    """A stash, a reset, a clean or a checkout over another's changes is refused; where nothing goes, it passes."""
    claim(box, "ana", "src", task="login")
    session = Session(box, "claude", "s1", project)

    def said(command: str) -> str:
        return session.say("PreToolUse", "shell", command=command)

    for command in ("git stash", "git checkout .", "git clean -fd src"):
        assert said(command) == FREE
    assert "src/a.py is held by ana" in said("git checkout HEAD~1 -- src/a.py")
    for path in ("src/a.py", "src/new.py", "docs/guide.md"):
        box.write(path, cwd=project)
    for command in ("git stash", "cd docs && git reset -q --hard", "git restore src", "rm src/*.py"):
        found = said(command)
        assert "src/a.py" in found and "held by ana" in found, command
    assert "src/new.py is held by ana" in said("git clean -fd")
    for command in ("git stash -- docs", "git checkout docs", "git restore --staged ."):
        assert said(command) == FREE, command


def test_an_edit_claims_for_its_session_until_the_session_ends(box: Box, project: Path) -> None:
    """Two sessions do not get the same file; the end of the first gives it back, and no claim made by name."""
    one, two = (Session(box, "claude", name, project) for name in ("s1", "s2"))
    me = identity.alias("claude", "s1")
    claim(box, me, "docs", task="mine")
    assert before(one, project / "src/a.py") == FREE
    assert me in before(two, project / "src/a.py")
    news = two.say("SessionStart", "start")
    assert 0 < len(news.splitlines()) <= 3
    assert f"{me} holds src/a.py until" in news
    assert one.say("SessionEnd", "end") == ""
    assert before(two, project / "src/a.py") == FREE
    assert held(box) == {identity.alias("claude", "s2"): ["src/a.py"]}
    claims = box.synapse("status", "--json").json()["claims"]
    assert [one["task_id"] for one in claims if one["owner"] == me] == ["mine"]


def test_the_worktree_of_the_file_counts(box: Box, project: Path) -> None:
    """Another worktree's file is another path, wherever the agent is and however it gets there."""
    linked = project.parent / "linked"
    box.done("git", "worktree", "add", "-q", "-b", "side", str(linked), cwd=project)
    box.done("git", "worktree", "add", "-q", "-b", "third", str(project / "inner"), cwd=project)
    claim(box, "ana", "src/a.py", cwd=project)
    session = Session(box, "claude", "s1", project, cwd=linked)
    assert before(session, linked / "src/a.py") == FREE
    assert before(session, project / "inner/src/a.py") == FREE
    assert "ana" in before(session, project / "src/a.py")
    assert "ana" in before(session, "../repo/src/a.py")
    (linked / "way").symlink_to(project / "src")
    (linked / "link.py").symlink_to(project / "src/a.py")
    assert "ana" in before(session, linked / "way/a.py")
    assert "ana" in before(session, linked / "link.py")
    roots = {one["root"] for one in box.synapse("status", "--json").json()["worktrees"]}
    assert str(linked) in roots


def test_what_no_guard_covers_passes(box: Box, project: Path, tmp_path: Path) -> None:
    """Files outside of repositories, in one without the guard, and in a git dir are nobody's business."""
    other = box.init("other")
    session = Session(box, "claude", "s1", project)
    for path in (tmp_path / "x", other / "src/a.py", project / ".git/config", "/proc/none", "/"):
        assert before(session, path) == FREE
    assert held(box) == {}


def test_subagents_are_agents_of_their_own_and_the_session_speaks_for_them(box: Box, project: Path) -> None:
    """Siblings do not trample each other; the session commits what they made; what one leaves goes to the session."""
    session = Session(box, "claude", "s1", project)
    session.env = {"CLAUDE_CODE_SESSION_ID": "s1"}
    me = identity.alias("claude", "s1")

    def edit(subagent: str, path: str) -> str:
        return session.say("PreToolUse", "subagent", subagent=subagent, path=str(project / path))

    assert edit("a1", "src/a.py") == FREE
    assert f"{me}/" in edit("a2", "src/a.py")
    assert edit("a2", "src/b.py") == FREE
    assert before(session, project / "src/a.py") == FREE
    box.write("src/b.py", "b = 2\n", cwd=project)
    allowed(box.git("commit", "-qam", "both", cwd=project, env=session.env))
    session.say("SubagentStop", "subagent-stop", subagent="a1")
    assert me in held(box)
    assert edit("a3", "src/a.py") == FREE
    session.say("SessionEnd", "end")
    assert held(box) == {}


def test_the_shell_of_a_session_is_the_same_agent(box: Box, project: Path) -> None:
    """What a session's edit claimed its own commit may change, and nobody else's; the commit gives it back."""
    session = Session(box, "claude", "s1", project)
    assert before(session, project / "src/a.py") == FREE
    box.write("src/a.py", "a = 2\n", cwd=project)
    refused(box.git("commit", "-qam", "another's", cwd=project, agent="ben"), "src/a.py")
    allowed(box.git("commit", "-qam", "its own", cwd=project, env={"CLAUDE_CODE_SESSION_ID": "s1"}))
    patience = time.monotonic() + 10
    while held(box) and time.monotonic() < patience:
        time.sleep(0.05)
    assert held(box) == {}


def test_a_named_agent_is_that_agent_and_nobody_is_merged_by_an_empty_id(box: Box, project: Path) -> None:
    """SYNAPSE_AGENT wins; without any id a file of others is refused and nothing is claimed."""
    named = Session(box, "claude", "s1", project)
    named.env = {"SYNAPSE_AGENT": "ana"}
    assert before(named, project / "src/a.py") == FREE
    assert held(box) == {"ana": ["src/a.py"]}
    empty = Session(box, "claude", "", project)
    assert "ana" in before(empty, project / "src/a.py")
    assert before(empty, project / "src/b.py") == FREE
    assert held(box) == {"ana": ["src/a.py"]}


def test_commands_are_checked_for_what_they_name(box: Box, project: Path) -> None:
    """A redirection into a held file is refused; what cannot be read off passes, and nothing is claimed."""
    claim(box, "ana", "src/a.py")
    session = Session(box, "claude", "s1", project)

    def run(command: str) -> str:
        return session.say("PreToolUse", "shell", command=command)

    assert "ana" in run("echo x > src/a.py")
    assert "ana" in run("cd src && sed -i s/a/b/ a.py")
    assert "ana" in run("rm -r src")
    assert run("echo x > src/b.py; cat src/a.py") == FREE
    assert run("eval $SOMETHING > $WHERE") == FREE
    assert held(box) == {}


GARBAGE = [b"", b"{", b"[]", b'"x"', b"\xff", b'{"tool_name": 1}', b'{"tool_input": [1]}', b"[" * 9999]


def test_what_cannot_be_understood_locks_nobody_out(box: Box, project: Path) -> None:
    """A malformed payload ends without a veto, with a line that says so and without a traceback."""
    session = Session(box, "claude", "s1", project)
    for raw in GARBAGE:
        (ended,) = session.fire("PreToolUse", raw, "Write")
        assert ended.code not in (0, 2)
        assert ended.out == ""
        assert "runs unchecked" in ended.err
        assert ended.err.count("\n") == 1
    (ended,) = session.fire("PreToolUse", session.payload("write", path="a\0b"), "Write")
    assert (ended.code in (0, 2), ended.out) == (False, "")


def test_an_installation_that_is_gone_stops_nothing(box: Box, project: Path) -> None:
    """With the program or the launcher away every hook ends with 127."""
    session = Session(box, "claude", "s1", project)
    launcher = box.home / ".local/share/synapse-git/agent-hook"
    launcher.write_text(launcher.read_text().replace("launch='", "launch='/gone"))
    payload = session.payload("write", path=str(project / "src/a.py"))
    (ended,) = session.fire("PreToolUse", payload, "Write")
    assert (ended.code, ended.out) == (127, "")
    assert "Install it again" in ended.err
    launcher.unlink()
    (ended,) = session.fire("PreToolUse", payload, "Write")
    assert ended.code == 127


def test_without_a_hub_an_edit_is_refused_with_a_way_out(box: Box, project: Path) -> None:
    """As policy has it: refused by default, let through with a word where the user said so."""
    session = Session(box, "claude", "s1", project)
    session.env = {"SYNAPSE_HUB": "/nowhere/hub.sock"}
    reason = before(session, project / "src/a.py")
    assert "HUB_UNREACHABLE" in reason
    assert "synapse-git.guard" not in reason
    assert "git config synapse.guard.hubDown warn" in reason
    box.done("git", "config", "synapse.guard.hubDown", "warn", cwd=project)
    assert before(session, project / "src/a.py") == FREE


def test_policies_hold_for_edits(box: Box, project: Path) -> None:
    """Without automatic claims nothing is claimed; where claims are asked for an unclaimed edit is refused."""
    session = Session(box, "claude", "s1", project)
    box.done("git", "config", "synapse.guard.autoClaim", "false", cwd=project)
    assert before(session, project / "src/a.py") == FREE
    assert held(box) == {}
    box.done("git", "config", "synapse.guard.unclaimed", "refuse", cwd=project)
    assert "UNCLAIMED" in before(session, project / "src/a.py")
    claim(box, identity.alias("claude", "s1"), "src")
    assert before(session, project / "src/a.py") == FREE


def test_an_edit_that_touches_several_checkouts_is_all_or_nothing(box: Box, project: Path) -> None:
    """A command that writes into two worktrees is refused for the one, and claims nothing in the other."""
    linked = project.parent / "linked"
    box.done("git", "worktree", "add", "-q", "-b", "side", str(linked), cwd=project)
    claim(box, "ana", "src/a.py", cwd=linked)
    session = Session(box, "claude", "s1", project)
    assert "ana" in session.say("PreToolUse", "shell", command=f"touch src/b.py {linked}/src/a.py")
    assert held(box) == {}


def test_an_edit_is_reported_after_it_was_made(box: Box, project: Path) -> None:
    """The hook ends at once and says nothing, with a hub and without."""
    session = Session(box, "claude", "s1", project)
    assert before(session, project / "src/a.py") == FREE
    assert session.say("PostToolUse", "after", path=str(project / "src/a.py")) == ""


def test_what_is_reported_is_what_the_hub_takes(box: Box, project: Path) -> None:
    """Paths with the digests of their content, null for a file that is gone."""
    here = checkout.find(str(project), box.env)
    said = document.write(report.body("ana", here, ["src/a.py", "gone", "src"])).encode()
    digest = hashlib.sha256((project / "src/a.py").read_bytes()).hexdigest()
    told = parse(said, EditsBody)
    assert [(one.path, one.sha256) for one in told.edits] == [("src/a.py", digest), ("gone", None), ("src", None)]
    asked = time.monotonic() + 10
    with starter.connect(box.env, deadline=asked, start_deadline=asked) as line:
        assert line.ask("POST", "/v2/edits", [("Content-Type", "application/json")], said).status == 200


def test_install_prints_and_status_tells(box: Box, repo: Path) -> None:
    """What `print` shows is what `install` writes; `status` knows it; uninstalling leaves no trace."""
    assert [one["state"] for one in agents(box, repo)] == ["missing", "missing"]
    printed = box.done("synapse-git", "agents", "print", "claude", cwd=repo)
    box.done("synapse-git", "agents", "install", "claude", cwd=repo)
    assert json.loads(printed) == json.loads((repo / ".claude/settings.json").read_text())
    assert [one["state"] for one in agents(box, repo)] == ["installed", "missing"]
    box.done("synapse-git", "agents", "install", "claude", "--user", cwd=repo)
    assert [one["state"] for one in agents(box, repo)] == ["installed", "installed"]
    for scope in ("--project", "--user"):
        box.done("synapse-git", "agents", "uninstall", "claude", scope, cwd=repo)
    assert not (repo / ".claude").exists()
    assert not (box.home / ".claude").exists()
    assert box.synapse("agents", "install", "nobody", cwd=repo).code == 2


def agents(box: Box, repo: Path) -> list[dict[str, str]]:
    """What `agents status` says of Claude Code, for the project and for the user."""
    found: list[dict[str, str]] = box.synapse("agents", "status", "claude", "--json", cwd=repo).json()["agents"]
    return found


def test_nothing_is_given_back_under_an_edit_that_was_allowed_meanwhile(box: Box, project: Path) -> None:
    """A release that rests on an older look is refused; one that has seen the last edit is done."""
    session = Session(box, "claude", "s1", project)
    assert before(session, project / "src/a.py") == FREE
    with starter.connect(box.env, deadline=time.monotonic() + 10, start_deadline=time.monotonic() + 10) as line:
        page = document.read(line.ask("GET", "/v2/claims").body)
        (one,) = page["claims"]
        body = {"task_id": one["task_id"], "agent": one["owner"], "namespace": one["namespace"]}

        def release(since: float) -> tuple[int, str]:
            headers = [("Content-Type", "application/json"), ("Synapse-Unedited-Since", repr(since))]
            answer = line.ask("POST", "/v2/release", headers, document.write(body).encode())
            return answer.status, document.read(answer.body).get("reason", "")

        assert release(page["now"] - 5) == (409, "VERSION_MISMATCH")
        assert release(page["now"]) == (200, "")
