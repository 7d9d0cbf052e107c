"""Claims from the command line: taken, renewed, widened, shown, given back. No guard is needed for any of it."""

from __future__ import annotations

import shutil
import socket
import time
from pathlib import Path

import pytest

from tests.box import Box

UNGUARDED = "note: the guard is not installed here, so nothing stops others' commits: synapse-git install\n"


@pytest.fixture
def place(box: Box) -> Box:
    """A box whose commands run in a repository."""
    box.cwd = box.init()
    return box


def test_claim_says_what_is_held_until_when_and_how_to_give_it_back(place: Box) -> None:
    """Two lines: the claim in words, and the command that ends it, which can be typed as it stands."""
    ended = place.synapse("claim", "-t", "login", "src", agent="ana")
    assert ended.code == 0
    assert ended.out.startswith("claimed src for task login as ana until ")
    assert ended.out.splitlines()[1] == "when done: synapse-git release -t login"
    assert ended.err == UNGUARDED


def test_claim_says_when_nothing_would_be_refused(place: Box) -> None:
    """Forgetting to install the guard is the likeliest mistake; with it, nothing is said."""
    assert place.synapse("claim", "src/a.py", agent="ana").err == UNGUARDED
    assert place.synapse("install").code == 0
    assert place.synapse("claim", "src/b.py", agent="ana").err == ""
    place.git("config", "core.hooksPath", ".husky")
    assert "leads to .husky, past the guard" in place.synapse("claim", "docs", agent="ana").err


def test_a_length_that_the_hub_does_not_give_is_said(place: Box) -> None:
    """Leases have a shortest and a longest."""
    assert "lasts 30 s then" in place.synapse("claim", "src/a.py", "--ttl", "1", agent="ana").err
    assert "lasts 30 d then" in place.synapse("claim", "src/b.py", "--ttl", "99d", agent="ana").err


def test_git_s_own_files_are_no_claim(place: Box) -> None:
    """No commit can hold them."""
    assert place.synapse("claim", ".git/config", agent="ana").code == 4


def test_claim_json_is_the_claim(place: Box) -> None:
    """The hub's document, with every member of the contract."""
    claim = place.synapse("claim", "--json", "-t", "login", "--ttl", "90m", "--note", "why", "src", agent="ana").json()
    assert (claim["task_id"], claim["owner"], claim["paths"], claim["note"]) == ("login", "ana", ["src"], "why")
    assert claim["worktree"].startswith("wt:")
    assert claim["namespace"].startswith("local:")
    assert claim["lease_expires_at"] - claim["granted_at"] == 5400
    assert {"status", "epoch", "version", "checkpoint", "hub_id", "seq", "now"} <= set(claim)


def test_claim_without_a_task_makes_one_up(place: Box) -> None:
    """The made-up id is printed, is new each time, and works like any other."""
    first = place.synapse("claim", "--json", "src/a.py", agent="ana").json()["task_id"]
    second = place.synapse("claim", "--json", "src/b.py", agent="ana").json()["task_id"]
    assert first != second
    assert place.synapse("release", "-t", first, agent="ana").code == 0


def test_claim_of_what_another_holds_is_refused(place: Box) -> None:
    """Exit 1; reason, holder, expiry, note and the way out on stderr, nothing on stdout."""
    place.synapse("claim", "-t", "login", "--note", "new flow", "src", agent="ana")
    ended = place.synapse("claim", "-t", "tidy", "src/a.py", agent="ben")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("SCOPE_CONFLICT: ")
    for word in ("ana", "task login", "until", "new flow", "synapse-git"):
        assert word in ended.err


