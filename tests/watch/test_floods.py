"""Every change accounted for: floods, overflows, limits, and the ways in which files come and go."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from synapse_git import address
from tests.box import Box
from tests.faults.scale import LONG, times
from tests.hooking import claim
from tests.watch.watching import HASTY, SETTLED_S, Watching, settled, watching

LINUX = sys.platform == "linux"


@pytest.fixture
def place(box: Box) -> Path:
    """A repository without the guard, so that nobody else watches: ana holds all of src, bo is in there as well."""
    box.cwd = box.init()
    claim(box, "ana", "src", task="t1")
    claim(box, "bo", "docs", task="t2")
    return box.cwd


def below(watch: Watching, prefix: str) -> set[str]:
    return {path for path in watch.edits() if path.startswith(prefix)}


def test_two_hundred_new_directories_are_all_seen(box: Box, place: Path) -> None:
    """What is written into a directory that was made a moment ago is not lost."""
    with watching(box) as watch:
        for number in range(200):
            box.write(f"src/new/{number % 20}/{number}/file", cwd=place)
        expected = {f"src/new/{number % 20}/{number}/file" for number in range(200)}
        watch.until(lambda: below(watch, "src/new/") == expected)


@pytest.mark.skipif(not LINUX, reason="the queue is inotify's")
def test_an_overflow_of_the_queue_loses_nothing(box: Box, place: Path) -> None:
    """A watcher that was stopped meanwhile says so, looks at everything, and is live again."""
    count = times(17_000, 40_000)
    (place / "junk").mkdir()
    (place / ".gitignore").write_text("junk/\n")
    box.write("src/deep/kept", cwd=place)
    with watching(box) as watch:
        watch.process.send_signal(signal.SIGSTOP)
        for number in range(count):
            os.close(os.open(place / f"junk/{number}", os.O_CREAT | os.O_WRONLY))
        box.write("src/after", cwd=place)
        box.write("src/deeper/after", cwd=place)
        watch.process.send_signal(signal.SIGCONT)
        watch.until(lambda: {"src/after", "src/deeper/after"} <= watch.edits().keys())
        watch.until(lambda: "degraded" in watch.states() and watch.states()[-1] == "live")
        box.write("src/deeper/later", cwd=place)
        watch.until(lambda: "src/deeper/later" in watch.edits())


LIMITED = """
import os, sys
limit, *command = sys.argv[1:]
with open("/proc/sys/user/max_inotify_watches", "w") as file:
    file.write(limit)
os.execv(command[0], command)
"""


def limited(box: Box, limit: int) -> list[str]:
    """A command prefix under which no more than ``limit`` directories can be watched; [] where that cannot be had."""
    prefix = ["unshare", "-Ur", sys.executable, "-c", LIMITED, str(limit)]
    try:
        works = box.run(*prefix, "/bin/true").code == 0
    except FileNotFoundError:
        works = False
    return prefix if works else []


@pytest.mark.skipif(not LINUX, reason="the limit is inotify's")
@pytest.mark.parametrize("room", [3, 120] if LONG else [120])
def test_at_the_limit_of_watches_it_says_so_and_finds_changes_all_the_same(box: Box, place: Path, room: int) -> None:
    """Whether the limit is there from the start or reached later on, without a word from anybody."""
    prefix = limited(box, room)
    if not prefix:
        pytest.skip("user namespaces are not to be had")
    with watching(box, prefix=prefix) as watch:
        for number in range(150):
            (place / f"src/many/{number}").mkdir(parents=True)
        watch.until(lambda: watch.states()[-1] == "degraded")
        assert "max_user_watches" in watch.said[-1].get("reason", "") or any(
            "max_user_watches" in one.get("reason", "") for one in watch.said
        )
        box.write("src/many/149/late", cwd=place)
        watch.until(lambda: "src/many/149/late" in watch.edits())


def test_a_checkout_of_many_files_is_one_settled_verdict(box: Box, place: Path) -> None:
    """Git moved them, so they are nobody's edits; what somebody edits at the same time is."""
    count = times(2_000, 30_000)
    files = "".join(f"M 100644 inline src/many/{number % 100}/{number}\ndata 2\nx\n" for number in range(count))
    commit = f"commit refs/heads/other\ncommitter t <t@t> 1 +0000\ndata 4\nmany\nfrom refs/heads/main^0\n{files}\n"
    box.done("git", "fast-import", "--quiet", stdin=commit.encode())
    with watching(box) as watch:
        box.done("git", "checkout", "-q", "other")
        box.write("src/a.py", "by whom?\n", cwd=place)
        watch.until(watch.edits)
        box.done("git", "checkout", "-q", "main")
        assert settled(box, watch) == {"src/a.py": ""}
        assert [one["files"] for one in watch.said if one["kind"] == "moved"] in ([count], [count, count])


