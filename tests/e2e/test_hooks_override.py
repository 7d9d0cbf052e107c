"""Going ahead in spite of a refusal: allowed with a reason, and always on record."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from synapse_git.address import address_file
from synapse_git.cli.health import statedir
from synapse_git.constants import HOOK_DEADLINE_SECONDS
from tests.box import Box
from tests.hooking import allowed, claim, refused

WHY = {"SYNAPSE_OVERRIDE": "the build is red"}
AWAY = {"SYNAPSE_HUB": "/nowhere/hub.sock"}


@pytest.fixture
def held(box: Box, repo: Path) -> Path:
    """A guarded repository in which bob holds ``src/b.py`` and ana has changed it."""
    claim(box, "bob", "src/b.py")
    box.write("src/b.py")
    return repo


def _overrides(box: Box) -> list[dict[str, object]]:
    """The overrides that are on record."""
    lines = box.done("synapse-git", "log", "--json").splitlines()
    events = [event for line in lines for event in _flat(json.loads(line))]
    return [event for event in events if "override" in str(event.get("event", event.get("kind", "")))]


def _flat(document: object) -> list[dict[str, object]]:
    if isinstance(document, list):
        return document
    assert isinstance(document, dict)
    events = document.get("events")
    return events if isinstance(events, list) else [document]


def test_an_override_goes_through_and_is_recorded_once(box: Box, held: Path) -> None:
    """Said on standard error, and found in the audit trail with its reason and whom it went against."""
    ended = allowed(box.git("commit", "-qam", "x", agent="ana", env=WHY))
    assert "it is on record" in ended.err
    (event,) = _overrides(box)
    text = json.dumps(event)
    for part in ("the build is red", "src/b.py", "ana", "bob", "commit"):
        assert part in text
    assert not list(box.state.glob("overrides/*"))


def test_each_operation_is_on_record_and_none_twice(box: Box, held: Path) -> None:
    """Commits that follow each other for one reason, and a patch, whose hooks find another index each."""
    said = allowed(box.git("commit", "-qam", "x", agent="ana", env=WHY)).err
    for text in ("y", "z"):
        box.write("src/b.py", text)
        said += allowed(box.git("commit", "-qam", text, agent="ana", env=WHY)).err
    patch = box.done("git", "format-patch", "-1", "--stdout")
    box.done("git", "reset", "-q", "--hard", "HEAD~")
    said += allowed(box.git("am", "-q", agent="ana", env=WHY, stdin=patch.encode())).err
    assert said.count("it is on record") == len(_overrides(box)) == 4
    letters = box.done("synapse-git", "inbox", "--agent", "bob", "--json")
    assert letters.count("went over your claim") == 4


def test_an_endless_reason_is_cut_and_that_is_said(box: Box, held: Path) -> None:
    """Four kilobytes are kept; the log and the holder's message show a line's worth."""
    ended = allowed(box.git("commit", "-qam", "x", agent="ana", env={"SYNAPSE_OVERRIDE": "why " * 25_000}))
    assert "with the first 4096 bytes of its reason" in ended.err
    (event,) = _overrides(box)
    assert len(str(event["reason_text"])) <= 4096
    assert max(map(len, box.done("synapse-git", "log").splitlines())) < 600


def test_without_a_conflict_there_is_nothing_to_override(box: Box, held: Path) -> None:
    """The variable set for good leaves no trace while nothing is refused."""
    box.done("git", "checkout", "-q", "--", ".")
    box.write("src/a.py")
    ended = allowed(box.git("commit", "-qam", "x", agent="ana", env=WHY))
    assert ended.err == ""
    assert _overrides(box) == []


@pytest.mark.parametrize("reason", ["", "  ", "\t"])
def test_a_blank_reason_does_not_count(box: Box, held: Path, reason: str) -> None:
    """An override says why."""
    refused(box.git("commit", "-qam", "x", agent="ana", env={"SYNAPSE_OVERRIDE": reason}), "src/b.py")


def test_with_the_hub_away_it_waits_in_a_file(box: Box, held: Path) -> None:
    """Written durably and privately, with exactly what the hub takes in, and taken in when it is back."""
    box.stop_hub()
    ended = allowed(box.git("commit", "-qam", "x", agent="ana", env=WHY | AWAY))
    assert "until the hub is back" in ended.err
    files = sorted((box.state / "overrides").iterdir())
    assert (box.state / "overrides").stat().st_mode & 0o777 == 0o700
    document = json.loads(files[0].read_text())
    assert files[0].stat().st_mode & 0o777 == 0o600
    assert set(document) == {"agent", "namespace", "worktree", "paths", "action", "reason_text", "spooled_at"}
    assert (document["agent"], document["paths"], document["reason_text"]) == ("ana", ["src/b.py"], "the build is red")
    assert abs(document["spooled_at"] - time.time()) < 60
    assert box.synapse("hub", "start").code == 0
    patience = time.monotonic() + 10
    while list((box.state / "overrides").iterdir()) and time.monotonic() < patience:
        time.sleep(0.05)
    assert (len(files), len(_overrides(box))) == (1, 1)


def test_one_that_can_be_written_nowhere_does_not_count(box: Box, held: Path) -> None:
    """Nothing goes in against a claim without a trace."""
    (box.state / "overrides").write_text("in the way")
    ended = box.git("commit", "-qam", "x", agent="ana", env=WHY | AWAY)
    assert ended.code == 1
    assert "cannot be recorded" in ended.err
    assert "HUB_UNREACHABLE" in ended.err and "Or go ahead" not in ended.err
    found = statedir.examine(box.env)
    assert found and str(box.state / "overrides") in found.what and found.fix


def test_names_that_are_no_text_are_recorded(box: Box, repo: Path) -> None:
    """A path that is not UTF-8 travels as its bytes."""
    with open(os.fsencode(repo) + b"/\xff", "w") as file:
        file.write("x")
    box.done("git", "add", "-A")
    allowed(box.git("commit", "-qm", "x", agent="ana", env=WHY | AWAY))
    document = json.loads(next((box.state / "overrides").iterdir()).read_text())
    assert document["paths"] == [{"b64": "/w=="}]


def test_plumbing_can_be_overridden(box: Box, held: Path) -> None:
    """The backstop knows the same way round."""
    tree = box.done("git", "stash", "create").strip()
    made = box.done("git", "commit-tree", "-p", "HEAD", "-m", "x", f"{tree}^{{tree}}").strip()
    refused(box.git("update-ref", "HEAD", made, agent="ana"), "src/b.py")
    allowed(box.git("update-ref", "HEAD", made, agent="ana", env=WHY))
    assert len(_overrides(box)) == 1


def test_an_override_beside_a_hub_that_hangs_is_on_record_once(box: Box, held: Path) -> None:
    """It waits one deadline, and what the hub comes to afterwards was asked by nobody who is still there."""
    pid = box.hub_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        ended = allowed(box.git("commit", "-qam", "x", agent="ana", env=WHY))
        assert "HUB_UNREACHABLE is overridden" in ended.err and time.monotonic() - began < 2 * HOOK_DEADLINE_SECONDS
    finally:
        os.kill(pid, signal.SIGCONT)
    deadline = time.monotonic() + 10
    while not _overrides(box) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(0.2)
    assert len(_overrides(box)) == 1
    assert "was refused" not in box.done("synapse-git", "log")


def test_a_hub_that_stops_while_it_is_told_of_an_override_has_it_once(box: Box, held: Path) -> None:
    """It is told by the hook, finds the same in a file when it goes on, and its holder hears of one commit."""
    pid = box.hub_pid()
    address = Path(address_file(str(box.state)))
    with relay(address, pid):
        ended = allowed(box.git("commit", "-qam", "x", agent="ana", env=WHY))
    assert "until the hub is back" in ended.err
    os.kill(pid, signal.SIGCONT)
    deadline = time.monotonic() + 10
    while list((box.state / "overrides").iterdir()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(_overrides(box)) == 1
    letters = box.done("synapse-git", "inbox", "--agent", "bob", "--json")
    assert letters.count("went over your claim") == 1 and "was refused" not in letters


@contextmanager
def relay(address: Path, pid: int) -> Iterator[None]:
    """Clients meet the hub by a way on which it is stopped as soon as it has an override to record."""
    hub = address.read_text()
    way = Path(hub.strip()).with_name("way.sock")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(way))
    way.chmod(0o600)
    address.write_text(f"{way}\n")
    listener.listen()

    def carry() -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(hub.strip())
                with near, far:
                    _carry(near, far, pid)

    thread = threading.Thread(target=carry, daemon=True)
    thread.start()
    try:
        yield
    finally:
        address.write_text(hub)
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)
        listener.close()


def _carry(near: socket.socket, far: socket.socket, pid: int) -> None:
    while True:
        for ready in select.select([near, far], [], [])[0]:
            data = ready.recv(65536)
            if data.startswith(b"POST /v2/overrides "):
                os.kill(pid, signal.SIGSTOP)
            if not data:
                return
            (far if ready is near else near).sendall(data)