def test_refusal_json_is_the_problem_document(place: Box) -> None:
    """One document on stdout, with reason and conflicts; stderr stays empty."""
    place.synapse("claim", "-t", "login", "src", agent="ana")
    ended = place.synapse("--json", "claim", "-t", "tidy", "src/a.py", agent="ben")
    problem = ended.json()
    assert (ended.code, ended.err) == (1, "")
    assert (problem["reason"], problem["status"]) == ("SCOPE_CONFLICT", 409)
    assert problem["conflicts"][0]["owner"] == "ana"
    assert {"task_id", "namespace", "paths", "worktree", "lease_expires_at"} <= set(problem["conflicts"][0])


def test_a_task_held_by_another_is_refused(place: Box) -> None:
    """LEASE_LIVE names who has the task."""
    place.synapse("claim", "-t", "login", "src", agent="ana")
    ended = place.synapse("claim", "-t", "login", "docs", agent="ben")
    assert ended.code == 1
    assert "LEASE_LIVE" in ended.err
    assert "ana" in ended.err


def test_paths_are_what_they_are_however_they_are_spelled(place: Box) -> None:
    """Relative to the current directory or to -C, absolute, with dots and doubled slashes: one name."""
    root = place.cwd
    spelled: list[tuple[list[str], Path]] = [
        (["../src/a.py"], root / "docs"),
        (["./src//a.py"], root),
        ([f"{root}/src/a.py"], root / "docs"),
        (["-C", "src", "a.py"], root),
        (["-C", f"{root}/docs", "../src/./a.py"], root.parent),
    ]
    for words, cwd in spelled:
        claim = place.synapse("claim", "--json", "-t", "t", *words, agent="ana", cwd=cwd).json()
        assert claim["paths"] == ["src/a.py"], words


def test_a_name_that_is_no_utf_8_can_be_claimed(place: Box) -> None:
    """Any byte a file name can hold; shown escaped, on the wire as base64."""
    ended = place.synapse("claim", "-t", "t", b"src/\xff.bin", agent="ana")
    assert ended.code == 0
    assert "src/\\xff.bin" in ended.out
    assert place.synapse("claim", "--json", "-t", "t", b"src/\xff.bin", agent="ana").json()["paths"] == [
        {"b64": "c3JjL/8uYmlu"}
    ]


def test_names_may_look_like_options_after_two_dashes(place: Box) -> None:
    """Everything after -- is a path."""
    claim = place.synapse("claim", "--json", "-t", "t", "--", "-x", "--add", agent="ana").json()
    assert claim["paths"] == ["--add", "-x"]


def test_the_whole_worktree_needs_to_be_meant(place: Box) -> None:
    """No PATH is a usage error that says how; the root as a PATH, or the option, claim everything."""
    ended = place.synapse("claim", agent="ana")
    assert ended.code == 2
    assert "--whole-worktree" in ended.err
    for words in (["."], ["--whole-worktree"], [str(place.cwd)]):
        ended = place.synapse("claim", "-t", "all", *words, agent="ana")
        assert ended.code == 0
        assert "claimed the whole worktree" in ended.out
    assert place.synapse("claim", "--whole-worktree", "src", agent="ana").code == 2


def test_an_empty_path_or_task_claims_nothing(place: Box) -> None:
    """A script's unset variable is a usage error, not the whole directory."""
    for words in ([""], ["-t", "", "src"], ["-t", "t", "src", ""]):
        assert place.synapse("claim", *words, agent="ana").code == 2
    assert place.synapse("status", "--json").json()["claims"] == []


def test_a_path_that_is_not_there_yet_is_claimed_with_a_note(place: Box) -> None:
    """Files to be made are welcome; a slip of the pen is pointed out."""
    ended = place.synapse("claim", "-t", "t", "src", "src/nwe.py", agent="ana")
    assert ended.code == 0
    assert ended.err == UNGUARDED + "note: not there yet: src/nwe.py\n"


