"""send, inbox, ack: what one agent says another reads, and its next command says that something waits."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

from tests.box import PROGRAMS, Box


def test_what_is_sent_waits_until_it_is_acknowledged(box: Box) -> None:
    """Also over a hub that is stopped in between; without a number ack means what inbox has shown."""
    assert "waits there until ben" in box.done("synapse-git", "send", "--to", "ben", "src is", "yours", agent="ana")
    box.done("synapse-git", "send", "lunch", agent="ana")
    box.stop_hub()
    shown = box.done("synapse-git", "inbox", agent="ben")
    assert "ana to you: src is yours\n" in shown and "ana to everyone: lunch\n" in shown
    assert box.done("synapse-git", "inbox", agent="ben") == shown
    late = box.synapse("send", "--to", "ben", "too late to be shown", agent="cyd")
    assert late.code == 0 and "note: no agent" not in late.err
    mistyped = box.synapse("send", "--to", "bne", "hi", agent="cyd")
    assert "no agent called bne has done anything here yet. Meant may be ben: synapse-git send --to ben" in mistyped.err
    assert "not read yet: 1" in box.done("synapse-git", "ack", agent="ben")
    assert "cyd to you: too late" in box.done("synapse-git", "inbox", agent="ben")
    box.done("synapse-git", "ack", agent="ben")
    assert box.done("synapse-git", "inbox", agent="ben") == "nothing waits for ben\n"
    assert box.done("synapse-git", "inbox", agent="ana") == "nothing waits for ana\n"


def test_the_next_command_says_that_something_waits(repo: Path, box: Box) -> None:
    """One line on standard error, of verbs that act for an agent; never with --json, never of what was read."""
    box.done("synapse-git", "send", "--to", "ben", "one", agent="ana")
    line = "1 message waits for ben: synapse-git inbox\n"
    for command in (
        ["claim", "src", "-t", "x"],
        ["renew"],
        ["status"],
        ["show", "x"],
        ["check", "src"],
        ["release"],
        ["names", "list"],
        ["log", "--limit", "1"],
        ["note", "list"],
        ["resource", "list"],
    ):
        assert box.synapse(*command, agent="ben").err.endswith(line), command
    assert "waits" not in box.synapse("status", "--json", agent="ben").text
    assert "waits" not in box.synapse("status", agent="cyd").err
    assert box.synapse("status", "--agent", "ben").err == line.replace("inbox", "inbox --agent ben")
    assert box.synapse("inbox", agent="ben").err == ""
    box.done("synapse-git", "send", "two", agent="ana")
    refused = box.synapse("release", "-t", "nothing", agent="ben")
    assert refused.code == 1 and refused.err.endswith("2 messages wait for ben: synapse-git inbox\n")
    box.done("synapse-git", "ack", "1000", agent="ben")
    assert box.synapse("status", agent="ben").err == ""


def test_a_sender_sees_what_was_not_acknowledged(box: Box) -> None:
    """Its own, or everybody's; said of nobody's when all is read."""
    box.done("synapse-git", "send", "--to", "ben", "one", agent="ana")
    box.done("synapse-git", "send", "--to", "ana", "two", agent="cyd")
    assert box.done("synapse-git", "inbox", "--sent", agent="ana").endswith("ana to ben: one  (was not there)\n")
    assert box.done("synapse-git", "inbox", "--all", agent="ana").count("\n") == 2
    assert [one["to"] for one in box.synapse("inbox", "--sent", "--json", agent="cyd").json()["letters"]] == ["ana"]
    box.done("synapse-git", "ack", "1000", agent="ben")
    assert box.done("synapse-git", "inbox", "--sent", agent="ana") == "everything ana sent was acknowledged\n"


def test_messages_as_documents(box: Box) -> None:
    """The wire's own members; several lines stay several; ack tells the watermark."""
    sent = json.loads(box.done("synapse-git", "send", "--json", "--to", "ben", "first\nsecond \x1b[31m", agent="ana"))
    assert sent["delivered"] is False
    found = box.synapse("inbox", "--json", agent="ben").json()
    assert found["pending"] == 1
    (message,) = found["messages"]
    assert message["seq"] == sent["seq"] and message["body"] == "first\nsecond \x1b[31m" and message["to"] == "ben"
    assert abs(message["client_timestamp"] - time.time()) < 60 and len(message["client_msg_id"]) == 16
    shown = box.done("synapse-git", "inbox", agent="ben").splitlines()
    assert shown[0].endswith("ana to you: first") and shown[1] == "    second \\x1b[31m"
    done = box.synapse("ack", "--json", agent="ben").json()
    assert (done["watermark"], done["pending"]) == (sent["seq"], 0)


def test_what_cannot_be_sent_says_why(box: Box) -> None:
    """Nothing to say, too much of it, a name nobody can have."""
    assert box.synapse("send", "--to", "ben", agent="ana").code == 2
    refused = box.synapse("send", "x" * 20_000, agent="ana")
    assert refused.code == 1 and refused.err.startswith("TOO_LARGE: a message is at most 16384 bytes, this has 20000")
    refused = box.synapse("send", "hello", "--agent", "synapse-git")
    assert refused.code == 1 and refused.err.startswith("NAME_OWNED: ")
    assert box.synapse("ack", "-1", agent="ana").code == 2


