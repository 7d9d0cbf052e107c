"""What a hook does by itself, in ``sh``: whom it asks, and what it lets through."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from synapse_git import identity
from synapse_hooks import process
from synapse_hooks.setup import shims
from tests.hooking import script
from tests.unit.shim.place import CRASHED, NEW, NEXT, OLD, REFUSED, ZERO, Place


@pytest.mark.parametrize("name", ["pre-commit", "prepare-commit-msg", "pre-merge-commit", "pre-applypatch"])
def test_a_hook_does_what_the_verdict_says(place: Place, name: str) -> None:
    """It passes, refuses in silence since the program has spoken, and says so itself where that did not end well."""
    hook = place.put(name)
    assert (place.run(hook, "a", "b c").returncode, place.told()) == (0, [f"{name} PID  a b c"])
    place.judge_with(REFUSED)
    ended = place.run(hook)
    assert (ended.returncode, ended.stderr, (place.record / "refused").exists()) == (1, "", False)
    place.judge_with(CRASHED)
    ended = place.run(hook)
    assert ended.returncode == 1 and "the check ended with status 1" in ended.stderr


def test_hooks_of_no_concern_ask_nobody(place: Place) -> None:
    """They are there only to run what they displaced."""
    for name in ("commit-msg", "pre-rebase"):
        assert place.run(place.put(name, here=str(place.hooks))).returncode == 0
    assert place.told() == []


@pytest.mark.parametrize(
    "line",
    [
        f"{OLD} {OLD} HEAD",
        f"{OLD} {OLD} refs/heads/main",
        f"{OLD} ref:refs/heads/x HEAD",
        "ref:refs/heads/a ref:refs/heads/b HEAD",
        f"{OLD} {NEW} refs/tags/HEAD",
        f"{OLD} {NEW} refs/remotes/o/main",
        f"{OLD} {NEW} FETCH_HEAD",
    ],
)
def test_references_that_move_no_checkout_ask_nobody(place: Place, line: str) -> None:
    """Tags, what others have, and what stays where it is; one line behind it that counts is found."""
    hook = place.put("reference-transaction")
    assert (place.run(hook, "prepared", stdin=f"{line}\n").returncode, place.told()) == (0, [])
    moves = f"{OLD} {NEW} refs/heads/main"
    assert place.run(hook, "prepared", stdin=f"{line}\n{moves}\n").returncode == 0
    assert place.told() == [f"reference-transaction PID  {moves} "]


def test_very_many_references_are_read_elsewhere(place: Place) -> None:
    """A shell is slow, so from the five hundredth on they are the program's to read."""
    tag = f"{OLD} {NEW} refs/tags/x"
    hook = place.put("reference-transaction")
    for number, asked in ((499, []), (501, [f"reference-transaction PID  {tag} "])):
        place.run(hook, "prepared", stdin=f"{tag}\n" * number)
        assert place.told() == asked


def _lay(place: Place, files: dict[str, str]) -> None:
    """Files of a git dir; ``-> PLACE`` is a link."""
    for name, text in files.items():
        file = place.git_dir / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            file.symlink_to(text.removeprefix("-> "))
        else:
            file.write_text(text)


_MAIN = {"HEAD": "ref: refs/heads/main\n"}


@pytest.mark.parametrize(
    ("files", "counts"),
    [
        (_MAIN, False),
        ({"HEAD": f"{OLD}\n"}, False),
        (_MAIN | {"refs/heads/main": f"{OLD}\n", "worktrees/w/HEAD": "ref: refs/heads/side\n"}, False),
        ({"commondir": "../common\n", "HEAD": "ref: refs/heads/other\n", "../common/HEAD": f"{OLD}\n"}, False),
        ({}, True),
        ({"HEAD": "ref: refs/heads/other\n"}, True),
        ({"HEAD": "ref:\trefs/heads/other \n"}, True),
        ({"HEAD": "ref: refs/heads/main"}, True),
        ({"HEAD": "ref: refs/heads/.invalid\n"}, True),
        ({"HEAD": "-> refs/heads/other", "refs/heads/other": f"{OLD}\n"}, True),
        (_MAIN | {"refs/heads/main": "ref: refs/heads/other\n"}, True),
        (_MAIN | {"refs/heads/main": "-> other"}, True),
        (_MAIN | {"worktrees/w/HEAD": "ref: refs/heads/other\n"}, True),
        ({"commondir": "../common\n", "HEAD": f"{OLD}\n", "../common/HEAD": "ref: refs/heads/other\n"}, True),
    ],
)
def test_a_branch_counts_where_a_checkout_may_stand_on_it(place: Place, files: dict[str, str], counts: bool) -> None:
    """By whatever name; what is not plain from the files is asked. So it is where the branch comes by a push."""
    _lay(place, files)
    line = f"{OLD} {NEW} refs/heads/other"
    assert place.run(place.put("reference-transaction"), "prepared", stdin=f"{line}\n").returncode == 0
    assert place.told() == ([f"reference-transaction PID  {line} "] if counts else [])
    assert place.run(place.put("update"), "refs/heads/other", OLD, NEW).returncode == 0
    assert place.told() == ([f"update PID  {line} "] if counts else [])


