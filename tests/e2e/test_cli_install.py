"""install and uninstall from the command line, up to the commit that is refused."""

from __future__ import annotations

import json
from pathlib import Path

from tests.box import Box


def test_install_makes_the_guard_refuse(box: Box) -> None:
    """After one command a commit of what another holds is refused, and goes in once it is released."""
    box.cwd = box.init()
    ended = box.synapse("install", agent="ana")
    assert ended.code == 0
    assert f"the guard is on in {box.cwd}" in ended.out
    assert "synapse-git claim" in ended.out
    assert 2 <= len(ended.out.splitlines()) <= 4
    box.done("synapse-git", "claim", "-t", "t", "src", agent="ana")
    box.write("src/a.py")
    refused = box.git("commit", "-qam", "x", agent="ben")
    assert refused.code == 1
    assert "SCOPE_CONFLICT" in refused.err
    box.done("synapse-git", "release", "-t", "t", agent="ana")
    assert box.git("commit", "-qam", "x", agent="ben").code == 0


def test_install_again_changes_nothing(repo: Path, box: Box) -> None:
    """Exit 0, and it says that the guard was on already."""
    before = {path: path.read_bytes() for path in (repo / ".git").rglob("*") if path.is_file()}
    ended = box.synapse("install")
    assert ended.code == 0
    assert "the guard was on already" in ended.out
    assert {path: path.read_bytes() for path in (repo / ".git").rglob("*") if path.is_file()} == before


def test_install_json_is_what_was_done(box: Box) -> None:
    """One document: the report on the hooks, and the ids that were made."""
    box.cwd = box.init()
    report = box.synapse("install", "--json", "--agent", "ana").json()
    assert report["changed"] is True
    assert report["worktree"].startswith("wt:")
    assert report["namespace"].startswith("local:")
    assert (report["root"], report["agent"]) == (str(box.cwd), "ana")


def test_install_registers_the_worktree_as_covered(repo: Path, box: Box) -> None:
    """status lists it with the guard, before anything was claimed."""
    (worktree,) = box.synapse("status", "--json").json()["worktrees"]
    assert (worktree["root"], worktree["layers"], worktree["branch"]) == (str(repo), ["guard"], "main")


def test_the_default_agent_of_a_worktree(box: Box) -> None:
    """install --agent names who works here unless somebody says otherwise; uninstall forgets it."""
    box.cwd = box.init()
    assert "who works here is ana" in box.synapse("install", "--agent", "ana").out
    assert box.synapse("claim", "--json", "-t", "t", "src").json()["owner"] == "ana"
    assert box.synapse("claim", "--json", "-t", "u", "docs", agent="ben").json()["owner"] == "ben"
    box.done("synapse-git", "install", "--agent", "eve")
    assert box.synapse("claim", "--json", "-t", "v", "x").json()["owner"] == "eve"
    box.done("synapse-git", "uninstall")
    assert "@" in box.synapse("claim", "--json", "-t", "w", "y").json()["owner"]


def test_install_refuses_a_name_that_cannot_be(box: Box) -> None:
    """Nothing is set up under an unusable name."""
    box.cwd = box.init()
    assert box.synapse("install", "--agent", " ").code == 2
    assert not (box.cwd / ".git/synapse").exists()
    assert not (box.cwd / ".git/hooks/pre-commit").exists()


def test_uninstall_takes_the_guard_off(repo: Path, box: Box) -> None:
    """Commits go in again, status says so, doing it again is no error; claims stay, and so do the ids they go by."""
    box.done("synapse-git", "claim", "-t", "t", "src", agent="ana")
    ended = box.synapse("uninstall")
    assert ended.code == 0
    assert "the guard is off" in ended.out
    assert f"kept: {repo}/.git/synapse, {repo}/.git/synapse.worktree" in ended.out
    assert "what is held here goes by the ids in it: ana (task t)" in ended.out
    left = {path.name for path in (repo / ".git/synapse").iterdir()}
    assert left <= {"hub", "repository", "root", "worktree"}
    assert not (repo / ".git/hooks/pre-commit").exists()
    box.write("src/a.py")
    assert box.git("commit", "-qam", "x", agent="ben").code == 0
    found = box.synapse("status", "--json").json()
    assert found["worktrees"][0]["layers"] == []
    assert [claim["task_id"] for claim in found["claims"]] == ["t"]
    assert "nothing to do" in box.synapse("uninstall").out
    box.done("synapse-git", "release", "-t", "t", agent="ana")
    last = box.synapse("uninstall", "--json").json()
    assert last["changed"] is False and last["kept"] == []


