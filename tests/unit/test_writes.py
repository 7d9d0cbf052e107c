"""Writes counted one by one, and no guess where they were not."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from synapse_watch.writes import UNKNOWN, Writes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the count is inotify's")


@pytest.fixture
def writes(tmp_path: Path) -> Iterator[Writes]:
    """Over a directory with `d/f` in it."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d/f").write_text("f\n")
    made = Writes(os.fsencode(tmp_path))
    made.begin()
    made.rest()
    yield made
    made.close()


def test_each_write_counts_however_it_is_made(writes: Writes, tmp_path: Path) -> None:
    """In place, by a rename, a deletion; two at once are two."""
    file = tmp_path / "d/f"
    assert not writes.once(b"d/f", None)
    file.write_text("one\n")
    assert writes.once(b"d/f", None)
    since = writes.count(b"d/f")
    file.write_text("two\n")
    file.write_text("three\n")
    assert not writes.once(b"d/f", None) and not writes.once(b"d/f", since)
    since = writes.count(b"d/f")
    (tmp_path / "draft").write_text("saved\n")
    (tmp_path / "draft").rename(file)
    assert writes.once(b"d/f", since)
    since = writes.count(b"d/f")
    file.unlink()
    assert writes.once(b"d/f", since)
    file.write_text("again\n")
    assert not writes.once(b"d/f", since)
    writes.rest()
    file.read_text()
    assert not writes.once(b"d/f", None)


def test_what_was_not_counted_all_along_is_not_known(writes: Writes, tmp_path: Path) -> None:
    """A directory that came or came back, a queue that overflowed, one that nobody watches."""
    (tmp_path / "new").mkdir()
    (tmp_path / "new/f").write_text("f\n")
    (tmp_path / "new/f").write_text("g\n")
    assert not writes.once(b"new/f", None)
    writes.rest()
    (tmp_path / "new/f").write_text("h\n")
    assert writes.once(b"new/f", None)
    since = writes.count(b"new/f")
    (tmp_path / "new").rename(tmp_path / "old")
    (tmp_path / "old/f").write_text("i\n")
    (tmp_path / "old").rename(tmp_path / "new")
    assert not writes.once(b"new/f", since)
    assert writes.count(b"nowhere/f") == UNKNOWN and not writes.once(b"nowhere/f", UNKNOWN)
    since = writes.count(b"d/f")
    writes.begin()
    (tmp_path / "d/f").write_text("one\n")
    assert not writes.once(b"d/f", since) and not writes.once(b"d/f", None)
    writes.close()
    assert writes.count(b"d/f") == UNKNOWN
