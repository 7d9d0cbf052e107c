"""What holds for every harness: its own configuration, its own payloads, its own answers."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from synapse_git import equipment, identity
from tests.box import Box
from tests.hooking import claim, refused
from tests.tools.agents import HARNESSES, KINDS, OpenCode, agent
from tests.tools.test_claude import held

FREE = ""


@pytest.fixture(params=HARNESSES)
def harness(request: pytest.FixtureRequest) -> str:
    """Each of them; OpenCode only where there is a node to run its plugin."""
    return str(request.param)


@pytest.fixture
def project(box: Box, repo: Path, harness: str) -> Path:
    """A repository with the guard and the hooks of the harness."""
    box.done("synapse-git", "agents", "install", harness, cwd=repo)
    return repo


def test_two_agents_and_a_linked_worktree(box: Box, harness: str, project: Path) -> None:
    """A free file is claimed in silence, a held one refused with the holder's name, in the worktree that it lies in."""
    linked = project.parent / "linked"
    box.done("git", "worktree", "add", "-q", "-b", "side", str(linked), cwd=project)
    claim(box, "ana", "docs", task="guide")
    one, two = (agent(box, harness, name, project) for name in ("s1", "s2"))
    me = identity.alias(harness, "s1")
    for kind in KINDS[harness]:
        reason = one.edit(project / "docs/guide.md", kind)
        assert "SCOPE_CONFLICT" in reason
        assert "docs/guide.md is held by ana (task guide) until" in reason
    assert held(box) == {}
    assert one.edit(project / "src/a.py") == FREE
    assert held(box) == {me: ["src/a.py"]}
    assert me in two.edit(project / "src/a.py")
    assert two.edit(linked / "src/a.py") == FREE
    elsewhere = agent(box, harness, "s2", project, cwd=linked)
    assert me in elsewhere.edit(project / "src/a.py")
    assert "ana" in two.command("echo x >> docs/guide.md")
    assert two.command("cat docs/guide.md") == FREE
    heard = one.edited(project / "src/a.py")
    assert heard == FREE or "for you: synapse-git inbox" in heard  # of who was refused what it holds
    time.sleep(0.01)  # what was allowed in the same instant would count as edited again
    assert one.end() == FREE
    assert two.edit(project / "src/a.py") == FREE


def test_a_session_hears_what_others_hold(box: Box, harness: str, project: Path) -> None:
    """In three lines at most, where the harness passes on what its start answers."""
    claim(box, "ana", "docs", task="guide")
    news = agent(box, harness, "s1", project).start()
    assert ("ana holds docs until" in news) == (harness not in ("copilot", "opencode"))
    assert len(news.splitlines()) <= 3


def test_messages_that_wait_are_mentioned_once(box: Box, harness: str, project: Path) -> None:
    """At the start, and after an edit if one has come since, where the harness passes it on; quiet otherwise."""
    session, me = agent(box, harness, "s1", project), identity.alias(harness, "s1")
    hears = harness not in ("copilot", "opencode")
    assert session.start() == FREE
    assert session.edit(project / "src/a.py") == session.edited(project / "src/a.py") == FREE
    box.done("synapse-git", "send", "--to", me, "one", agent="ana")
    waits = "1 message waits for you: synapse-git inbox"
    assert session.edited(project / "src/a.py") == (waits if hears else FREE)
    assert session.edited(project / "src/a.py") == FREE
    box.done("synapse-git", "send", "--to", me, "two", agent="ana")
    assert session.start() == ("2 messages wait for you: synapse-git inbox" if hears else FREE)
    assert session.edited(project / "src/a.py") == FREE


def test_install_and_uninstall_leave_no_trace(box: Box, harness: str, project: Path) -> None:
    """For the project and for the user."""
    box.done("synapse-git", "agents", "install", harness, "--user", cwd=project)
    assert equipment.covering(str(project), box.env) == [harness]
    for scope in ("--project", "--user"):
        box.done("synapse-git", "agents", "uninstall", harness, scope, cwd=project)
    assert equipment.covering(str(project), box.env) == []
    assert box.done("git", "status", "--porcelain", cwd=project) == ""
    assert not Path(equipment.PLACES[harness].users(box.env)).parent.exists()


@pytest.mark.parametrize("harness", [name for name in ("codex", "opencode") if name in HARNESSES])
def test_a_patch_is_all_or_nothing(box: Box, harness: str, project: Path) -> None:
    """Added, updated, moved and deleted files count, content that looks like a name does not."""
    patcher = agent(box, harness, "s1", project)
    claim(box, "ana", "gone.txt")
    assert "gone.txt is held by ana" in patcher.edit("docs/new.md", "patch")
    assert held(box) == {}
    box.done("synapse-git", "release", "-t", "t1", "--agent", "ana", cwd=project)
    assert patcher.edit("docs/new.md", "patch") == FREE
    paths = ["docs/new.md", "gone.txt", "new/one.py", "src/b.py"]
    assert held(box) == {identity.alias(harness, "s1"): paths}