@pytest.mark.parametrize("ref", ["HEAD", "main-worktree/HEAD", "worktrees/w/HEAD"])
def test_a_checkout_without_a_branch_is_asked_about(place: Place, ref: str) -> None:
    """Its HEAD has other names in other checkouts; one that is taken away moves nothing."""
    hook = place.put("reference-transaction")
    place.run(hook, "prepared", stdin=f"{OLD} {NEW} {ref}\n")
    place.run(hook, "prepared", stdin=f"{OLD} {ZERO} {ref}\n")
    assert place.told() == [f"reference-transaction PID  {OLD} {NEW} {ref} "]


@pytest.mark.parametrize("state", ["preparing", "committed", "aborted"])
def test_references_are_judged_in_one_state_only(place: Place, state: str) -> None:
    """Before and after there is nothing to veto, also where somebody else's hook looks at those."""
    line = f"{OLD} {NEW} HEAD\n"
    assert place.run(place.put("reference-transaction"), state, stdin=line).returncode == 0
    assert place.told() == []
    script(place.hooks / "mine", NEXT)
    hook = place.put("reference-transaction", kept="mine")
    assert place.run(hook, state, stdin=line).returncode == 7
    assert place.told() == [f"next {place.hooks}/mine {state}", line.strip()]


@pytest.mark.parametrize(
    ("name", "passed", "of_concern"),
    [
        ("post-checkout", [OLD, NEW, "1"], True),
        ("post-checkout", [OLD, OLD, "1"], False),
        ("post-checkout", [ZERO, NEW, "1"], False),
        ("post-checkout", [OLD, NEW, "0"], False),
        ("post-merge", ["0"], True),
        ("post-merge", ["1"], False),
        ("post-rewrite", ["rebase"], True),
        ("post-rewrite", ["amend"], False),
        ("post-commit", [], False),
        ("update", ["refs/tags/x", OLD, NEW], False),
    ],
)
def test_what_moves_no_files_starts_nothing(place: Place, name: str, passed: list[str], of_concern: bool) -> None:
    """Of what comes after the fact, and of pushes, what changes a checkout counts."""
    place.run(place.put(name), *passed)
    assert bool(place.told()) is of_concern


def test_a_push_is_told_with_its_values_first(place: Place) -> None:
    """As updates of references come, and without a hook to run next, which Git runs by itself."""
    assert place.run(place.put("update"), "refs/heads/main", OLD, NEW).returncode == 0
    assert place.told() == [f"update PID  {OLD} {NEW} refs/heads/main "]


def test_what_comes_after_the_fact_stops_nothing(place: Place) -> None:
    """Neither a verdict nor a program that is gone."""
    hook = place.put("post-merge")
    place.judge_with(REFUSED)
    assert place.run(hook, "0").returncode == 0
    place.python.unlink()
    ended = place.run(hook, "0")
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize(
    ("name", "passed", "mark"), [("post-commit", [], "settle"), ("post-checkout", "ab0", "worktree")]
)
def test_what_nobody_waits_for_runs_where_it_is_wanted(place: Place, name: str, passed: list[str], mark: str) -> None:
    """Claims that go back, and files that Git has put back: a file says whether anybody cares."""
    hook = place.put(name)
    place.run(hook, *passed)
    assert place.told() == []
    (place.record / mark).touch()
    place.run(hook, *passed)
    patience = time.monotonic() + 5
    while not (told := place.told()) and time.monotonic() < patience:
        time.sleep(0.005)
    assert told == [f"{'wrote' if mark == 'worktree' else name} PID "]


# ---- judged once ----


@pytest.mark.parametrize("name", ["pre-commit", "prepare-commit-msg", "reference-transaction"])
def test_what_was_judged_is_not_judged_again(place: Place, name: str) -> None:
    """By any hook of the same process, with a hook of others' to run or without."""
    place.settle()
    script(place.hooks / "mine", NEXT)
    for kept, status in (("", 0), ("mine", 7)):
        ended = place.run(place.put(name, kept=kept), "prepared", stdin=f"{OLD} {NEW} HEAD\n")
        assert ended.returncode == status
        assert not any(line.startswith(name) for line in place.told())


def _rewrite(file: Path, *, later_ns: int = 0, old: str = "", new: str = "") -> None:
    """The same file, whose time and content may tell."""
    stamp = file.stat().st_mtime_ns + later_ns
    file.write_text(file.read_text().replace(old, new, 1))
    os.utime(file, ns=(stamp, stamp))