def test_a_link_and_a_pattern_are_claimed_as_such_with_a_note(place: Box) -> None:
    """What a link leads to, and what a pattern would match, are free still; whoever thinks otherwise is told."""
    (place.cwd / "way").symlink_to("src")
    ended = place.synapse("claim", "-t", "t", "way", "doc/*", agent="ana")
    assert "note: a link, which is claimed without the directory it leads to: way." in ended.err
    assert "stand for themselves" in ended.err
    assert "stand for themselves" in place.synapse("claim", "-t", "v", ":(top)src", agent="ana").err
    assert place.synapse("claim", "-t", "u", "way/a.py", agent="ben").code == 0


def test_a_path_outside_the_worktree_is_exit_4(place: Box) -> None:
    """The client sees it, and names both."""
    ended = place.synapse("claim", "-t", "t", "../elsewhere", agent="ana")
    assert ended.code == 4
    assert "../elsewhere is outside the worktree" in ended.err


def test_too_many_paths_are_exit_2(place: Box) -> None:
    """Over 512 paths the limit and the way out are named, and no hub is asked."""
    ended = place.synapse("claim", "-t", "t", *(f"f{number}" for number in range(513)), agent="ana")
    assert ended.code == 2
    assert "INVALID_SCOPE" in ended.err
    assert "512" in ended.err


def test_add_widens_and_a_plain_claim_replaces(place: Box) -> None:
    """--add unites, also without -t of the one task; a plain claim replaces the paths and says what it frees."""
    place.synapse("claim", "-t", "t", "src/a.py", agent="ana")
    assert place.synapse("claim", "--json", "--add", "docs", agent="ana").json()["paths"] == ["docs", "src/a.py"]
    replaced = place.synapse("claim", "-t", "t", "b.py", agent="ana", cwd=place.cwd / "src")
    assert replaced.out.startswith("claimed src/b.py for task t ")
    assert "it held docs, src/a.py before" in replaced.err
    assert "To hold both: synapse-git claim --add -t t ../docs a.py" in replaced.err


def test_renew_keeps_the_paths_and_raises_the_epoch(place: Box) -> None:
    """A fresh lease of the length asked for (INV-LL-4)."""
    before = place.synapse("claim", "--json", "-t", "t", "src", agent="ana").json()
    after = place.synapse("renew", "--json", "--ttl", "2h", agent="ana").json()
    assert after["paths"] == ["src"]
    assert after["epoch"] > before["epoch"]
    assert after["lease_expires_at"] - after["granted_at"] == 7200
    assert place.synapse("renew", "-t", "t", agent="ana").out.startswith("renewed task t (src) until ")


def test_renew_never_shortens_a_lease_unasked(place: Box) -> None:
    """A day's lease is still a day's after a plain renew; --ttl may shorten it."""
    before = place.synapse("claim", "--json", "-t", "t", "--ttl", "1d", "src", agent="ana").json()
    after = place.synapse("renew", "--json", agent="ana").json()
    assert after["lease_expires_at"] >= before["lease_expires_at"] - 1
    short = place.synapse("renew", "--json", "--ttl", "60", agent="ana").json()
    assert short["lease_expires_at"] < before["lease_expires_at"]


def test_renew_with_an_old_epoch_is_refused(place: Box) -> None:
    """STALE_EPOCH: somebody acted under the same name meanwhile (INV-EF-2)."""
    epoch = place.synapse("claim", "--json", "-t", "t", "src", agent="ana").json()["epoch"]
    place.synapse("renew", "-t", "t", agent="ana")
    for verb in ("renew", "release"):
        ended = place.synapse(verb, "-t", "t", "--epoch", str(epoch), agent="ana")
        assert ended.code == 1
        assert "STALE_EPOCH" in ended.err


def test_release_frees_the_paths(place: Box) -> None:
    """The only claim here needs no name; afterwards another may have the paths."""
    place.synapse("claim", "-t", "t", "src", agent="ana")
    ended = place.synapse("release", agent="ana")
    assert (ended.code, ended.out) == (0, "released src (task t)\n")
    assert place.synapse("claim", "-t", "u", "src", agent="ben").code == 0