@pytest.mark.parametrize("harness", ["opencode"] if "opencode" in HARNESSES else [])
def test_a_plugin_names_the_session_to_its_shell_and_its_subagents(box: Box, harness: str, project: Path) -> None:
    """The variable that `identity` knows; a session with a parent is a subagent of it."""
    plugin = agent(box, harness, "s1", project)
    assert isinstance(plugin, OpenCode)
    assert plugin.call("env")[0]["output"] == {"env": {"OPENCODE_SESSION_ID": "s1"}}
    assert identity.who(None, {**box.env, "OPENCODE_SESSION_ID": "s1"}) == identity.alias(harness, "s1")
    child = plugin.payload("child", subagent="c1")
    assert child["input"]["event"]["properties"]["info"] == {"id": "c1", "parentID": "s1"}


@pytest.mark.skipif(sys.platform != "linux", reason="ancestors are read from /proc")
@pytest.mark.parametrize("harness", ["cursor", "copilot"])
def test_a_shell_that_names_no_session_is_known_by_its_ancestors(box: Box, harness: str, project: Path) -> None:
    """The tests' own process stands for the harness: it starts the hook and the shell."""
    session = agent(box, harness, "s1", project)
    me = identity.alias(harness, "s1")
    assert session.edit(project / "src/a.py") == FREE
    box.write("src/a.py", "a = 2\n", cwd=project)
    refused(box.git("commit", "-qam", "another's", cwd=project, agent="ben"), "src/a.py")
    assert box.synapse("check", "src/a.py", cwd=project).code == 0
    box.done("sh", "-c", "git commit -qam 'its own'; true", cwd=project)
    assert box.done("git", "log", "--oneline", cwd=project).count("\n") == 2
    assert me.startswith(harness)


@pytest.mark.parametrize("harness", ["claude"])
def test_coverage_is_seen_in_status_and_doctor(box: Box, harness: str, project: Path) -> None:
    """While it is there, and not when the launcher has gone."""
    claim(box, "ana", "docs")

    def standing() -> tuple[list[str], list[str]]:
        (tree,) = box.synapse("status", "--json").json()["worktrees"]
        return [layer for layer in tree["layers"] if layer != "watcher"], tree["tools"]

    assert standing() == (["guard", "tools"], ["claude"])
    assert "guard, tools (claude)" in box.synapse("status").out
    assert "claude asks before it edits" in box.synapse("doctor").out
    silencing = box.write(".claude/settings.local.json", '{"disableAllHooks": true}', cwd=project)
    assert standing() == (["guard"], [])
    assert f"claude edits unasked in {project}: no hook of it runs with disableAllHooks" in box.synapse("status").out
    looked = box.synapse("doctor")
    assert looked.code == 1 and "claude may edit unasked" in looked.out and str(silencing) in looked.out
    assert "off: no hook of claude runs with disableAllHooks = true" in box.synapse("agents", "status", "claude").out
    assert str(silencing) in box.done("synapse-git", "agents", "install", "claude")
    silencing.unlink()
    (box.home / ".local/share/synapse-git/agent-hook").unlink()
    assert standing() == (["guard"], [])
    looked = box.synapse("doctor")
    assert looked.code == 1
    assert "claude may edit unasked" in looked.out
    assert "synapse-git agents install claude --project" in looked.out


def test_instructions_are_ten_lines(box: Box) -> None:
    """For a file that agents read."""
    assert len(box.done("synapse-git", "agents", "instructions").splitlines()) == 10


@pytest.mark.parametrize("harness", ["codex"])
def test_the_end_of_a_turn_keeps_what_is_not_committed(box: Box, harness: str, project: Path) -> None:
    """A session that goes on has its changes protected, and nothing besides."""
    session = agent(box, harness, "s1", project)
    assert session.edit(project / "src/a.py") == FREE
    assert session.edit(project / "src/b.py") == FREE
    box.write("src/a.py", "a = 2\n", cwd=project)
    time.sleep(0.01)
    session.end()
    assert held(box) == {identity.alias(harness, "s1"): ["src/a.py"]}
    box.done("git", "commit", "-qam", "mine", cwd=project, env={"CODEX_SESSION_ID": "s1"})
    session.end()
    assert held(box) == {}


@pytest.mark.parametrize("harness", ["claude"])
def test_a_file_of_a_submodule_belongs_to_its_superproject(box: Box, harness: str, project: Path) -> None:
    """Under the submodule's prefix, whichever of both the agent is in."""
    library = box.init("library")
    allow = ("-c", "protocol.file.allow=always")
    box.done("git", *allow, "submodule", "add", "-q", str(library), "lib", cwd=project)
    session = agent(box, harness, "s1", project, cwd=project / "lib")
    claim(box, "ana", "lib/docs", cwd=project)
    assert "lib/docs/guide.md is held by ana" in session.edit(project / "lib/docs/guide.md")
    assert session.edit("src/a.py") == FREE
    assert held(box) == {identity.alias(harness, "s1"): ["lib/src/a.py"]}
