"""``watch.onConflict = restore``: the holder's content comes back, and what was found is kept."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.box import Box
from tests.hooking import claim
from tests.watch.watching import Watching, announce, settled, watching, worktree


@pytest.fixture
def held(box: Box, repo: Path) -> Path:
    """Ana holds src, bo is in there as well, and the policy is to restore."""
    claim(box, "ana", "src", task="t1")
    claim(box, "bo", "docs", task="t2")
    box.done("git", "config", "synapse.watch.onConflict", "restore")
    return repo


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def write(box: Box, agent: str, path: str, text: str) -> None:
    """As an agent's tool does, which tells of it; by a rename, as editors save."""
    announce(box, agent, path, digest(text))
    draft = box.write(f".draft-{agent}", text)
    os.replace(draft, box.cwd / path)


def entries(box: Box) -> list[dict[str, Any]]:
    return list(box.synapse("quarantine", "list", "--json").json()["entries"])


def restored(watch: Watching) -> list[str]:
    return [one["quarantine"] for one in list(watch.said) if one["kind"] == "foreign_edit" and one["quarantine"]]


def test_a_clean_file_comes_back_as_git_has_it(box: Box, held: Path) -> None:
    """What was found is kept and named, on record, and not taken for another edit."""
    with watching(box) as watch:
        write(box, "bo", "src/a.py", "by bo\n")
        watch.until(lambda: restored(watch))
        assert (held / "src/a.py").read_text() == "a = 1\n"
        (entry,) = entries(box)
        assert (entry["path"], entry["agent"], entry["owner"]) == ("src/a.py", "bo", "ana")
        assert Path(entry["file"]).read_text() == "by bo\n" and entry["replaced"]
        assert settled(box, watch) == {"src/a.py": "bo"} and len(restored(watch)) == 1
        assert entry["name"] in box.synapse("status").out
    assert box.done("git", "diff", "--name-only", "src") == ""
    assert f"kept as {entry['name']}" in box.synapse("log").out


def test_the_holders_own_unfinished_work_comes_back(box: Box, held: Path) -> None:
    """It was never committed, so the watcher alone knows it; also one that was started after it."""
    with watching(box) as watch:
        write(box, "ana", "src/a.py", "half done\n")
        time.sleep(1)
        write(box, "bo", "src/a.py", "by bo\n")
        watch.until(lambda: restored(watch))
        assert (held / "src/a.py").read_text() == "half done\n"
    with watching(box) as watch:
        write(box, "bo", "src/a.py", "again by bo\n")
        watch.until(lambda: restored(watch))
        assert (held / "src/a.py").read_text() == "half done\n"
    assert [Path(entry["file"]).read_text() for entry in entries(box)] == ["by bo\n", "again by bo\n"]


def test_where_anything_is_in_doubt_all_is_left_as_it_is(box: Box, held: Path) -> None:
    """An unknown writer; a new file, of which there is no earlier content; a file that Git converts."""
    box.write(".gitattributes", "*.md text eol=crlf\n", cwd=held)
    box.write("src/crlf.md", "text\n", cwd=held)
    box.done("git", "add", "-A")
    box.done("git", "commit", "-qm", "more", agent="ana")
    with watching(box) as watch:
        box.write("src/a.py", "by whom?\n", cwd=held)
        write(box, "bo", "src/new.py", "by bo\n")
        write(box, "bo", "src/crlf.md", "by bo\n")
        watch.until(lambda: len(watch.edits()) == 3)
        assert watch.edits() == {"src/a.py": "", "src/new.py": "bo", "src/crlf.md": "bo"}
        assert (held / "src/a.py").read_text() == "by whom?\n" and (held / "src/new.py").read_text() == "by bo\n"
    assert entries(box) == []


