"""``synapse-git watch``: what it sees, and whose it says it was."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import pytest

from synapse_git import client
from tests.box import Box
from tests.hooking import claim
from tests.watch.watching import announce, watching, worktree


@pytest.fixture
def held(box: Box, repo: Path) -> Path:
    """Ana holds src; bo holds docs and is in there as well."""
    claim(box, "ana", "src", task="t1")
    claim(box, "bo", "docs", task="t2")
    return repo


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def waiting(box: Box, agent: str) -> str:
    """The messages that wait for an agent."""
    found = client.query(box.env, "/v2/messages", agent=agent).document["messages"]
    return "\n".join(message["body"] for message in found)


def test_a_change_in_anothers_scope_is_told_and_put_on_record(box: Box, held: Path) -> None:
    """By whom it was is unknown, since no tool said so; evidence, status and the audit trail have it."""
    with watching(box, patient=True) as watch:
        box.write("src/a.py", cwd=held)
        watch.until(watch.edits)
        assert watch.edits() == {"src/a.py": ""}
        seen = worktree(box)
        assert "watcher" in seen["layers"] and seen["watch"]["state"] == "live"
        (edit,) = seen["foreign_edits"]
        assert edit["paths"] == ["src/a.py"] and edit["holders"][0]["owner"] == "ana" and edit["agent"] == ""
    assert "somebody unknown changed src/a.py, held by ana (task t1)" in box.synapse("log").out
    assert not worktree(box)["watch"]["foreground"]


def test_the_agent_whose_tool_said_it_wrote_this_is_named_at_once(box: Box, held: Path) -> None:
    """The content is the proof: the hash announced is the hash found."""
    with watching(box) as watch:
        announce(box, "bo", "src/a.py", digest("by bo\n"))
        box.write("src/a.py", "by bo\n", cwd=held)
        watch.until(watch.edits)
        assert watch.edits() == {"src/a.py": "bo"}
    assert "bo changed src/a.py, held by ana (task t1)" in box.synapse("log").out
    assert "bo changed src/a.py, which you hold for task t1" in waiting(box, "ana")
    assert "you changed src/a.py, which ana holds for task t1" in waiting(box, "bo")
    assert "bo changed src/a.py, held by ana (task t1)" in box.synapse("status").out


def test_what_a_holder_writes_and_what_nobody_holds_is_no_news(box: Box, held: Path) -> None:
    """An announcement within the grace clears the holder; one whom nobody else is beside needs none."""
    with watching(box) as watch:
        box.write("src/a.py", "by ana\n", cwd=held)
        announce(box, "ana", "src/a.py", digest("by ana\n"))
        box.write("free.txt", cwd=held)
        box.write("src/b.py", cwd=held)
        watch.until(watch.edits)
        assert watch.edits() == {"src/b.py": ""}


def test_a_holder_alone_in_the_worktree_is_the_one_who_edits(box: Box, repo: Path) -> None:
    """Nobody is accused where nobody else is."""
    claim(box, "ana", "src", task="t1")
    with watching(box) as watch:
        box.write("src/a.py", "by ana\n", cwd=repo)
        time.sleep(1)  # there is nothing to be seen of a change that is in order
        claim(box, "bo", "docs", task="t2")
        box.write("src/b.py", cwd=repo)
        watch.until(watch.edits)
        assert watch.edits() == {"src/b.py": ""}