@pytest.mark.parametrize(
    "change", ["hub", "process", "start", "newer", "older", "staged", "unreadable", "grant", "shared grant"]
)
def test_what_has_changed_is_judged_again(place: Place, change: str) -> None:
    """Another hub or process, another time of the index, other content under the same time, a grant."""
    place.settle()
    hook, index, record = place.put("prepare-commit-msg"), place.git_dir / "index", place.record / "judged"
    env = {"SYNAPSE_HUB": "/somewhere"} if change == "hub" else {}
    pid, start = record.read_text().split("\n")[:2]
    if change == "process":
        _rewrite(record, old=pid, new="1")
    elif change == "start":
        _rewrite(record, old=start, new=start + "1")
    elif change in ("newer", "older"):
        _rewrite(index, later_ns=10**9 * (1 if change == "newer" else -1))
    elif change in ("staged", "unreadable"):
        script(place.hooks / "mine", ":")
        place.run(place.put("pre-commit", kept="mine"), **({"PATH": "/nonexistent"} if change == "unreadable" else {}))
        _rewrite(index, new="more" if change == "staged" else "")
        env = {"PATH": "/nonexistent"} if change == "unreadable" else {}
    elif change != "hub":
        name = "shared" if change == "shared grant" else "tree"
        (place.git_dir / name).unlink()
        (place.git_dir / name).touch()
    place.told()
    assert place.run(hook, **env).returncode == 0
    assert place.told() == ["prepare-commit-msg PID "]


def test_what_another_process_was_given_does_not_count(place: Place) -> None:
    """A commit that was cut short leaves its note behind."""
    place.settle()
    (place.record / "given").write_text("1\n2\nother content\n")
    place.run(place.put("prepare-commit-msg"))
    assert place.told() == []


# ---- the program is gone ----


@pytest.mark.parametrize("gone", ["python", "launch"])
def test_without_the_program_nothing_goes_in(place: Place, gone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named, with the way to repair it; whatever reads lines refuses as well."""
    if gone == "python":
        place.python.unlink()
    else:
        monkeypatch.setattr(shims, "__file__", str(place.root / "nowhere/shims.py"))
        (place.root / "nowhere").mkdir()
        template = Path(process.__file__).parent / "setup/shim.sh"
        (place.root / "nowhere/shim.sh").write_bytes(template.read_bytes())
    script(place.hooks / "mine", NEXT)
    for name, passed in (("pre-commit", []), ("reference-transaction", ["prepared"]), ("pre-push", ["o", "url"])):
        for kept in ("", "mine"):
            ended = place.run(place.put(name, kept=kept), *passed, stdin=f"{OLD} {NEW} HEAD\n")
            assert ended.returncode == 1 and "is gone, or not yours to use" in ended.stderr
            assert "synapse-git install" in ended.stderr
    assert place.told() == []


def test_an_override_without_the_program_is_written_down(place: Place) -> None:
    """Once for each process, with what it is about; a blank one, or one that can be written nowhere, is none."""
    place.python.unlink()
    hook = place.put("pre-commit")
    unchecked = place.record / "unchecked"
    assert place.run(hook, SYNAPSE_OVERRIDE=" \t").returncode == 1 and not unchecked.exists()
    first, second = (place.run(hook, SYNAPSE_OVERRIDE="it\n\tburns", SYNAPSE_AGENT="ben") for _ in range(2))
    assert (first.returncode, second.returncode, second.stderr) == (0, 0, "")
    assert "let it through" not in first.stderr and "let through" in first.stderr
    (line,) = unchecked.read_text().splitlines()
    assert line.endswith("Z\tpre-commit\t\t\tben\tit burns\t")
    (place.record / "told").unlink()
    unchecked.unlink()
    unchecked.mkdir()
    for _ in range(2):
        ended = place.run(hook, SYNAPSE_OVERRIDE="burning")
        assert ended.returncode == 1 and "so it does not count" in ended.stderr
        assert "SYNAPSE_OVERRIDE" not in ended.stderr


@pytest.mark.parametrize("mark", identity.AGENTS)
def test_without_the_program_an_agent_is_not_told_ways_round(place: Place, mark: str) -> None:
    """Neither the override nor how to take the guard out: those are for people."""
    place.python.unlink()
    hook = place.put("pre-commit")
    assert "SYNAPSE_OVERRIDE" in place.run(hook).stderr
    ended = place.run(hook, **{mark: "1"})
    assert ended.returncode == 1 and "person" in ended.stderr
    assert "SYNAPSE_OVERRIDE" not in ended.stderr and "take the guard out" not in ended.stderr


@pytest.mark.parametrize("noted", ["venv.uninstalled", "uninstalled"])
def test_an_orderly_end_stops_nobody(place: Place, noted: str) -> None:
    """Where `install.sh` has left its note the hook of others runs on, and one line in a process says what is left."""
    note = {"venv.uninstalled": place.root / "venv.uninstalled", "uninstalled": Path(f"{place.root}.uninstalled")}[
        noted
    ]
    place.python.unlink()
    note.touch()
    script(place.hooks / "mine", NEXT)
    hook = place.put("pre-commit", kept="mine")
    ended = place.run(hook)
    assert ended.returncode == 7 and "it was uninstalled" in ended.stderr
    assert place.run(hook).stderr == ""
    note.unlink()