def test_release_json_is_the_claim_that_was(place: Box) -> None:
    """The hub's document of the claim given back."""
    place.synapse("claim", "-t", "t", "src", agent="ana")
    assert place.synapse("release", "--json", agent="ana").json()["task_id"] == "t"


def test_release_without_a_name_asks_which_one(place: Box) -> None:
    """With two claims here: exit 2, and both are listed; with none: NOT_HELD."""
    place.synapse("claim", "-t", "one", "src", agent="ana")
    place.synapse("claim", "-t", "two", "docs", agent="ana")
    ended = place.synapse("release", agent="ana")
    assert ended.code == 2
    assert "-t one: src" in ended.err
    assert "-t two: docs" in ended.err
    ended = place.synapse("release", agent="ben")
    assert ended.code == 1
    assert "NOT_HELD: ben holds nothing in this worktree" in ended.err


def test_release_of_what_another_holds_is_refused(place: Box) -> None:
    """NOT_OWNER names the owner; a task that nobody holds is NOT_HELD."""
    place.synapse("claim", "-t", "t", "src", agent="ana")
    ended = place.synapse("release", "-t", "t", agent="ben")
    assert ended.code == 1
    assert "NOT_OWNER" in ended.err
    assert "If ana is gone for good" in ended.err and "release -t t --force --reason WHY" in ended.err
    agents = place.synapse("release", "-t", "t", agent="ben", env={"CLAUDECODE": "1"})
    assert "NOT_OWNER" in agents.err and "--force" not in agents.err
    ended = place.synapse("release", "-t", "none", agent="ben")
    assert ended.code == 1
    assert "NOT_HELD" in ended.err


def test_release_works_from_anywhere_and_when_the_worktree_is_gone(place: Box) -> None:
    """The task's id is enough, from outside any checkout, also after the files were deleted."""
    place.synapse("claim", "-t", "t", "src", agent="ana")
    assert place.synapse("release", "-t", "t", agent="ana", cwd=place.home).code == 0
    place.synapse("claim", "-t", "t", "src", agent="ana")
    shutil.rmtree(place.cwd)
    assert place.synapse("release", "-t", "t", agent="ana", cwd=place.home).code == 0


def test_release_works_in_a_directory_that_is_gone(place: Box) -> None:
    """A shell left behind in a deleted worktree can still give the claim back."""
    place.synapse("claim", "-t", "t", "src", agent="ana")
    script = f"rm -r '{place.cwd}'; synapse-git release -t t --agent ana"
    ended = place.run("sh", "-c", script)
    assert (ended.code, ended.out) == (0, "released src (task t)\n")


def test_the_same_task_in_two_projects_is_asked_about(place: Box) -> None:
    """From outside, a task held in two projects is exit 2; inside one of them it is that one's."""
    other = place.init("other")
    place.synapse("claim", "-t", "t", "src", agent="ana")
    place.synapse("claim", "-t", "t", "docs", agent="ana", cwd=other)
    ended = place.synapse("release", "-t", "t", agent="ana", cwd=place.home)
    assert ended.code == 2
    assert "-C DIR" in ended.err
    assert place.synapse("show", "t", cwd=place.home).code == 2
    assert place.synapse("release", "-t", "t", agent="ana", cwd=other).out == "released docs (task t)\n"
    assert place.synapse("release", "-t", "t", agent="ana", cwd=other).out == "released src (task t)\n"


def test_release_all_gives_back_what_is_held_here(place: Box) -> None:
    """In a worktree its claims and the shared ones; outside of any checkout all; alone only."""
    other = place.init("other")
    place.synapse("claim", "-t", "one", "src", agent="ana")
    place.synapse("claim", "-t", "two", "--shared", "docs", agent="ana")
    place.synapse("claim", "-t", "far", "src", agent="ana", cwd=other)
    assert place.synapse("release", "--all", "-t", "one", agent="ana").code == 2
    found = place.synapse("release", "--all", "--json", agent="ana").json()
    assert sorted(claim["task_id"] for claim in found["released"]) == ["one", "two"]
    assert found["refused"] == []
    assert place.synapse("release", "--all", agent="ana").out == "ana holds nothing here: nothing to release\n"
    assert place.synapse("release", "--all", agent="ana", cwd=place.home).out == "released src (task far)\n"