def test_follow_shows_messages_as_they_come(box: Box) -> None:
    """What waits first, then each new one, each once and over a restart of the hub; ack then means all of them."""
    box.done("synapse-git", "send", "--to", "ben", "before", agent="ana")
    command = [str(PROGRAMS / "synapse-git"), "inbox", "--follow", "--json"]
    env = box.env | {"SYNAPSE_AGENT": "ben"}
    with subprocess.Popen(command, cwd=box.cwd, env=env, stdout=subprocess.PIPE, text=True) as following:
        try:
            assert following.stdout is not None
            assert json.loads(following.stdout.readline())["body"] == "before"
            box.done("synapse-git", "send", "--to", "cyd", "not yours", agent="ana")
            box.stop_hub()  # the next command starts another, and the follower goes on there
            box.done("synapse-git", "send", "my own", agent="ben")
            box.done("synapse-git", "send", "after", agent="ana")
            last = json.loads(following.stdout.readline())
        finally:
            following.kill()
    assert last["body"] == "after" and last["to"] is None
    waiting = box.synapse("inbox", "--json", agent="ben").json()["messages"]
    assert waiting[-1] == last
    assert box.synapse("ack", "--json", agent="ben").json()["watermark"] == last["seq"]
    (kept,) = (box.state / "shown").iterdir()
    assert os.stat(kept).st_mode & 0o777 == 0o600


def test_notes_and_offers_of_this_project(repo: Path, box: Box) -> None:
    """Listed where they were left, and everywhere outside of any checkout."""
    box.done("synapse-git", "claim", "src", "-t", "login", agent="ana")
    box.done("synapse-git", "note", "add", "-t", "login", "routes", "done\x1b[1m", agent="ana")
    box.done("synapse-git", "resource", "offer", "db", "--note", "port 1", agent="ben")
    assert box.done("synapse-git", "note", "list", "-t", "login").endswith("ana (login): routes done\\x1b[1m\n")
    assert box.done("synapse-git", "note", "list", "-t", "other").startswith("no notes.")
    (note,) = box.synapse("note", "list", "--json").json()["notes"]
    assert note["task_id"] == "login" and note["namespace"].startswith("local:")
    other = box.init("other")
    box.done("synapse-git", "claim", "src", agent="ana", cwd=other)
    assert box.synapse("resource", "list", "--json", cwd=other).json()["resources"] == []
    assert box.done("synapse-git", "resource", "list", cwd=other).startswith("nothing is offered.")
    (offer,) = box.synapse("resource", "list", "--json", cwd=box.home).json()["resources"]
    assert (offer["name"], offer["agent"], offer["note"]) == ("db", "ben", "port 1")
    assert 299 < offer["expires_at"] - offer["offered_at"] < 301
    log = box.done("synapse-git", "log")
    assert 'ana noted on task login: "routes done\\x1b[1m"' in log and "ben offers db until" in log


def test_a_refused_commit_mentions_what_waits(repo: Path, box: Box) -> None:
    """The hook prints something anyway; where nothing waits it does not speak of it."""
    box.done("synapse-git", "claim", "src", agent="ana")
    box.write("src/a.py")
    assert "Messages wait" not in box.git("commit", "-qam", "x", agent="ben").err
    box.done("synapse-git", "send", "--to", "ben", "give me an hour", agent="ana")
    refused = box.git("commit", "-qam", "x", agent="ben")
    assert refused.code == 1 and "Messages wait for you (1): synapse-git inbox" in refused.err
    assert "ben was refused a commit that changes src/a.py" in box.done("synapse-git", "inbox", agent="ana")


def test_a_holder_hears_of_what_git_moved_under_its_feet(repo: Path, box: Box) -> None:
    """A reset is nobody's commit and is not refused: the holder is told, and the log says what it was."""
    box.done("synapse-git", "claim", "src/a.py", agent="ana")
    box.write("src/a.py", "ana's\n")
    box.done("git", "commit", "-qam", "by ana", agent="ana")
    box.done("git", "reset", "-q", "--hard", "HEAD^", agent="ben")
    shown = box.done("synapse-git", "inbox", agent="ana")
    assert "the hub to you: src/a.py, which you hold for task " in shown and "changed under you: ben merged" in shown
    assert "ben moved src/a.py to other commits, held by ana" in box.done("synapse-git", "log")


def test_a_takeover_and_an_override_reach_the_holder(repo: Path, box: Box) -> None:
    """With paths and reasons."""
    box.done("synapse-git", "claim", "src", "-t", "login", agent="ana")
    box.write("src/a.py")
    box.done("git", "commit", "-qam", "x", agent="ben", env={"SYNAPSE_OVERRIDE": "fire drill"})
    box.done("synapse-git", "release", "-t", "login", "--force", "--reason", "ana sleeps", agent="ben")
    shown = box.done("synapse-git", "inbox", agent="ana")
    assert f'changes src/a.py, which you hold for task login in {repo}, because "fire drill"' in shown
    assert f'ben took task login (src in {repo}) away from you: "ana sleeps"' in shown
