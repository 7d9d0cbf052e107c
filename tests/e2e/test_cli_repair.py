"""doctor --fix mends what is safe to mend, says so, and leaves everything else alone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.box import Box

_OLD_HUB = "import sys, synapse_git; synapse_git.__version__ = '0.0.1'; " + (
    "from synapse_hub.__main__ import main; sys.exit(main(['run']))"
)


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_nothing_is_mended_where_nothing_is_wrong(repo: Path, box: Box) -> None:
    """A healthy place is left as it is, and nothing is said to be mended."""
    found = box.synapse("doctor", "--fix", "--json").json()
    assert (found["healthy"], found["fixed"]) == (True, [])


@pytest.mark.parametrize("by", ["path", "file", "broken", "outdated"])
def test_a_guard_that_was_lost_is_put_back(repo: Path, box: Box, by: str) -> None:
    """Displaced, overwritten, broken or outdated: afterwards a commit is refused again, and the foreign hook runs."""
    hook = repo / ".git/hooks/pre-commit"
    match by:
        case "path":
            box.write(".githooks/pre-commit", "#!/bin/sh\necho theirs\n").chmod(0o755)
            box.done("git", "config", "core.hooksPath", ".githooks")
        case "file":
            hook.write_text("#!/bin/sh\necho theirs\n")
        case "broken":
            hook.write_text(hook.read_text().replace("\npython='", "\npython='/gone"))
        case "outdated":
            hook.write_text(hook.read_text() + "# of another time\n")
    ended = box.synapse("doctor", "--fix")
    assert ended.code == 0, ended.text
    assert f"fixed the guard in {repo} is put back (" in ended.out
    assert ended.out.endswith("all is well\n")
    if by in ("path", "file"):
        box.write("docs/guide.md")
        assert "theirs" in box.git("commit", "-qam", "change").text


def test_without_fix_it_is_only_said(repo: Path, box: Box) -> None:
    """doctor alone changes nothing, and names the command that does."""
    box.done("git", "config", "core.hooksPath", "/nonexistent")
    ended = box.synapse("doctor")
    assert ended.code == 1
    assert "synapse-git doctor --fix" in ended.out
    assert box.done("git", "config", "core.hooksPath").strip() == "/nonexistent"


def test_a_repository_that_never_had_the_guard_gets_none(box: Box) -> None:
    """Whether to guard is the user's decision."""
    box.cwd = box.init()
    box.done("synapse-git", "claim", "-t", "t", "src", agent="ana")
    ended = box.synapse("doctor", "--fix")
    assert ended.code == 0, ended.text
    assert "fixed" not in ended.out
    assert not (box.cwd / ".git/hooks/pre-commit").exists()


def test_a_guard_that_was_taken_out_stays_out(repo: Path, box: Box) -> None:
    """uninstall was a decision."""
    box.done("synapse-git", "uninstall")
    assert box.synapse("doctor", "--fix", "--json").json()["fixed"] == []


def test_a_worktree_left_without_the_guard_gets_it(repo: Path, box: Box) -> None:
    """One worktree with hooks of its own beside guarded ones."""
    box.done("git", "config", "extensions.worktreeConfig", "true")
    box.done("git", "worktree", "add", "-q", "../linked")
    linked = repo.parent / "linked"
    box.done("git", "config", "--worktree", "core.hooksPath", "/nonexistent", cwd=linked)
    ended = box.synapse("doctor", "--fix")
    assert ended.code == 0, ended.text
    assert f"fixed the guard in {linked} is put back" in ended.out


def test_files_that_are_open_to_others_are_closed(box: Box) -> None:
    """State directory, journal and socket; a link that leads elsewhere is not followed."""
    box.done("synapse-git", "hub", "start")
    found = box.synapse("hub", "status", "--json").json()
    journal, socket = Path(found["journal"]), Path(found["socket"])
    other = box.home / "other"
    other.write_text("")
    other.chmod(0o644)
    (box.state / "link").symlink_to(other)
    box.state.chmod(0o755)
    journal.chmod(0o644)
    socket.chmod(0o666)
    fixed = box.synapse("doctor", "--fix", "--json", cwd=box.home).json()["fixed"]
    assert len(fixed) == 3
    assert all("was open to others and is closed" in line for line in fixed)
    assert (_mode(box.state), _mode(journal), _mode(socket), _mode(other)) == (0o700, 0o600, 0o600, 0o644)


@pytest.mark.parametrize("where", ["/nonexistent/deeper/hub.sock", "/dev/null"])
def test_an_address_that_leads_nowhere_is_forgotten(box: Box, where: str) -> None:
    """A directory that is gone, something that is no socket: the next hub finds a place of its own."""
    box.state.mkdir(parents=True, mode=0o700)
    (box.state / "address").write_text(f"{where}\n")
    (box.state / "address").chmod(0o600)
    ended = box.synapse("doctor", "--fix", cwd=box.home)
    assert ended.code == 0, ended.text
    assert f"fixed the hub's address led to {where}" in ended.out
    assert box.hub_pid()


def test_the_address_of_a_hub_that_was_stopped_is_kept(box: Box) -> None:
    """The next hub listens where the last one did."""
    box.done("synapse-git", "hub", "start")
    before = (box.state / "address").read_bytes()
    box.done("synapse-git", "hub", "stop")
    assert box.synapse("doctor", "--fix", "--json", cwd=box.home).json()["fixed"] == []
    assert (box.state / "address").read_bytes() == before


def test_a_hub_of_an_older_version_makes_way(box: Box) -> None:
    """It is stopped, and this version's proves that it grants."""
    subprocess.run(
        ["sh", "-c", 'exec >/dev/null 2>&1; "$0" -c "$1" &', sys.executable, _OLD_HUB], env=box.env, check=True
    )
    patience = time.monotonic() + 10
    while not (old := box.hub_pid()) and time.monotonic() < patience:
        time.sleep(0.02)
    ended = box.synapse("doctor", "--fix", cwd=box.home)
    assert ended.code == 0, ended.text
    assert "fixed the hub of version 0.0.1 is stopped" in ended.out
    assert box.hub_pid() not in (0, old)


def test_a_guard_that_cannot_be_put_back_is_still_wrong(repo: Path, box: Box) -> None:
    """What --fix could not do is found and explained by the examination; exit 1."""
    (repo / ".git/hooks/pre-commit").unlink()
    box.write("bin/python3", "")
    real = box.done("sh", "-c", "command -v git").strip()
    deny = f'case "$*" in *"worktree list"*) exec "{real}" "$@";; esac'
    box.write("bin/git", f'#!/bin/sh\n{deny}\nexec "{real}" -c core.hooksPath=/elsewhere "$@"\n').chmod(0o755)
    ended = box.synapse("doctor", "--fix", env={"PATH": f"{box.cwd}/bin:{box.env['PATH']}"})
    assert ended.code == 1, ended.text
    assert "Traceback" not in ended.text
    assert os.path.lexists(repo / ".git/hooks")