def test_nothing_of_ours_stays_where_nothing_is_held(repo: Path, box: Box) -> None:
    """In no git dir of the repository, but for what was put aside. Guarded anew it is listed once, under a new id."""
    box.done("git", "worktree", "add", "-q", "../linked")
    box.done("synapse-git", "install", "--agent", "bob", cwd=repo.parent / "linked")
    box.done("synapse-git", "claim", "-t", "t", "src", agent="ana")
    box.done("git", "commit", "-q", "--allow-empty", "-m", "x", agent="ana")
    box.done("synapse-git", "release", "-t", "t", agent="ana")
    aside = box.write(".git/synapse/quarantine/mine", "mine\n")
    box.write(".git/synapse/watching", "")
    assert f"kept: {repo}/.git/synapse\nwhat was put aside there is yours" in box.synapse("uninstall").out
    assert [str(path) for path in (repo / ".git").rglob("synapse*")] == [str(repo / ".git/synapse")]
    assert list((repo / ".git/synapse").rglob("*")) == [aside.parent, aside]
    box.done("synapse-git", "install")
    assert box.synapse("status").out.count("repo (here)") == 1 == box.synapse("status").out.count("repo")


def test_worktrees_added_later_are_covered_when_they_claim(repo: Path, box: Box) -> None:
    """The first claim in a linked worktree lists it, with the guard that the repository has."""
    box.done("git", "worktree", "add", "-q", "-b", "side", "../linked")
    linked = repo.parent / "linked"
    box.done("synapse-git", "claim", "-t", "t", "src", agent="ana", cwd=linked)
    listed = {entry["root"]: entry for entry in box.synapse("status", "--json").json()["worktrees"]}
    assert (listed[str(linked)]["layers"][0], listed[str(linked)]["branch"]) == ("guard", "side")
    box.done("synapse-git", "uninstall")
    assert not any("guard" in entry["layers"] for entry in box.synapse("status", "--json").json()["worktrees"])
    box.done("synapse-git", "install")
    assert all("guard" in entry["layers"] for entry in box.synapse("status", "--json").json()["worktrees"])


def test_a_moved_repository_is_listed_where_it_is_now(repo: Path, box: Box) -> None:
    """After mv it is known inside at once, elsewhere once a claim or commit has registered it, a refused one too; the
    claims came along.
    """
    box.done("synapse-git", "claim", "-t", "t", "src", agent="ana")
    moved = repo.rename(repo.parent / "moved")
    assert "repo (gone)" in box.synapse("status", cwd=box.home).out
    assert "moved (here)" in box.synapse("status", cwd=moved).out
    box.done("synapse-git", "claim", "-t", "u", "docs", agent="ana", cwd=moved)
    found = box.synapse("status", "--json", cwd=moved).json()
    assert [entry["root"] for entry in found["worktrees"]] == [str(moved)]
    assert {claim["worktree"] for claim in found["claims"]} == {found["worktrees"][0]["worktree"]}
    assert f"where:    {moved}".replace(str(box.home), "~") in box.synapse("show", "t", cwd=moved).out
    for agent, name in (("ana", "f\xfcr ana"), ("ben", "again")):
        moved = moved.rename(repo.parent / name)
        box.write("src/a.py", name, cwd=moved)
        assert (box.git("commit", "-qam", "x", agent=agent, cwd=moved).code == 0) is (agent == "ana")
        found = box.synapse("status", "--json", cwd=box.home).json()
        assert [entry["root"] for entry in found["worktrees"]] == [str(moved)]


def test_hooks_that_were_there_are_named_and_keep_running(box: Box) -> None:
    """install says which hooks run after the guard."""
    box.cwd = box.init()
    hook = box.write(".git/hooks/pre-commit", "#!/bin/sh\ntouch ran\n")
    hook.chmod(0o755)
    box.write(".git/hooks/pre-push", "#!/bin/sh\nexit 1\n")  # which Git passes over, since it is not executable
    assert "hooks that were here keep running after it: pre-commit\n" in box.synapse("install").out
    box.write("src/a.py")
    assert box.git("commit", "-qam", "x", agent="ben").code == 0
    assert (box.cwd / "ran").exists()


def test_status_sees_a_guard_that_was_displaced(repo: Path, box: Box) -> None:
    """Another tool takes core.hooksPath: status says that nothing covers the worktree any more."""
    box.done("git", "config", "core.hooksPath", "/nonexistent")
    assert box.synapse("status", "--json").json()["worktrees"][0]["layers"] == []
    assert "none: displaced" in box.synapse("status").out


def test_status_knows_the_branch_of_now(repo: Path, box: Box) -> None:
    """A branch switched to since is shown."""
    box.done("git", "switch", "-qc", "next")
    assert box.synapse("status", "--json").json()["worktrees"][0]["branch"] == "next"


def test_install_with_a_hub_that_cannot_start_says_so(box: Box) -> None:
    """Exit 3 with the reason: the guard is in place, but commits would be refused until the hub can start."""
    box.cwd = box.init()
    box.state.parent.mkdir(parents=True)
    box.state.write_text("in the way")
    ended = box.synapse("install")
    assert ended.code == 3
    assert "HUB_UNREACHABLE" in ended.err


def test_install_fails_as_the_hooks_say(box: Box) -> None:
    """A git dir that cannot be written: exit 4, one message, a document with --json."""
    box.cwd = box.init()
    hooks = box.cwd / ".git/hooks"
    if hooks.exists():
        import shutil

        shutil.rmtree(hooks)
    hooks.write_text("in the way")
    ended = box.synapse("install")
    assert ended.code != 0
    assert "Traceback" not in ended.text
    assert json.loads(box.synapse("install", "--json").out)["detail"]
