"""The verbs on a claim that is held, waiting for one, and the journal's own verbs, as a user types them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.box import PROGRAMS, Box


@pytest.fixture
def held(box: Box) -> Box:
    """Ana holds src under the task login."""
    box.cwd = box.init()
    assert box.synapse("claim", "src", "-t", "login", agent="ana").code == 0
    return box


def shown(box: Box) -> dict[str, Any]:
    document: dict[str, Any] = box.synapse("show", "login", "--json").json()
    return document


def test_update_changes_status_and_note_and_compares_versions(held: Box) -> None:
    """Others see it in ``show``; a stale version is refused with the current one."""
    done = held.synapse("update", "--status", "review", "--note", "look", agent="ana")
    assert done.out == "task login is review, version 1\n"
    assert (shown(held)["status"], shown(held)["note"]) == ("review", "look")
    late = held.synapse("update", "--status", "done", "--expected-version", "0", agent="ana")
    assert late.code == 1 and late.err.startswith("VERSION_MISMATCH")
    assert held.synapse("update", agent="ana").code == 2


def test_handoff_moves_the_claim_and_fences_the_giver_out(held: Box) -> None:
    """One step; afterwards it is the other's, whoever asks."""
    done = held.synapse("handoff", "ben", agent="ana")
    assert done.code == 0 and done.out.startswith("task login (src) is held by ben now, until ")
    assert shown(held)["owner"] == "ben"
    refused = held.synapse("release", "-t", "login", agent="ana")
    assert refused.code == 1 and refused.err.startswith("NOT_OWNER")
    assert held.synapse("handoff", "ben", "-t", "login", agent="ben").code == 1
    assert held.synapse("handoff", agent="ben").code == 2


def test_a_checkpoint_is_kept_shown_and_given_to_the_next_claimant(held: Box) -> None:
    """From the command line, a file, or standard input; any JSON value."""
    assert held.synapse("checkpoint", "--data", '{"next": [1, null]}', agent="ana").code == 0
    assert held.synapse("checkpoint", "--show", agent="ana").json() == {"next": [1, None]}
    held.write("state.json", '"half"')
    assert held.synapse("checkpoint", "--file", "state.json", agent="ana").code == 0
    assert held.synapse("checkpoint", "--file", "-", agent="ana", stdin=b'"more"').code == 0
    taken = held.synapse("release", "-t", "login", "--force", "--reason", "ana is away", agent="ben")
    assert taken.code == 0, taken.text
    assert held.synapse("claim", "src", "-t", "login", "--json", agent="ben").json()["checkpoint"] == "more"


@pytest.mark.parametrize("words", [(), ("--data", "{"), ("--file", "no such"), ("--data", "1", "--show")])
def test_a_checkpoint_that_makes_no_sense_is_wrong_usage(held: Box, words: tuple[str, ...]) -> None:
    """Exit 2, and what was meant."""
    refused = held.synapse("checkpoint", *words, agent="ana")
    assert refused.code == 2 and "Traceback" not in refused.text


def test_a_forced_release_needs_a_task_and_a_reason_and_is_on_record(held: Box) -> None:
    """Who took it away, from whom, and why."""
    assert held.synapse("release", "-t", "login", "--force", agent="ben").code == 2
    assert held.synapse("release", "--force", "--reason", "x", agent="ben").code == 2
    assert held.synapse("release", "-t", "login", "--force", "--reason", "ana is away", agent="ben").code == 0
    log = held.synapse("log").out
    assert "ben" in log and "ana is away" in log
    again = held.synapse("release", "-t", "login", "--force", "--reason", "x", agent="ben")
    assert again.code == 1 and again.err.startswith("NOT_HELD")


def test_a_renewal_keeps_its_length_and_can_be_fenced(held: Box) -> None:
    """An epoch that is no longer current renews nothing."""
    first = held.synapse("claim", "docs", "-t", "long", "--ttl", "1d", "--json", agent="ana").json()
    again = held.synapse("renew", "-t", "long", "--json", agent="ana").json()
    assert again["lease_expires_at"] - again["now"] == pytest.approx(86_400)
    late = held.synapse("renew", "-t", "long", "--epoch", str(first["epoch"]), agent="ana")
    assert late.code == 1 and "STALE_EPOCH" in late.err


