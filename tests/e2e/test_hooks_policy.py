"""Policies at work: what a commit meets that nobody claimed, that no hub can judge, or whose policy is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.box import Box
from tests.hooking import allowed, claim, refused

AWAY = {"SYNAPSE_HUB": "/nowhere/hub.sock"}


def _set(box: Box, key: str, value: str) -> None:
    box.done("git", "config", f"synapse.guard.{key}", value)


@pytest.mark.parametrize("claimed", [False, True])
def test_unclaimed_changes_are_refused_where_that_is_wanted(box: Box, repo: Path, claimed: bool) -> None:
    """Also where nobody ever claimed anything; with a claim that covers it the change goes in."""
    if claimed:
        claim(box, "ana", "docs")
    _set(box, "unclaimed", "refuse")
    box.write("src/a.py")
    for form in (["-qam", "x"], ["-nqam", "x"]):
        ended = box.git("commit", *form, agent="ana")
        assert ended.code == 1
        assert "UNCLAIMED: src/a.py" in ended.err
        assert "synapse-git claim src/a.py" in ended.err
    claim(box, "ana", "src", task="t2")
    allowed(box.git("commit", "-qam", "x", agent="ana"))


def test_unclaimed_plumbing_is_refused_too(box: Box, repo: Path) -> None:
    """The backstop asks for the same."""
    _set(box, "unclaimed", "refuse")
    box.write("src/a.py")
    tree = box.done("git", "stash", "create").strip()
    made = box.done("git", "commit-tree", "-p", "HEAD", "-m", "x", f"{tree}^{{tree}}").strip()
    assert "UNCLAIMED" in box.git("update-ref", "HEAD", made, agent="ana").err


def test_unclaimed_changes_are_mentioned_where_that_is_wanted(box: Box, repo: Path) -> None:
    """Once, and the commit goes in; an override makes no difference."""
    _set(box, "unclaimed", "warn")
    box.write("src/a.py")
    ended = allowed(box.git("commit", "-qam", "x", agent="ana"))
    assert ended.err.count("UNCLAIMED") == 1


def test_an_override_lifts_unclaimed(box: Box, repo: Path) -> None:
    """And is on record."""
    _set(box, "unclaimed", "refuse")
    box.write("src/a.py")
    allowed(box.git("commit", "-qam", "x", agent="ana", env={"SYNAPSE_OVERRIDE": "hurry"}))
    assert "hurry" in box.done("synapse-git", "log")


def test_a_merge_needs_claims_for_what_it_adds_only(box: Box, repo: Path) -> None:
    """What others committed elsewhere is brought in by whoever merges; the resolution of a conflict is an edit."""
    box.done("git", "checkout", "-q", "-b", "side")
    for path in ("src/a.py", "src/b.py"):
        box.write(path, "side\n")
    box.done("git", "commit", "-qam", "side")
    box.done("git", "checkout", "-q", "main")
    _set(box, "unclaimed", "refuse")
    box.done("git", "commit", "-q", "--allow-empty", "-m", "main")
    allowed(box.git("merge", "-q", "--no-edit", "side", agent="ana"))
    box.done("git", "reset", "-q", "--hard", "HEAD~1")
    claim(box, "ana", "docs")
    assert box.git("merge", "-q", "--no-commit", "side", agent="ana").code == 0
    box.write("src/a.py", "neither\n")
    box.done("git", "add", ".")
    ended = box.git("commit", "-qm", "merged", agent="ana")
    assert "UNCLAIMED: src/a.py" in ended.err
    allowed(box.synapse("claim", "--shared", "-t", "t2", "--", "src/a.py", agent="ana"))
    allowed(box.git("commit", "-qm", "merged", agent="ana"))


def test_with_the_hub_away_a_warning_can_be_enough(box: Box, repo: Path) -> None:
    """The commit goes in, says that nobody judged it, and leaves evidence that the hub takes in later."""
    claim(box, "bob", "src/b.py")
    _set(box, "hubDown", "warn")
    box.write("src/b.py")
    refused(box.git("commit", "-qam", "x", agent="ana"), "src/b.py")
    box.stop_hub()
    ended = allowed(box.git("commit", "-qam", "x", agent="ana", env=AWAY))
    assert "HUB_UNREACHABLE" in ended.err
    assert "Nobody judged this change" in ended.err
    document = json.loads(sorted((box.state / "overrides").iterdir())[0].read_text())
    assert (document["agent"], document["paths"]) == ("ana", ["src/b.py"])
    assert "synapse.guard.hubDown = warn" in document["reason_text"]
    allowed(box.synapse("hub", "start"))
    assert "synapse.guard.hubDown = warn" in box.done("synapse-git", "log")


def test_a_tracked_file_makes_the_guard_stricter(box: Box, repo: Path) -> None:
    """It counts over the user's own setting, which is weaker."""
    _set(box, "hubDown", "warn")
    box.write(".synapse.toml", '[guard]\nhub_down = "refuse"\nunclaimed = "refuse"\n')
    box.write("src/a.py")
    claim(box, "bob", "docs")
    ended = box.git("commit", "-qm", "x", "src/a.py", agent="ana", env=AWAY)
    assert ended.code == 1
    assert "HUB_UNREACHABLE" in ended.err
    assert "UNCLAIMED" in box.git("commit", "-qm", "x", "src/a.py", agent="ana").err


