"""doctor proves that a commit is refused, and says what is wrong when it is not; demo plays the main job."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.box import PROGRAMS, Box
from tests.hooking import allowed


def _objects(repo: Path) -> set[Path]:
    return {path for path in (repo / ".git/objects").rglob("*") if path.is_file()}


def _clean(repo: Path, box: Box) -> None:
    """Nothing is left of the proof."""
    assert not (repo / ".git/worktrees").exists()
    assert box.synapse("status", "--json").json()["claims"] == []
    assert len(box.synapse("status", "--json").json()["worktrees"]) <= 1
    assert list(Path(box.env.get("TMPDIR", "/tmp")).glob("synapse-doctor-*")) == []


@pytest.fixture(autouse=True)
def own_temporary_directory(box: Box) -> None:
    """What is left behind is seen, and is nobody else's."""
    scratch = box.home / "tmp"
    scratch.mkdir()
    box.env["TMPDIR"] = str(scratch)


def test_all_is_well_in_a_guarded_repository(repo: Path, box: Box) -> None:
    """Exit 0 after a real commit was refused in a scratch worktree, of which nothing is left."""
    before = _objects(repo)
    ended = box.synapse("doctor")
    assert ended.code == 0, ended.text
    assert f"was refused (tried in a scratch worktree of {repo})" in ended.out
    assert f"the guard is in {repo}" in ended.out
    assert ended.out.endswith("all is well\n")
    assert _objects(repo) == before
    _clean(repo, box)


def test_without_a_repository_a_scratch_one_is_used(box: Box) -> None:
    """Anywhere on the machine it can be proved, and the user's repositories are not touched."""
    ended = box.synapse("doctor", cwd=box.home)
    assert ended.code == 0, ended.text
    assert "tried in a scratch repository" in ended.out


def test_a_repository_without_the_guard_is_named(box: Box) -> None:
    """No fault of the machine's: exit 0, a remark, and what to type."""
    box.cwd = box.init()
    ended = box.synapse("doctor")
    assert ended.code == 0, ended.text
    assert f"no guard in {box.cwd}: not installed" in ended.out
    assert "install" in ended.out


def test_a_repository_without_a_commit_is_no_trouble(box: Box) -> None:
    """Where no worktree can be added yet the proof is given in a scratch repository."""
    box.done("git", "init", "-q", "fresh")
    box.cwd = box.cwd / "fresh"
    box.done("synapse-git", "install")
    ended = box.synapse("doctor")
    assert ended.code == 0, ended.text
    assert "tried in a scratch repository" in ended.out


def test_json_lists_every_finding(repo: Path, box: Box) -> None:
    """One document: healthy or not, and ok, what, fix of each."""
    found = box.synapse("doctor", "--json").json()
    assert found["healthy"] is True
    assert all(set(finding) == {"ok", "what", "fix"} for finding in found["findings"])
    assert any("refused" in finding["what"] for finding in found["findings"])


def test_a_guard_that_does_not_run_is_found_out(repo: Path, box: Box) -> None:
    """Hooks that look right but let everything pass: only the real commit tells. Exit 1, and what to type."""
    real = box.done("sh", "-c", "command -v git").strip()
    bypass = f'case "$*" in *"commit -q"*) exec "{real}" -c core.hooksPath=/dev/null "$@";; esac'
    box.write("bin/git", f'#!/bin/sh\n{bypass}\nexec "{real}" "$@"\n').chmod(0o755)
    ended = box.synapse("doctor", env={"PATH": f"{box.cwd}/bin:{box.env['PATH']}"})
    assert ended.code == 1, ended.text
    assert f"ok    the guard is in {repo}" in ended.out and "--fix" not in ended.out
    assert "WRONG a commit of a path that another agent holds went through: the guard does not run" in ended.out
    _clean(repo, box)


def test_a_displaced_guard_is_named(repo: Path, box: Box) -> None:
    """A tool took core.hooksPath since: seen from elsewhere the repository is named, exit 1."""
    box.done("git", "config", "core.hooksPath", "/nonexistent")
    ended = box.synapse("doctor", cwd=box.home)
    assert ended.code == 1, ended.text
    assert f"the guard of {repo} does not run" in ended.out
    assert f"synapse-git -C {repo} install" in ended.out


def test_a_worktree_left_without_the_guard_is_named(repo: Path, box: Box) -> None:
    """One worktree with hooks of its own beside guarded ones is wrong, and is named."""
    box.done("git", "config", "extensions.worktreeConfig", "true")
    box.done("git", "worktree", "add", "-q", "../linked")
    linked = repo.parent / "linked"
    box.done("git", "config", "--worktree", "core.hooksPath", "/nonexistent", cwd=linked)
    ended = box.synapse("doctor")
    assert ended.code == 1, ended.text
    assert f"no guard in {linked}" in ended.out


def test_open_files_are_named_with_the_command_that_closes_them(repo: Path, box: Box) -> None:
    """A journal that others can read is wrong."""
    journal = Path(box.synapse("hub", "status", "--json").json()["journal"])
    journal.chmod(0o644)
    ended = box.synapse("doctor")
    assert ended.code == 1
    assert f"chmod 600 {journal}" in ended.out
    assert ended.out.endswith("1 to mend: synapse-git doctor --fix\n")


