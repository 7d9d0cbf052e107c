"""What Git has to do with a file, by its own word."""

from __future__ import annotations

from pathlib import Path

import pytest

from synapse_git import checkout
from synapse_watch.origin import BACK, GIVEN, MOVED, Origin
from synapse_watch.truth import Truth
from tests.box import Box


@pytest.fixture
def place(box: Box) -> Path:
    """A repository without the guard; on the branch `other` one file differs."""
    box.cwd = box.init()
    box.done("git", "checkout", "-qb", "other")
    box.write("src/a.py", "other\n")
    box.done("git", "commit", "-qam", "other")
    box.done("git", "checkout", "-q", "main")
    return box.cwd


def origin(box: Box) -> tuple[Origin, list[int]]:
    """One that has seen how things stand, and the moves that it tells of."""
    here, moves = checkout.find(str(box.cwd), box.env), list[int]()
    found = Origin(here, box.env, Truth(here, box.env), moves.append)
    found.stand(found.look())
    return found, moves


ALL = [b"src/a.py", b"src/b.py", b"docs/guide.md", b"new", b"gone", b"x.o"]


def test_what_somebody_wrote_is_not_gits(box: Box, place: Path) -> None:
    """Edited, new and deleted files come from nowhere; as HEAD has them they are back; ignored ones are nobody's."""
    found, _ = origin(box)
    box.write(".gitignore", "*.o\n")
    for path in ("src/a.py", "new", "x.o"):
        box.write(path)
    (place / "src/b.py").unlink()
    assert found.of(ALL) == {b"docs/guide.md": BACK, b"gone": BACK, b"x.o": MOVED}
    box.done("git", "checkout", "--", "src")
    assert found.of(ALL[:2]) == {b"src/a.py": BACK, b"src/b.py": BACK}


def test_what_moved_along_with_head_is_told_once(box: Box, place: Path) -> None:
    """Unless somebody has changed it since."""
    found, moves = origin(box)
    box.done("git", "checkout", "-q", "other")
    assert found.moved(ALL) == {b"src/a.py"} == found.moved(ALL)
    assert moves == [1]
    box.write("src/a.py")
    assert found.moved(ALL) == set()
    found.stand(found.look())
    box.done("git", "checkout", "-q", "--", "src/a.py")
    assert found.moved(ALL) == set()


def test_an_index_or_a_stash_may_have_given_it(box: Box, place: Path) -> None:
    """Also a stash that is dropped since; what differs from it was written by somebody."""
    found, _ = origin(box)
    box.done("git", "checkout", "other", "--", "src/a.py")
    assert found.of(ALL[:1]) == {b"src/a.py": GIVEN}
    box.done("git", "reset", "-q", "--hard")
    box.write("src/a.py", "stashed\n")
    box.done("git", "stash", "push", "-q")
    found.look()
    box.done("git", "stash", "pop", "-q")
    (place / ".git/AUTO_MERGE").unlink(missing_ok=True)  # an older Git writes none
    assert found.of(ALL[:1]) == {b"src/a.py": GIVEN}
    box.write("src/a.py", "more\n")
    assert found.of(ALL[:1]) == {}


def test_an_operation_under_way_wrote_what_it_left_and_nothing_else(box: Box, place: Path) -> None:
    """Conflicts as Git wrote them, what merged cleanly beside them, and the hand of whoever resolves them."""
    box.write("src/a.py", "main\n")
    box.done("git", "commit", "-qam", "main")
    found, _ = origin(box)
    assert box.git("merge", "other").code
    assert found.of(ALL[:2]) == {b"src/a.py": MOVED, b"src/b.py": BACK}
    box.write("src/a.py", "resolved\n")
    box.write("src/b.py", "and more\n")
    assert found.of(ALL[:2]) == {}


def test_nothing_is_told_of_a_submodule_in_which_git_is_at_work(box: Box, place: Path) -> None:
    """What it has written by then may differ from what it will have at the end."""
    inner = box.init("inner")
    box.done("git", "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "lib")
    found, _ = origin(box)
    box.write("lib/src/a.py")
    lock = place / ".git/modules/lib/index.lock"
    lock.touch()
    assert found.of([b"src/a.py", b"lib/src/b.py"]) is None
    lock.unlink()
    assert found.of([b"lib/src/a.py", b"lib/src/b.py"]) == {b"lib/src/b.py": BACK}


def test_what_is_ignored_is_told_of_tracked_files_and_of_many(box: Box) -> None:
    """A tracked file is never ignored, however many are asked about; a path beneath a link hides no other."""
    box.cwd = box.init()
    box.write(".gitignore", "*.o\nbuild/\n")
    box.write("src/tracked.o")
    box.done("git", "add", "-f", "src/tracked.o")
    (box.cwd / "link").symlink_to("src")
    truth = Truth(checkout.find(str(box.cwd), box.env), box.env)
    asked = [b"src/tracked.o", b"src/a.o", b"build/x/y", b"link/a.o", b"src/a.py", b"a\nb.o"]
    assert truth.ignored(asked) == {b"src/a.o", b"build/x/y", b"a\nb.o"}
    assert truth.ignored([]) == set()