def test_heartbeat_lists_what_is_held(place: Box) -> None:
    """Every live claim of the agent, wherever; none is no error."""
    assert place.synapse("heartbeat", agent="ana").out == "ana holds nothing\n"
    place.synapse("claim", "-t", "t", "src", agent="ana")
    assert place.synapse("heartbeat", agent="ana").out.startswith("t: src until ")
    assert [claim["task_id"] for claim in place.synapse("heartbeat", "--json", agent="ana").json()["claims"]] == ["t"]


def test_shared_claims_lie_in_no_worktree(place: Box) -> None:
    """--shared claims in the tree of the project, which every worktree of it contends for."""
    claim = place.synapse("claim", "--json", "--shared", "-t", "t", "src", agent="ana").json()
    assert claim["worktree"] == ""
    told = place.synapse("claim", "-t", "mine", "a.py", agent="ben", cwd=place.cwd / "src")
    assert told.code == 0 and "src/a.py is held by ana (task t) until" in told.err
    assert "in the tree that all worktrees share" in told.err and "send --to ana" in told.err
    ended = place.synapse("claim", "--shared", "-t", "u", "src/a.py", agent="ben")
    assert ended.code == 1


def test_linked_worktrees_do_not_contend(place: Box) -> None:
    """The same path in another worktree is another path (INV-ME-3)."""
    place.done("git", "worktree", "add", "-q", "../linked")
    linked = place.cwd.parent / "linked"
    place.synapse("claim", "-t", "one", "src", agent="ana")
    assert place.synapse("claim", "-t", "two", "src", agent="ben", cwd=linked).code == 0


def test_a_killed_hub_costs_nobody_a_claim(place: Box) -> None:
    """kill -9 between two commands: the next one starts a hub that knows what was granted."""
    import os
    import signal

    place.synapse("claim", "-t", "t", "src", agent="ana")
    os.kill(place.hub_pid(), signal.SIGKILL)
    ended = place.synapse("claim", "-t", "u", "src", agent="ben")
    assert ended.code == 1
    assert "SCOPE_CONFLICT" in ended.err


def test_who_i_am_in_order(place: Box) -> None:
    """--agent, then SYNAPSE_AGENT, then a harness's session, then user@host."""

    def owner(*words: str, **env: str) -> str:
        found: str = place.synapse("claim", "--json", "--shared", "src", *words, env=env).json()["owner"]
        place.synapse("release", "--all", "--agent", found)
        return found

    assert owner("--agent", "ana", SYNAPSE_AGENT="ben") == "ana"
    assert owner(SYNAPSE_AGENT="ben", CLAUDE_CODE_SESSION_ID="x") == "ben"
    assert owner(CLAUDE_CODE_SESSION_ID="x").startswith("claude-")
    assert owner().endswith(f"@{socket.gethostname()}")


def test_an_unusable_name_is_exit_2(place: Box) -> None:
    """Blank or unprintable names are refused before anything is asked."""
    for name in (" ", "a\nb"):
        assert place.synapse("claim", "-t", "t", "--agent", name, "src").code == 2


def test_times_are_shown_by_the_wall_clock(place: Box) -> None:
    """The expiry that is printed is an hour from now on this machine's clock."""
    before = time.time()
    shown = place.synapse("claim", "-t", "t", "src", agent="ana").out.splitlines()[0].rpartition("until ")[2]
    fitting = {time.strftime("%H:%M:%S", time.localtime(before + 3600 + skew)) for skew in range(-2, 10)}
    assert shown in fitting or "-" in shown
