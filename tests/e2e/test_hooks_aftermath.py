"""After the fact: claims that go back by themselves, and evidence of what moved under its holder's feet."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from synapse_git import checkout, policy
from synapse_git.errors import CheckoutError
from synapse_hooks import settlement
from tests.box import Box
from tests.hooking import allowed, claim, log, script

SETTLED_S = 15.0


def _held(box: Box, agent: str = "ana") -> dict[str, list[str]]:
    """What ``agent`` holds anywhere: the paths of each task."""
    claims = box.synapse("status", "--json").json()["claims"]
    return {claim["task_id"]: claim["paths"] for claim in claims if claim["owner"] == agent}


def _await(box: Box, expected: dict[str, list[str]], agent: str = "ana") -> None:
    """Nobody waits for what goes on in the background, but a test does."""
    patience = time.monotonic() + SETTLED_S
    while (found := _held(box, agent)) != expected:
        assert time.monotonic() < patience, found
        time.sleep(0.05)


def _denials(box: Box) -> list[dict[str, Any]]:
    """The refused changes that are on record."""
    events = [json.loads(line) for line in box.done("synapse-git", "log", "--json").splitlines()]
    flat = [event for found in events for event in (found.get("events", [found]) if isinstance(found, dict) else found)]
    return [event for event in flat if "guard_denial" in json.dumps(event)]


@pytest.fixture
def releasing(box: Box, repo: Path) -> Path:
    """A guarded repository whose claims go back on a commit."""
    box.done("git", "config", "synapse.guard.releaseOn", "commit")
    return repo


# ---- release_on = commit ----


def test_what_git_does_not_tell_is_not_taken_for_finished(box: Box, repo: Path) -> None:
    """A broken index says nothing of what is changed, so nothing goes back by it."""
    (repo / ".git/index").write_bytes(b"broken")
    with pytest.raises(CheckoutError, match="index"):
        settlement.unfinished(checkout.find(str(repo), box.env), box.env)


def test_what_is_committed_goes_back_and_the_rest_is_kept(box: Box, releasing: Path) -> None:
    """A claim on files narrows to those that were not committed, and goes with the last of them."""
    claim(box, "ana", "src/a.py", "src/b.py", "new.txt")
    box.write("src/a.py")
    allowed(box.git("commit", "-qam", "x", agent="ana"))
    _await(box, {"t1": ["new.txt", "src/b.py"]})
    box.write("src/b.py")
    box.write("new.txt")
    box.done("git", "add", "new.txt")
    box.write("new.txt", "and more\n")
    allowed(box.git("commit", "-qm", "x", "src/b.py", agent="ana"))
    _await(box, {"t1": ["new.txt"]})
    box.done("git", "add", "new.txt")
    allowed(box.git("commit", "-qm", "x", agent="ana"))
    _await(box, {})


def test_a_directory_goes_back_when_nothing_in_it_is_left(box: Box, releasing: Path) -> None:
    """Neither changed nor untracked; what Git ignores does not count."""
    claim(box, "ana", "src")
    box.write(".git/info/exclude", "*.log\n")
    for path in ("src/a.py", "src/b.py", "src/new.py", "src/noise.log"):
        box.write(path)
    allowed(box.git("commit", "-qm", "x", "src/a.py", agent="ana"))
    allowed(box.git("commit", "-qm", "x", "src/b.py", agent="ana"))
    time.sleep(0.5)
    assert _held(box) == {"t1": ["src"]}
    box.done("git", "add", "src/new.py")
    allowed(box.git("commit", "-qm", "x", agent="ana"))
    _await(box, {})


def test_others_and_other_checkouts_keep_theirs(box: Box, releasing: Path) -> None:
    """A commit gives back what its author holds where it was made, and nothing else."""
    box.done("git", "worktree", "add", "-q", "../linked", "-b", "side")
    claim(box, "ana", "src/a.py", cwd=releasing.parent / "linked", task="there")
    claim(box, "ana", "src/a.py", task="here")
    claim(box, "bob", "src/b.py", task="bobs")
    box.write("src/a.py")
    allowed(box.git("commit", "-qam", "x", agent="ana"))
    _await(box, {"there": ["src/a.py"]})
    assert _held(box, "bob") == {"bobs": ["src/b.py"]}


def test_by_default_only_automatic_claims_go_back(box: Box, repo: Path) -> None:
    """What somebody took by name stays until it is given back by name."""
    claim(box, "ana", "src/a.py", task="login")
    claim(box, "ana", "src/b.py", task=policy.AUTOMATIC + "1")
    (repo / ".git/synapse/settle").touch()
    for path in ("src/a.py", "src/b.py"):
        box.write(path)
    allowed(box.git("commit", "-qam", "x", agent="ana"))
    _await(box, {"login": ["src/a.py"]})
    patience = time.monotonic() + SETTLED_S
    while (repo / ".git/synapse/settle").exists():
        assert time.monotonic() < patience
        time.sleep(0.05)


def test_a_claim_on_the_shared_tree_goes_back_too(box: Box, releasing: Path) -> None:
    """It stands for the work in whichever checkout commits it."""
    allowed(box.synapse("claim", "--shared", "-t", "t1", "--", "src/a.py", agent="ana"))
    box.write("src/a.py")
    allowed(box.git("commit", "-qam", "x", agent="ana"))
    _await(box, {})


def test_a_commit_never_waits_and_never_fails_for_it(box: Box, releasing: Path) -> None:
    """With no hub to be asked and the author's pipe closed early, the commit is made as ever."""
    claim(box, "ana", "src/a.py")
    box.write("src/a.py")
    box.done("git", "config", "synapse.guard.hubDown", "warn")
    hook = releasing / ".git/hooks/post-commit"
    slow = script(box.home / "slow", "sleep 3")
    hook.write_text(hook.read_text().replace("python='", f"python='{slow}' # '"))
    before = time.monotonic()
    allowed(box.git("commit", "-qam", "x", agent="ana"))
    assert time.monotonic() - before < 3