def test_files_that_come_and_go_by_rename_are_seen_under_their_names(box: Box, place: Path) -> None:
    """An editor's save is one change; a directory that is renamed is all that was in it, and all that is."""
    for number in range(5):
        box.write(f"src/lib/{number}", cwd=place)
    box.done("git", "add", "src")
    box.done("git", "commit", "-qm", "lib")
    box.write("src/lib/untracked", cwd=place)
    with watching(box) as watch:
        draft = box.write("draft", "saved\n", cwd=place)
        draft.rename(place / "src/a.py")
        watch.until(watch.edits)
        assert watch.edits() == {"src/a.py": ""}
        (place / "src/lib").rename(place / "moved")
        gone = {f"src/lib/{name}" for name in (*range(5), "untracked")}
        watch.until(lambda: gone <= watch.edits().keys())
        (place / "moved").rename(place / "src/back")
        back = {f"src/back/{name}" for name in (*range(5), "untracked")}
        watch.until(lambda: back <= watch.edits().keys())
        assert set(watch.edits()) == {"src/a.py", *gone, *back}


def test_a_linked_worktree_is_watched_for_itself(box: Box, place: Path) -> None:
    """Its index and HEAD lie elsewhere; what happens in the main worktree is none of its business."""
    box.done("git", "worktree", "add", "-q", "../linked")
    linked = place.parent / "linked"
    claim(box, "ana", "src", cwd=linked, task="l1")
    claim(box, "bo", "docs", cwd=linked, task="l2")
    box.done("git", "commit", "-q", "--allow-empty", "-m", "two", cwd=linked)
    box.write("src/new", cwd=linked)
    box.done("git", "add", "src", cwd=linked)
    box.done("git", "commit", "-qm", "three", cwd=linked)
    with watching(box, linked) as watch:
        box.write("src/a.py", cwd=place)
        box.done("git", "reset", "-q", "--hard", "HEAD~1", cwd=linked)
        box.write("src/b.py", cwd=linked)
        watch.until(watch.edits)
        assert settled(box, watch, linked) == {"src/b.py": ""}


def test_what_git_ignores_is_nobodys_business_unless_it_is_tracked(box: Box, place: Path) -> None:
    """Build output comes and goes in a held directory."""
    box.write(".gitignore", "*.o\nbuild/\n", cwd=place)
    box.write("src/tracked.o", cwd=place)
    box.done("git", "add", "-f", ".gitignore", "src/tracked.o")
    box.done("git", "commit", "-qm", "ignore")
    with watching(box) as watch:
        box.write("src/build/x/y", cwd=place)
        box.write("src/a.o", cwd=place)
        box.write("src/tracked.o", "again\n", cwd=place)
        watch.until(watch.edits)
        assert settled(box, watch) == {"src/tracked.o": ""}


def test_any_name_that_git_can_store_is_seen(box: Box, place: Path) -> None:
    """Newlines, quotes, bytes that are no text: watchfiles gives up on the last, and nothing is lost all the same."""
    names = [b"new\nline", b'quo"te', b"back\\slash", "ü".encode(), b"-dash", b":(top)magic", b"*star"]
    with watching(box) as watch:
        for name in names:
            (place / "src" / os.fsdecode(name)).write_text("x\n")
        watch.until(lambda: {os.fsdecode(b"src/" + name) for name in names} <= watch.edits().keys())
        if LINUX:
            with open(os.fsencode(place) + b"/src/\xff\xfe", "w") as file:
                file.write("x\n")
            box.write("src/beside", cwd=place)
            watch.until(lambda: {"c3JjL//+", "src/beside"} <= watch.edits().keys())
            assert watch.states()[-1] == "live"


def test_a_change_while_git_holds_its_lock_waits_for_the_end(box: Box, place: Path) -> None:
    """In the midst of an operation nobody can tell what is whose; a lock that was left behind holds up nobody."""
    lock = place / ".git/index.lock"
    with watching(box) as watch:
        lock.touch()
        box.write("src/a.py", cwd=place)
        time.sleep(SETTLED_S)
        assert watch.edits() == {}
        past = time.time() - 100
        os.utime(lock, (past, past))
        watch.until(watch.edits)


def test_another_watcher_in_the_same_checkout_is_turned_away(box: Box, place: Path) -> None:
    """One post, one watcher: it says who has it."""
    with watching(box):
        second = subprocess.run(
            [sys.executable, "-c", HASTY.replace("15.0", "0.5"), "here", place],
            env=box.env | {"SYNAPSE_HUB": address.recorded(str(box.state))},
            capture_output=True,
            text=True,
            check=False,
        )
        assert second.returncode == 4 and "somebody else's synapse-git watch" in second.stderr