def waiting(box: Box, *words: str, agent: str = "ben") -> subprocess.Popen[str]:
    """A claim that waits; returns once it does."""
    process = subprocess.Popen(
        [PROGRAMS / "synapse-git", "claim", *words],
        cwd=box.cwd,
        env=box.env | {"SYNAPSE_AGENT": agent},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr and process.stderr.readline().startswith("waiting up to 10 min for ana")
    time.sleep(0.2)
    return process


def test_claim_wait_gets_it_when_the_holder_is_done(held: Box) -> None:
    """Without asking again and again."""
    process = waiting(held, "--wait", "10m", "src/a.py", "-t", "mine")
    assert held.synapse("release", "-t", "login", agent="ana").code == 0
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 0 and out.startswith("claimed src/a.py for task mine as ben")


def test_claim_wait_ends_with_its_time(held: Box) -> None:
    """The refusal that it had all the while."""
    refused = held.synapse("claim", "--wait", "1", "src/a.py", agent="ben")
    assert refused.code == 1 and "SCOPE_CONFLICT" in refused.err


def test_claim_wait_goes_on_over_a_restart_of_the_hub(held: Box) -> None:
    """Killed while somebody waits: it waits on for what is left of its time, with the next hub, and gets it there."""
    process = waiting(held, "--wait", "10m", "src", "-t", "mine")
    os.kill(held.hub_pid(), signal.SIGKILL)
    time.sleep(1)
    assert held.synapse("release", "-t", "login", agent="ana").code == 0
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0 and out.startswith("claimed src for task mine as ben"), err


def test_a_wait_over_a_restart_is_no_longer_than_asked_for(held: Box) -> None:
    """A hub that is killed late in a wait does not make it begin anew: the refusal comes when the time is over."""
    begun = time.monotonic()
    argv = [str(PROGRAMS / "synapse-git"), "claim", "--wait", "6", "src", "--agent", "ben"]
    with subprocess.Popen(argv, cwd=held.cwd, env=held.env, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(5)
        os.kill(held.hub_pid(), signal.SIGKILL)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 1 and "SCOPE_CONFLICT" in err
    assert time.monotonic() - begun < 9.5


def test_an_interrupted_wait_leaves_nothing_behind(held: Box) -> None:
    """Ctrl-C is quiet, and the line moves on without the one who left."""
    process = waiting(held, "--wait", "10m", "src")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130 and err == ""
    assert held.synapse("release", "-t", "login", agent="ana").code == 0
    assert held.synapse("status", "--json").json()["claims"] == []


def test_two_who_wait_for_each_other_are_told(held: Box) -> None:
    """The second is refused with WAIT_CYCLE, at once."""
    assert held.synapse("claim", "docs", agent="ben").code == 0
    process = waiting(held, "--wait", "10m", "src")
    start = time.monotonic()
    refused = held.synapse("claim", "--wait", "10m", "docs", agent="ana")
    assert refused.code == 1 and "WAIT_CYCLE" in refused.err and time.monotonic() - start < 10
    process.kill()
    process.communicate()


def test_check_records_nothing(held: Box) -> None:
    """Asking is not trying."""
    before = held.synapse("hub", "status", "--json").json()["seq"]
    assert held.synapse("check", "src/a.py", agent="ben").code == 1
    assert held.synapse("hub", "status", "--json").json()["seq"] == before


def test_the_journal_is_verified_exported_and_imported(held: Box, tmp_path: Path) -> None:
    """The way of a backup, with what was there kept and named."""
    assert held.synapse("hub", "verify").code == 0
    backup = tmp_path / "backup.jsonl"
    assert held.synapse("hub", "export", backup).code == 0
    assert held.synapse("hub", "export", backup).code == 4
    running = held.synapse("hub", "import", backup)
    assert running.code == 4 and "hub stop" in running.err
    held.synapse("hub", "stop")
    done = held.synapse("hub", "import", backup, "--json").json()
    assert done["incarnation"] == 2 and os.path.isdir(done["kept"])
    assert shown(held)["owner"] == "ana"
    assert held.synapse("hub", "import", tmp_path / "no such").code == 4


def test_a_broken_journal_says_how_to_go_on_and_that_way_works(held: Box) -> None:
    """From the error to a hub that grants, by what the messages say."""
    held.synapse("hub", "stop")
    (held.state / "journal.mark").unlink()
    refused = held.synapse("claim", "docs", agent="ana")
    assert refused.code == 3 and "synapse-git hub import" in refused.err
    assert held.synapse("hub", "verify").code == 1
    assert held.synapse("hub", "import").code == 0
    assert held.synapse("hub", "verify", "--json").json()["ok"]
    first = json.loads(held.synapse("claim", "docs", "--json", agent="ana").out)
    assert first["epoch"] > 1_000_000 and shown(held)["owner"] == "ana"
    held.synapse("hub", "stop")
    (held.state / "journal.db").unlink()
    refused = held.synapse("check", "docs", agent="ben")
    assert refused.code == 3 and "synapse-git hub import" in refused.err
    done = held.synapse("hub", "import")
    assert done.code == 0 and "is forgotten" in done.err and "kept" in done.out
    assert held.synapse("claim", "docs", agent="ben").code == 0