def test_a_holders_work_that_no_tool_told_of_is_never_taken_out(box: Box, held: Path) -> None:
    """It lies beneath what another's tool then wrote, and whose lines are whose nobody can tell."""
    with watching(box) as watch:
        box.write("src/a.py", "by hand\n")
        time.sleep(0.8)
        write(box, "bo", "src/a.py", "by hand\nby bo\n")
        watch.until(watch.edits)
        assert watch.edits() == {"src/a.py": "bo"}
        assert (held / "src/a.py").read_text() == "by hand\nby bo\n"
        write(box, "bo", "src/a.py", "once more\n")
        watch.until(lambda: len([one for one in watch.said if one["kind"] == "foreign_edit"]) == 2)
        assert (held / "src/a.py").read_text() == "once more\n"
    assert entries(box) == []


@pytest.mark.parametrize("between_s", [0.0, 0.02])
def test_of_two_writes_at_once_nothing_is_put_back(box: Box, held: Path, between_s: float) -> None:
    """To watchfiles they are one, and the first may have been the holder's own: all stays, and why is said."""
    with watching(box) as watch:
        announce(box, "bo", "src/a.py", digest("by hand\nby bo\n"))
        box.write("src/a.py", "by hand\n")
        time.sleep(between_s)
        box.write("src/a.py", "by hand\nby bo\n")
        watch.until(watch.edits)
        (told,) = (one for one in watch.said if one["kind"] == "foreign_edit")
        assert (told["by"], told["agent"], told["quarantine"]) == ("agent", "bo", "")
        assert "more than once" in told["left"]
        assert (held / "src/a.py").read_text() == "by hand\nby bo\n"
    assert entries(box) == []


def test_an_edit_right_after_the_holders_own_is_its_makers(box: Box, held: Path) -> None:
    """Tools say what they wrote after they wrote it: what each wrote is told by the content, and not by the time."""
    with watching(box) as watch:
        box.write("src/a.py", "by ana\n")
        announce(box, "ana", "src/a.py", digest("by ana\n"))
        time.sleep(1)
        box.write("src/a.py", "by bo\n")
        time.sleep(0.2)
        announce(box, "bo", "src/a.py", digest("by bo\n"))
        watch.until(lambda: restored(watch))
        assert watch.edits() == {"src/a.py": "bo"} and (held / "src/a.py").read_text() == "by ana\n"


def test_what_is_kept_can_be_put_in_place_and_what_it_replaces_is_kept_in_turn(box: Box, held: Path) -> None:
    """Nothing is lost in either direction."""
    with watching(box) as watch:
        write(box, "bo", "src/a.py", "by bo\n")
        watch.until(lambda: restored(watch))
    (entry,) = entries(box)
    shown = box.done("synapse-git", "quarantine", "show", entry["name"])
    assert "written by:  bo" in shown and "+by bo" in shown and "-a = 1" in shown
    refused = box.synapse("quarantine", "apply", entry["name"], agent="bo")
    assert refused.code == 1 and "src/a.py is held by ana" in refused.text and "claim --wait" in refused.text
    assert (held / "src/a.py").read_text() == "a = 1\n"
    box.done("synapse-git", "quarantine", "apply", entry["name"], agent="ana")
    assert (held / "src/a.py").read_text() == "by bo\n"
    first, second = entries(box)
    assert first == entry and Path(second["file"]).read_text() == "a = 1\n"
    box.done("synapse-git", "quarantine", "apply", second["name"], agent="ana")
    assert (held / "src/a.py").read_text() == "a = 1\n"
    assert box.synapse("quarantine", "apply", "none").code == 4
    (held / "src/a.py").unlink()
    (held / "src/a.py").mkdir()
    blocked = box.synapse("quarantine", "apply", first["name"], agent="ana")
    assert blocked.code == 4 and "src/a.py is left as it is: what stands there is no plain file" in blocked.text


def test_by_default_nothing_is_put_back(box: Box, held: Path) -> None:
    """Report is the policy unless somebody wants more; a tracked file may."""
    box.done("git", "config", "--unset", "synapse.watch.onConflict")
    with watching(box) as watch:
        write(box, "bo", "src/a.py", "by bo\n")
        watch.until(watch.edits)
        assert (held / "src/a.py").read_text() == "by bo\n" and entries(box) == []
    assert worktree(box)["foreign_edits"][0]["quarantine"] == ""