def test_a_rebase_gives_back_at_its_end(box: Box, releasing: Path) -> None:
    """Not in between, when the next commit may need the claim."""
    claim(box, "ana", "src/b.py")
    box.done("git", "checkout", "-q", "-b", "side")
    for number in range(2):
        box.write("src/a.py", f"{number}\n")
        box.done("git", "commit", "-qam", f"side {number}")
    box.done("git", "checkout", "-q", "main")
    box.write("docs/guide.md")
    box.done("git", "commit", "-qam", "main")
    box.done("git", "checkout", "-q", "side")
    claim(box, "ana", "src/a.py", task="t2")
    allowed(box.git("rebase", "-q", "main", agent="ana"))
    _await(box, {"t1": ["src/b.py"]})


# ---- release_on = merge ----


def test_what_is_merged_goes_back_in_the_checkout_it_came_from(box: Box, repo: Path) -> None:
    """Committing keeps it; when the branch is part of where the merge was made, it goes."""
    box.done("git", "config", "synapse.guard.releaseOn", "merge")
    linked = repo.parent / "linked"
    box.done("git", "worktree", "add", "-q", linked, "-b", "side")
    claim(box, "ana", "src/a.py", "src/b.py", cwd=linked)
    box.write("src/a.py", cwd=linked)
    allowed(box.git("commit", "-qam", "x", agent="ana", cwd=linked))
    time.sleep(0.5)
    assert _held(box) == {"t1": ["src/a.py", "src/b.py"]}
    allowed(box.git("merge", "-q", "--no-ff", "--no-edit", "side", agent="ana"))
    _await(box, {"t1": ["src/b.py"]})


