"""What Git itself writes into a held scope: no edit of anybody's, and told only where its holder loses by it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from synapse_git import identity
from tests.box import Box
from tests.hooking import claim, script
from tests.tools.harness import Session
from tests.watch.watching import settled, watching


@pytest.fixture
def held(box: Box, repo: Path) -> Path:
    """Ana holds all of src and bo all of docs; on the branch `other` both differ."""
    box.done("git", "checkout", "-qb", "other")
    for path in ("src/a.py", "docs/guide.md"):
        box.write(path, "other\n", cwd=repo)
    box.done("git", "commit", "-qam", "other")
    box.done("git", "checkout", "-q", "main")
    box.write("src/a.py", "main\n", cwd=repo)
    box.done("git", "commit", "-qam", "main")
    claim(box, "ana", "src", task="t1")
    claim(box, "bo", "docs", task="t2")
    return repo


def test_what_git_puts_there_and_takes_back_is_nobodys_edit(box: Box, held: Path) -> None:
    """A merge that stops at a conflict, a rebase that does, their ends; files as they were before."""
    with watching(box) as watch:
        assert box.git("merge", "other", agent="bo").code
        assert "<<<" in (held / "src/a.py").read_text()
        assert settled(box, watch) == {}
        box.done("git", "merge", "--abort", agent="bo")
        assert box.git("rebase", "other", agent="bo").code
        assert settled(box, watch) == {}
        box.done("git", "rebase", "--abort", agent="bo")
        (held / "src/b.py").write_text("for a moment\n")
        box.done("git", "checkout", "--", "src/b.py", agent="bo")
        (held / "src/a.py").touch()
        assert settled(box, watch) == {}


def test_a_holders_own_stash_and_checkout_are_its_own(box: Box, held: Path) -> None:
    """Its unfinished work goes and comes by its own command, which Git's hooks tell of."""
    with watching(box) as watch:
        box.write("docs/guide.md", "by bo\n")
        box.write("src/a.py", "unfinished\n")
        watch.until(lambda: len(watch.edits()) == 2)
        watch.said.clear()
        box.done("git", "stash", "push", "-q", "src", agent="ana")
        assert settled(box, watch) == {}
        box.done("git", "stash", "pop", "-q", agent="ana")
        assert settled(box, watch) == {}
        box.done("git", "restore", "docs/guide.md", agent="bo")
        assert settled(box, watch) == {}


def test_a_holder_whose_work_another_takes_away_is_told_by_whom(box: Box, held: Path) -> None:
    """The other's Git took it, so that one is named; where no hook tells, nobody is."""
    box.write("src/a.py", "unfinished\n")
    box.write("src/b.py", "unfinished\n")
    with watching(box) as watch:
        (held / "src/b.py").write_text("b = 1\n")
        assert settled(box, watch) == {"src/b.py": ""}
        box.done("git", "checkout", "--", "src/a.py", agent="bo")
        assert settled(box, watch) == {"src/a.py": "bo", "src/b.py": ""}
        assert [one["by"] for one in watch.said if one.get("path") == "src/a.py"] == ["git"]
    assert "bo changed src/a.py, held by ana" in box.synapse("log").out


def test_what_a_hook_before_a_commit_puts_aside_is_taken_from_nobody(box: Box, repo: Path) -> None:
    """However long that takes; what it has not brought back when it ends is told of."""
    box.done("synapse-git", "uninstall")
    aside = "git diff src/b.py >../patch && git checkout -- src && sleep 3 && git apply ../patch"
    script(repo / ".git/hooks/pre-commit", aside)
    box.done("synapse-git", "install")
    claim(box, "ana", "src")
    with watching(box) as watch:
        for file in ("src/a.py", "src/b.py"):
            box.write(file, "unfinished\n")
        time.sleep(0.5)
        box.write("docs/guide.md", "by bo\n")
        box.done("git", "add", "docs", agent="bo")
        box.done("git", "commit", "-qm", "docs", agent="bo")
        assert watch.edits() == {}
        assert settled(box, watch) == {"src/a.py": "bo"}


def test_what_an_agents_tool_asked_for_before_is_its_own(box: Box, held: Path) -> None:
    """A stash that is applied, a patch, a clean: Git tells nobody of these, and whoever ran them said so before."""
    box.done("synapse-git", "agents", "install", "claude")
    session = Session(box, "claude", "s1", held)
    me = identity.alias("claude", "s1")
    box.done("synapse-git", "release", "--all", agent="ana")
    claim(box, me, "src", task="t3")
    box.write("src/a.py", "unfinished\n")
    box.done("git", "stash", "push", "-q")
    (held / "p").write_text("--- a/src/b.py\n+++ b/src/b.py\n@@ -1 +1 @@\n-b = 1\n+b = 2\n")
    with watching(box) as watch:
        box.write("src/new", "new\n")
        watch.until(watch.edits)
        watch.said.clear()
        for command in ("git stash apply", "git apply p", "git clean -fq src"):
            assert session.say("PreToolUse", "shell", command=command) == ""
            box.done("sh", "-c", command)
        assert settled(box, watch) == {}


def test_a_checkout_in_a_submodule_is_nobodys_edit(box: Box, held: Path) -> None:
    """Its files belong to the superproject's tree, and what Git has of them is in a repository of their own."""
    inner = box.init("inner")
    box.write("x.py", "two\n", cwd=inner)
    box.done("git", "add", ".", cwd=inner)
    box.done("git", "commit", "-qm", "two", cwd=inner)
    box.done("git", "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "src/lib", agent="ana")
    box.done("git", "commit", "-qm", "lib", agent="ana")
    with watching(box) as watch:
        box.done("git", "checkout", "-q", "HEAD~1", cwd=held / "src/lib")
        box.done("git", "submodule", "update", "-q", agent="bo")
        box.write("src/lib/docs/guide.md", "by whom?\n")
        assert settled(box, watch) == {"src/lib/docs/guide.md": ""}