def test_in_a_linked_worktree_its_own_file_counts(box: Box, repo: Path) -> None:
    """The file belongs to the checkout, like every tracked file."""
    box.done("git", "worktree", "add", "-q", "../linked", "-b", "side")
    box.write(".synapse.toml", '[guard]\nunclaimed = "refuse"\n')
    box.write("src/a.py", cwd=repo.parent / "linked")
    allowed(box.git("commit", "-qam", "x", agent="ana", cwd=repo.parent / "linked"))


@pytest.mark.parametrize("command", [["commit", "-qam", "x"], ["commit", "-nqam", "x"]], ids=" ".join)
def test_an_invalid_policy_refuses_and_says_where_it_is(box: Box, repo: Path, command: list[str]) -> None:
    """Nobody guesses what was meant."""
    box.write("src/a.py")
    _set(box, "hubDown", "maybe")
    ended = box.git(*command, agent="ana")
    assert ended.code == 1
    assert "synapse.guard.hubDown = maybe" in ended.err
    assert "git config synapse.guard.hubDown refuse" in ended.err
    assert "hooks.log" not in ended.err
    _set(box, "hubDown", "refuse")
    box.write(".synapse.toml", '[guard]\nunclaimed = "no"\n')
    ended = box.git(*command, agent="ana")
    assert ended.code == 1
    assert f"{repo}/.synapse.toml, line 2" in ended.err


def test_check_says_what_a_commit_would_meet(box: Box, repo: Path) -> None:
    """Where a claim of one's own is wanted, an unclaimed path is not simply free."""
    assert box.synapse("check", "src/a.py", agent="ana").code == 0
    _set(box, "unclaimed", "warn")
    told = box.synapse("check", "src/a.py", agent="ana")
    assert told.code == 0 and "UNCLAIMED" in told.out, told.text
    _set(box, "unclaimed", "refuse")
    told = box.synapse("check", "src/a.py", agent="ana")
    assert told.code == 1 and "synapse-git claim src/a.py" in told.out, told.text
    assert box.synapse("check", "--json", "src/a.py", agent="ana").json()["verdict"] == "refuse"
    claim(box, "ana", "src")
    assert "free" in allowed(box.synapse("check", "src/a.py", agent="ana")).out


def test_check_where_nobody_ever_claimed(box: Box) -> None:
    """The policy counts there as well, and asking still makes no ids."""
    box.cwd = box.init()
    _set(box, "unclaimed", "refuse")
    assert box.synapse("check", "src/a.py", agent="ana").code == 1
    assert not (box.cwd / ".git/synapse").exists()


def test_doctor_shows_what_holds_and_who_said_so(box: Box, repo: Path) -> None:
    """Git's configuration, the tracked file, and what of the file does not count."""
    assert "policy: nobody set any" in box.synapse("doctor").out
    _set(box, "unclaimed", "warn")
    _set(box, "prePush", "refuse")
    box.write(".synapse.toml", '[guard]\nunclaimed = "refuse"\npre_push = "off"\nrelease_on = "manual"\n')
    told = allowed(box.synapse("doctor")).out
    assert "guard.unclaimed is refuse (by .synapse.toml)" in told
    assert "guard.prePush is refuse (by git config)" in told
    assert "guard.releaseOn is manual (by .synapse.toml)" in told
    assert "guard.pre_push in .synapse.toml would weaken" in told
    box.write(".synapse.toml", "[guard]\nnonsense = 1\n")
    broken = box.synapse("doctor")
    assert broken.code == 1 and "line 2" in broken.out, broken.text