@pytest.mark.parametrize("merged_in", ["submodule", "worktree"])
def test_what_is_merged_in_a_submodule_goes_back_in_its_checkouts(box: Box, repo: Path, merged_in: str) -> None:
    """In the superproject's tree that it is a part of, and in a worktree of its repository that lies elsewhere."""
    box.done("git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", box.init("../seed"), "lib")
    allowed(box.synapse("install"))
    box.done("git", "config", "synapse.guard.releaseOn", "merge")
    inner, linked = repo / "lib", repo.parent / "linked"
    box.done("git", "config", "synapse.guard.releaseOn", "merge", cwd=inner)
    box.done("git", "worktree", "add", "-q", linked, "-b", "side", cwd=inner)
    into, origin = (inner, linked) if merged_in == "submodule" else (linked, inner)
    claim(box, "ana", "lib/src/a.py", "lib/src/b.py", task="inner")
    claim(box, "ana", "src/a.py", "src/b.py", cwd=linked, task="linked")
    box.write("src/a.py", cwd=origin)
    allowed(box.git("commit", "-qam", "x", agent="ana", cwd=origin))
    source = box.done("git", "rev-parse", "HEAD", cwd=origin).strip()
    allowed(box.git("merge", "-q", "--no-ff", "--no-edit", source, agent="ana", cwd=into))
    _await(box, {"inner": ["lib/src/b.py"], "linked": ["src/b.py"]})


# ---- evidence ----


@pytest.fixture
def moved(box: Box, repo: Path) -> Path:
    """On ``main``; ``side`` is one commit ahead and has changed ``src/b.py``, which bob holds."""
    box.done("git", "checkout", "-q", "-b", "side")
    box.write("src/b.py", "side\n")
    box.done("git", "commit", "-qam", "side")
    box.done("git", "checkout", "-q", "main")
    claim(box, "bob", "src/b.py")
    return repo


@pytest.mark.parametrize(
    "command",
    [
        ["merge", "-q", "--ff-only", "side"],
        ["checkout", "-q", "side"],
        ["switch", "-q", "--detach", "side"],
        ["switch", "-q", "--orphan", "fresh"],
        ["reset", "-q", "--hard", "side"],
        ["rebase", "-q", "side"],
        ["pull", "-q", "--ff-only", ".", "side"],
    ],
    ids=" ".join,
)
def test_what_moves_under_its_holder_is_on_record(box: Box, moved: Path, command: list[str]) -> None:
    """It passes, one line says so, and there is evidence; for the holder there is neither."""
    ended = allowed(box.git(*command, agent="ana"))
    notes = [line for line in ended.err.splitlines() if line.startswith("synapse-git:")]
    assert len(notes) == 1, ended.err
    assert "src/b.py is held by bob" in notes[0]
    (event,) = _denials(box)
    assert '"ref"' in json.dumps(event)
    box.done("git", "checkout", "-q", "-B", "main", "side~1", agent="bob")
    ended = allowed(box.git(*command, agent="bob"))
    assert "synapse-git:" not in ended.err
    assert len(_denials(box)) == 1


@pytest.mark.parametrize(
    "command",
    [
        ["checkout", "-q", "-b", "other"],
        ["checkout", "-q", "--orphan", "fresh"],
        ["checkout", "-q", "--", "src/b.py"],
        ["reset", "-q", "--soft", "side"],
        ["worktree", "add", "-q", "../linked", "side"],
        ["branch", "other", "side"],
        ["stash", "list"],
    ],
    ids=" ".join,
)
def test_what_moves_nothing_leaves_no_evidence(box: Box, moved: Path, command: list[str]) -> None:
    """Only a commit with other content in the held paths moves them."""
    assert "synapse-git:" not in allowed(box.git(*command, agent="ana")).err
    assert _denials(box) == []


def test_evidence_is_never_waited_for(box: Box, moved: Path) -> None:
    """With the hub away the operation goes on in silence."""
    ended = allowed(box.git("checkout", "-q", "side", agent="ana", env={"SYNAPSE_HUB": "/nowhere/hub.sock"}))
    assert ended.err == ""


