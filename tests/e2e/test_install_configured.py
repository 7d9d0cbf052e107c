"""Hooks that Git finds in its configuration: what leads past a directory of hooks does not lead past these."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.box import Box
from tests.hooking import act, allowed, claim, count_starts, log, picture, refused, script, since

pytestmark = since(2, 54)

PAST = ("-c", "core.hooksPath=/dev/null")


@pytest.fixture
def held(box: Box, repo: Path) -> Path:
    """A guarded repository in which bob holds src/b.py, and ana has changed it."""
    claim(box, "bob", "src/b.py")
    box.write("src/b.py")
    return repo


@pytest.mark.parametrize("form", [["-qam"], ["-nqam"], ["-qm", "x", "src/b.py", "-m"], ["--amend", "-qam"]])
def test_no_form_of_commit_gets_past(box: Box, held: Path, form: list[str]) -> None:
    """Also with -n; and whoever reads it is told that the other hooks are led past."""
    ended = refused(box.git(*PAST, "commit", *form, "x", agent="ana"), "src/b.py")
    assert "core.hooksPath leads to /dev/null" in ended.err
    allowed(box.git(*PAST, "commit", *form, "x", agent="bob"))


def test_no_operation_that_makes_commits_gets_past(box: Box, held: Path) -> None:
    """A merge, a pick, a rebase and a mail, each with its way out."""
    box.done("git", "checkout", "-qb", "side")
    allowed(box.git("commit", "-qam", "side", agent="bob"))
    box.done("git", "format-patch", "-q", "-1", "-o", held.parent)
    box.done("git", "checkout", "-q", "main")
    box.write("docs/guide.md")
    allowed(box.git("commit", "-qam", "main", agent="ana"))
    for verb, words in {
        "merge": ["-q", "--no-edit", "--no-verify", "side"],
        "cherry-pick": ["side"],
        "am": ["-q", str(held.parent / "0001-side.patch")],
    }.items():
        ended = refused(box.git(*PAST, verb, *words, agent="ana"), "src/b.py")
        assert f"git {verb} --abort" in ended.err
        box.done("git", verb, "--abort")
    box.done("git", "checkout", "-q", "side")
    refused(box.git(*PAST, "rebase", "-q", "main", agent="ana"), "src/b.py")


@pytest.mark.parametrize("scope", ["--local", "--global"])
def test_a_tool_that_takes_the_hooks_over_does_not_take_these(box: Box, held: Path, scope: str) -> None:
    """Whoever sets core.hooksPath later: the guard is on, and both the next commit and status say what is missing."""
    own = script(box.home / "hooks/pre-commit", "echo own >>$HOME/log")
    box.done("git", "config", scope, "core.hooksPath", own.parent)
    ended = refused(box.git("commit", "-qam", "x", agent="ana"), "src/b.py")
    assert log(box) == ["own"]
    assert "synapse-git install" in ended.err
    report = act(box, "status")
    assert (report["mode"], report["guarded"], report["configured"]) == ("", False, "current")
    assert "has commits judged all the same" in report["detail"]
    act(box, "install")
    ended = refused(box.git("commit", "-qam", "x", agent="ana"), "src/b.py")
    assert "synapse-git install" not in ended.err
    assert act(box, "status")["guarded"]


def test_installing_is_idempotent_and_uninstalling_restores_every_byte(box: Box) -> None:
    """The repository's configuration ends with an include, and does not afterwards."""
    box.cwd = box.init()
    before = picture(box.cwd / ".git")
    assert act(box, "install")["changed"]
    assert act(box, "status")["configured"] == "current"
    there = picture(box.cwd / ".git")
    assert not act(box, "install")["changed"]
    assert picture(box.cwd / ".git") == there
    act(box, "uninstall")
    assert picture(box.cwd / ".git") == before
    assert act(box, "status")["configured"] == "missing"


def test_one_commit_starts_one_python_and_each_hook_of_others_once(box: Box) -> None:
    """What is in the configuration runs none of theirs, and judges only what nobody judged."""
    box.cwd = box.init()
    for name in ("pre-commit", "prepare-commit-msg", "post-commit"):
        script(box.cwd / ".git/hooks" / name, f"echo own-{name} >>$HOME/log")
    allowed(box.synapse("install"))
    claim(box, "bob", "src/b.py")
    count_starts(box.cwd / ".git/hooks", box)
    box.write("src/a.py")
    allowed(box.git("commit", "-qam", "x", agent="ana"))
    assert log(box) == ["pre-commit", "own-pre-commit", "own-prepare-commit-msg", "own-post-commit"]


def test_what_both_would_refuse_is_refused_in_one_voice(box: Box, held: Path) -> None:
    """Git runs the second hook although the first has refused; its author reads it once, and again at the next try."""
    for _ in range(2):
        ended = refused(box.git("commit", "-nqam", "x", agent="ana"), "src/b.py")
        assert ended.err.count("SCOPE_CONFLICT") == 1


def test_a_home_with_an_odd_name(box: Box) -> None:
    """Quotes, blanks and dollars on the way to the hook are read by Git and the shell as they are meant."""
    box.env["XDG_DATA_HOME"] = str(box.home / 'it\'s "odd" $HOME \\ #;')
    box.cwd = box.init()
    allowed(box.synapse("install"))
    claim(box, "bob", "src/b.py")
    box.write("src/b.py")
    ended = refused(box.git(*PAST, "commit", "-qam", "x", agent="ana"), "src/b.py")
    assert "git commit" in ended.err  # it was Git that asked, not a shell in between