def test_the_proof_stays_out_of_the_log(repo: Path, box: Box) -> None:
    """What doctor plays to itself is no news to people; programs are given everything."""
    allowed(box.synapse("doctor"))
    assert "doctor" not in box.synapse("log").out
    assert "synapse-git-doctor-" in box.synapse("log", "--json").out


def test_a_hub_inside_a_sandbox_is_named(box: Box) -> None:
    """One that sees other mounts is told apart from one that lives where the command does."""
    assert "the hub sees other" not in box.synapse("doctor").out
    box.stop_hub()
    apart = ["unshare", "--user", "--map-root-user", "--mount"]
    if not shutil.which("unshare") or box.run(*apart, "true").code:
        pytest.skip("no namespaces here")
    allowed(box.run(*apart, PROGRAMS / "synapse-git", "hub", "start"))
    told = allowed(box.synapse("doctor")).out
    assert "the hub sees other mounts and users" in told


def test_a_hub_that_hangs_is_to_be_stopped(repo: Path, box: Box) -> None:
    """It holds the socket, so that no other can start: the command that ends it is named, and ends it."""
    pid = box.hub_pid()
    os.kill(pid, signal.SIGSTOP)
    told = box.synapse("doctor")
    assert told.code == 1
    assert f"synapse-git hub stop    It ends one that hangs (pid {pid})" in told.out
    allowed(box.synapse("hub", "stop"))
    assert box.synapse("doctor").code == 0


def test_no_hub_is_the_first_thing_to_mend(box: Box) -> None:
    """Where no hub can start the rest is not tried."""
    box.state.parent.mkdir(parents=True)
    box.state.write_text("in the way")
    ended = box.synapse("doctor")
    assert ended.code == 1
    assert "no hub that grants" in ended.out
    assert ended.out.endswith("1 to mend\n"), "--fix cannot move what is in the way"


def test_an_inherited_override_does_not_spoil_the_proof(repo: Path, box: Box) -> None:
    """SYNAPSE_OVERRIDE of the caller would let the commit through."""
    assert box.synapse("doctor", env={"SYNAPSE_OVERRIDE": "always"}).code == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_leaves_nothing_behind(repo: Path, box: Box, number: signal.Signals) -> None:
    """Ctrl-C in the middle of the proof: worktree and claim are gone all the same."""
    slow = box.write("slow/git", "")
    real = box.done("sh", "-c", "command -v git").strip()
    slow.write_text(f'#!/bin/sh\ncase "$*" in *"commit -q"*) sleep 5;; esac\nexec "{real}" "$@"\n')
    slow.chmod(0o755)
    env = box.env | {"PATH": f"{slow.parent}:{box.env['PATH']}"}
    argv = [str(PROGRAMS / "synapse-git"), "doctor"]
    with subprocess.Popen(argv, env=env, cwd=repo, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as doctor:
        patience = time.monotonic() + 20
        while not box.synapse("status", "--json").json()["claims"] and time.monotonic() < patience:
            time.sleep(0.05)
        time.sleep(0.2)
        os.kill(doctor.pid, number)
        _, complaints = doctor.communicate(timeout=30)
        assert doctor.returncode == 128 + number
        assert b"Traceback" not in complaints
    _clean(repo, box)


def test_the_demo_shows_a_refusal_and_cleans_up(box: Box) -> None:
    """Every command and its outcome; the user's own state is not touched, nothing is left running."""
    ended = box.synapse("demo")
    assert ended.code == 0, ended.text
    for part in (
        "ana $ synapse-git install",
        "ana $ synapse-git claim -t login",
        "ben $ git commit -q -a -m 'tidy up'",
        "refused: SCOPE_CONFLICT",
        "ana $ synapse-git release -t login",
    ):
        assert part in ended.out
    assert ended.out.index("refused: SCOPE_CONFLICT") < ended.out.index("ana $ synapse-git release")
    assert not box.state.exists()
    assert list((box.home / "tmp").iterdir()) == []


def test_the_demo_fails_when_the_refusal_does_not_come(box: Box) -> None:
    """An installation whose guard does not run: exit 1, and the scene that went wrong is the last one."""
    real = box.done("sh", "-c", "command -v git").strip()
    box.write("bin/git", f'#!/bin/sh\nexec "{real}" -c core.hooksPath=/dev/null "$@"\n').chmod(0o755)
    programs = box.cwd / "bin"
    (programs / "python").symlink_to(PROGRAMS / "python")
    (programs / "synapse-git").symlink_to(PROGRAMS / "synapse-git")
    program = (
        "import os, sys\n"
        "from synapse_git.cli import edge\n"
        "sys.executable = sys.argv[1]\n"
        "sys.exit(edge.run(['synapse-git', 'demo', '--json'], os.environ))\n"
    )
    ended = box.run(PROGRAMS / "python", "-c", program, programs / "python")
    found = ended.json()
    assert (ended.code, found["passed"]) == (1, False), ended.text
    assert found["scenes"][-1]["as_expected"] is False
    assert list((box.home / "tmp").iterdir()) == []
