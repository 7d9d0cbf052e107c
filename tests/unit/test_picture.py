"""What a look at everything finds that no event told of."""

from __future__ import annotations

from synapse_watch.picture import Mark, Picture

Files = dict[bytes, tuple[Mark, float]]


def missed(picture: Picture, files: Files, dirty: set[bytes]) -> tuple[list[bytes], Picture]:
    return picture.missed(dirty, lambda path: files.get(path, ((), 0.0)), 200.0)


def test_what_changed_since_is_found_and_what_was_noted_is_not() -> None:
    """By its mark; Git's way of looking at it does not matter."""
    picture = Picture({b"known": (1,), b"noted": (1,)}, 100.0)
    picture.note(b"noted", (2,))
    files: Files = {b"known": ((3,), 150.0), b"noted": ((2,), 150.0), b"new": ((1,), 150.0)}
    found, after = missed(picture, files, {b"known", b"noted", b"new"})
    assert found == [b"known", b"new"]
    assert missed(after, files, {b"known", b"noted", b"new"})[0] == []


def test_a_file_that_nobody_touched_is_no_news() -> None:
    """A soft reset makes many files differ from HEAD; none of them has changed."""
    assert missed(Picture({}, 100.0), {b"old": ((1,), 50.0)}, {b"old"})[0] == []


def test_what_is_gone_is_found_whether_git_knew_it_or_not() -> None:
    """A tracked file is listed as deleted, an untracked one is not listed any more; neither is found twice."""
    picture = Picture({b"untracked": (1,)}, 100.0)
    found, after = missed(picture, {}, {b"tracked"})
    assert found == [b"tracked", b"untracked"]
    assert missed(after, {}, {b"tracked"})[0] == []


def test_what_a_commit_makes_clean_is_no_news() -> None:
    """It stands as it stood."""
    assert missed(Picture({b"done": (1,)}, 100.0), {b"done": ((1,), 150.0)}, set())[0] == []


def test_what_was_in_a_directory_is_known_by_its_name() -> None:
    """However deep, and not what only begins alike."""
    picture = Picture({b"d/e/f": (1,), b"d/g": (), b"d2/f": (1,), b"d": (1,)}, 0.0)
    assert sorted(picture.beneath({b"d", b"elsewhere"})) == [b"d/e/f", b"d/g"]
    assert picture.beneath({b"d/e"}) == [b"d/e/f"] and picture.beneath(set()) == []
