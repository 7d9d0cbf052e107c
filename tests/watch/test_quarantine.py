"""Putting one content in the place of another, killed at any point in between: neither is ever lost."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from synapse_git import quarantine
from synapse_git.swap import exchange
from tests.faults import tree

# Replaces a file again and again, each time killed one line later in the code that does it; a line of JSON for each.
VICTIM = """
import hashlib, json, os, shutil, signal, sys
from synapse_git import quarantine, swap
scratch = sys.argv[1]
git_dir, target = scratch + "/git", scratch + "/a"

def trace(frame, event, argument):
    global left
    if frame.f_code.co_filename not in (quarantine.__file__, swap.__file__):
        return None
    if event == "line":
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
    return trace

last, status = 0, 1
while status:
    last += 1
    shutil.rmtree(git_dir, ignore_errors=True)
    os.mkdir(git_dir)
    with open(target, "wb") as file:
        file.write(b"bo's\\n")
    found = hashlib.sha256(b"bo's\\n").hexdigest()
    child = os.fork()
    if not child:
        left = last
        sys.settrace(trace)
        quarantine.replace(git_dir, scratch, "a", b"ana's\\n", 0o755, expected=found, about={"agent": "bo"})
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    kept = [(one.found().decode(), one.replaced) for one in quarantine.entries(git_dir)]
    print(json.dumps({"standing": open(target).read(), "kept": kept, "killed": bool(status)}))
"""


def test_a_kill_at_any_line_loses_neither_content(tmp_path: Path) -> None:
    """The holder's content is in place or the foreign one still is, and then what is not is kept and named."""
    ended = subprocess.run(
        [sys.executable, "-S", "-c", VICTIM, str(tmp_path)],
        env={"PYTHONPATH": tree.python_path()},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    lives = [json.loads(line) for line in ended.stdout.splitlines()]
    for life in lives:
        if life["standing"] == "ana's\n":
            assert life["kept"] == [["bo's\n", True]]
        else:
            assert life["standing"] == "bo's\n" and life["kept"] in ([], [["bo's\n", False]])
    assert not lives[-1]["killed"] and lives[-1]["standing"] == "ana's\n"
    assert len([life for life in lives if life["standing"] == "bo's\n"]) > 30
    assert len([life for life in lives if life["killed"] and life["standing"] == "ana's\n"]) > 3


def test_what_was_written_between_look_and_exchange_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A third writer is quicker: its content goes back to where it stood, and nothing was replaced."""
    git, target = tmp_path / "git", tmp_path / "a"
    git.mkdir()
    target.write_bytes(b"bo's\n")
    digest, mode = quarantine.standing(str(tmp_path), "a")

    def late(one: bytes, other: bytes, directory: int) -> None:
        if target.read_bytes() == b"bo's\n":
            target.write_bytes(b"cy's\n")
        exchange(one, other, directory)

    monkeypatch.setattr(quarantine, "exchange", late)
    with pytest.raises(quarantine.Doubt, match="meanwhile"):
        quarantine.replace(str(git), str(tmp_path), "a", b"ana's\n", mode, expected=digest, about={})
    assert target.read_bytes() == b"cy's\n" and quarantine.entries(str(git)) == []


def test_what_is_not_as_expected_is_left_alone(tmp_path: Path) -> None:
    """Another content, a link, a second name, something where nothing should be."""
    git, target, other = tmp_path / "git", tmp_path / "a", tmp_path / "b"
    git.mkdir()
    target.write_bytes(b"now\n")
    digest, mode = quarantine.standing(str(tmp_path), "a")

    def refused(expected: str | None) -> None:
        with pytest.raises(quarantine.Doubt):
            quarantine.replace(str(git), str(tmp_path), "a", b"ana's\n", mode, expected=expected, about={})

    refused("0" * 64)
    refused(None)
    other.hardlink_to(target)
    refused(digest)
    target.unlink()
    target.symlink_to(other)
    refused(digest)
    assert other.read_bytes() == b"now\n" and quarantine.entries(str(git)) == []


def test_no_link_on_the_way_leads_out_of_the_tree(tmp_path: Path) -> None:
    """A directory that was replaced by a link to another place: nothing is read, written or made over there."""
    git, root, outside = tmp_path / "git", tmp_path / "root", tmp_path / "outside"
    for directory in (git, root, outside):
        directory.mkdir()
    (outside / "a").write_bytes(b"theirs\n")
    (root / "src").symlink_to(outside)
    for path, expected in (("src/a", hashlib.sha256(b"theirs\n").hexdigest()), ("src/b", None), ("src/in/c", None)):
        with pytest.raises(quarantine.Doubt, match="src"):
            quarantine.standing(str(root), path)
        with pytest.raises(quarantine.Doubt, match="src"):
            quarantine.replace(str(git), str(root), path, b"ours\n", 0o644, expected=expected, about={})
    assert [(one.name, one.read_bytes()) for one in outside.iterdir()] == [("a", b"theirs\n")]
    assert quarantine.entries(str(git)) == []
    kept = quarantine.replace(str(git), str(root), "new/in/c", b"ours\n", 0o644, expected=None, about={})
    assert (root / "new/in/c").read_bytes() == b"ours\n" and kept.found() is None


def test_a_directory_in_its_place_is_left_alone(tmp_path: Path) -> None:
    """It is no file that could be kept."""
    (tmp_path / "a").mkdir()
    with pytest.raises(quarantine.Doubt, match="no plain file"):
        quarantine.standing(str(tmp_path), "a")