def test_hooks_of_others_run_after_ours_with_their_lines(box: Box, moved: Path) -> None:
    """Arguments, input and exit status of the hooks that were there are what they were."""
    allowed(box.synapse("uninstall"))
    for name in ("post-commit", "post-merge", "post-checkout", "post-rewrite"):
        script(moved / ".git/hooks" / name, f'echo "{name} $# $(cat | wc -l)" >>$HOME/log')

    def act() -> list[str]:
        box.done("git", "checkout", "-q", "side", agent="ana")
        box.write("src/a.py", "more\n")
        box.done("git", "commit", "-qam", "more", agent="ana")
        box.done("git", "checkout", "-q", "main", agent="ana")
        box.write("docs/guide.md", "main\n")
        box.done("git", "commit", "-qam", "main", agent="ana")
        box.done("git", "rebase", "-q", "side", agent="ana", env={"SYNAPSE_OVERRIDE": "x"})
        box.done("git", "merge", "-q", "side", agent="ana")
        box.done("git", "reset", "-q", "--hard", "side~2", agent="ana")
        box.done("git", "branch", "-q", "-f", "side", "side~1", agent="ana")
        return log(box)

    expected = act()
    assert "post-rewrite 1 1" in expected
    allowed(box.synapse("install"))
    assert act() == expected


# ---- push ----


@pytest.fixture
def remote(box: Box, repo: Path) -> Path:
    """A guarded repository with a bare ``origin``; ana has a commit to ``src/b.py``, which bob has claimed since."""
    box.done("git", "init", "-q", "--bare", "../origin.git")
    box.done("git", "remote", "add", "origin", "../origin.git")
    box.done("git", "push", "-q", "origin", "main")
    box.write("src/b.py", "ana\n")
    box.done("git", "commit", "-qam", "x", agent="ana")
    claim(box, "bob", "src/b.py")
    return repo


def test_a_push_of_what_others_hold_is_mentioned(box: Box, remote: Path) -> None:
    """By default it goes on, with a warning, and leaves evidence."""
    ended = allowed(box.git("push", "-q", "origin", "main", agent="ana"))
    assert "warning: this pushes what others hold" in ended.err
    assert "src/b.py is held by bob" in ended.err
    assert '"push"' in json.dumps(_denials(box))
    box.write("docs/guide.md")
    box.done("git", "commit", "-qam", "x", agent="ana")
    assert "synapse-git" not in allowed(box.git("push", "-q", "origin", "main", agent="ana")).err


def test_a_push_can_be_refused(box: Box, remote: Path) -> None:
    """By policy, with the usual ways out; and switched off altogether."""
    box.done("git", "config", "synapse.guard.prePush", "refuse")
    for target in ("origin", "../origin.git"):
        ended = box.git("push", "-q", target, "main", agent="ana")
        assert ended.code != 0
        assert "SCOPE_CONFLICT" in ended.err
        assert 'SYNAPSE_OVERRIDE="why" git push' in ended.err
    allowed(box.git("push", "-q", "origin", "main:refs/heads/copy", agent="ana", env={"SYNAPSE_OVERRIDE": "urgent"}))
    allowed(box.git("push", "-q", "origin", "--delete", "copy", agent="ana"))
    box.done("git", "config", "synapse.guard.prePush", "off")
    assert "synapse-git" not in allowed(box.git("push", "-q", "origin", "main", agent="ana")).err


def test_with_the_hub_away_a_push_goes_by_its_policy(box: Box, remote: Path) -> None:
    """Where a conflict would be a warning, so is this."""
    away = {"SYNAPSE_HUB": "/nowhere/hub.sock"}
    box.done("git", "config", "synapse.guard.prePush", "refuse")
    assert "HUB_UNREACHABLE" in box.git("push", "-q", "origin", "main", agent="ana", env=away).err
    box.done("git", "config", "synapse.guard.prePush", "warn")
    assert "nobody can tell" in allowed(box.git("push", "-q", "origin", "main", agent="ana", env=away)).err


def test_a_chained_push_hook_reads_the_same_lines(box: Box, remote: Path) -> None:
    """Whether the guard looks at them or not."""
    allowed(box.synapse("uninstall"))
    script(remote / ".git/hooks/pre-push", 'echo "$1 $2 $(cut -d" " -f1,3)" >>$HOME/log')
    allowed(box.synapse("install"))
    for value in ("warn", "off"):
        box.done("git", "config", "synapse.guard.prePush", value)
        allowed(box.git("push", "-q", "origin", f"main:{value}", agent="ana"))
        assert log(box) == [f"origin ../origin.git refs/heads/main refs/heads/{value}"]
