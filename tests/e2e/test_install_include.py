"""Installing where core.hooksPath is set: hooks of the user's own, switched on by an include."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from synapse_hooks.setup import shims
from tests.box import Box
from tests.hooking import act, allowed, claim, log, picture, refused, run, script


@pytest.fixture
def bare(box: Box) -> Path:
    """A repository without the guard, in which the box's commands run."""
    box.cwd = box.init()
    return box.cwd


@pytest.fixture
def generic(box: Box) -> Path:
    """Where the user's own hooks lie."""
    return Path(box.env["XDG_DATA_HOME"]) / "synapse-git/hooks"


def _guard(box: Box, cwd: Path | None = None) -> None:
    """Install as users do, ids included."""
    allowed(box.synapse("install", cwd=cwd))


def _edit(box: Box, text: str, cwd: Path | None = None) -> None:
    box.write("src/b.py", text, cwd=cwd)


def test_every_hook_is_passed_on(box: Box, bare: Path, generic: Path) -> None:
    """A directory with all of Git's hooks is made, and the repository's configuration includes it."""
    box.done("git", "config", "core.hooksPath", ".husky/_")
    before = (bare / ".git/config").read_bytes()
    report = act(box, "install")
    assert (report["mode"], report["hooks_dir"]) == ("include", str(generic))
    assert sorted(path.name for path in generic.iterdir()) == sorted(shims.EVERY)
    assert (bare / ".git/config").read_bytes().startswith(before)
    assert box.done("git", "config", "core.hooksPath").strip() == str(generic)
    assert not act(box, "install")["changed"]
    assert act(box, "status")["guarded"]


@pytest.mark.parametrize("end", ["\n", ""])
def test_uninstall_cuts_what_was_added(box: Box, bare: Path, end: str) -> None:
    """Also from a configuration whose last line has no end."""
    box.done("git", "config", "core.hooksPath", ".githooks")
    config = bare / ".git/config"
    config.write_text(config.read_text().rstrip("\n") + end)
    config.chmod(0o600)
    before = picture(bare / ".git")
    act(box, "install")
    assert picture(bare / ".git") != before
    assert act(box, "uninstall")["changed"]
    assert picture(bare / ".git") == before


def test_a_relative_directory_is_that_of_each_worktree(box: Box, bare: Path) -> None:
    """The project's own hook runs in the worktrees that have it; the guard is in all of them."""
    box.done("git", "branch", "without")
    script(bare / ".githooks/pre-commit", "echo own >>$HOME/log")
    box.done("git", "add", ".")
    box.done("git", "commit", "-qm", "hooks")
    box.done("git", "config", "core.hooksPath", ".githooks")
    _guard(box)
    box.done("git", "worktree", "add", "-q", "../linked", "without")
    linked = bare.parent / "linked"
    claim(box, "bob", "src/b.py", cwd=linked)
    _edit(box, "x", linked)
    refused(box.git("commit", "-qam", "x", agent="ana", cwd=linked), "src/b.py")
    assert log(box) == []
    box.write("src/a.py")
    allowed(box.git("commit", "-qam", "x", agent="ana"))
    assert log(box) == ["own"]


def test_an_inherited_directory_is_displaced_here_only(box: Box, bare: Path) -> None:
    """The user's global hooks run in all repositories; the guard is in this one; no file of the user's is touched."""
    script(box.home / "hooks/pre-commit", "echo global >>$HOME/log")
    box.done("git", "config", "--global", "core.hooksPath", "~/hooks")
    other = box.init("other")
    _guard(box)
    home = picture(box.home / "hooks"), (box.home / ".gitconfig").read_bytes()
    claim(box, "bob", "src/b.py")
    _edit(box, "x")
    refused(box.git("commit", "-qam", "x", agent="ana"), "src/b.py")
    log(box)
    allowed(box.git("commit", "-qam", "x", agent="bob"))
    assert log(box) == ["global"]
    _edit(box, "x", other)
    allowed(box.git("commit", "-qam", "x", agent="ana", cwd=other))
    assert log(box) == ["global"]
    assert (picture(box.home / "hooks"), (box.home / ".gitconfig").read_bytes()) == home


def test_a_global_file_of_another_name_is_seen(box: Box, bare: Path) -> None:
    """GIT_CONFIG_GLOBAL says where the user's configuration is, for the installation as for Git."""
    box.env["GIT_CONFIG_GLOBAL"] = str(box.home / "elsewhere")
    box.done("git", "config", "--global", "core.hooksPath", str(box.home / "hooks"))
    assert act(box, "install")["mode"] == "include"


def test_a_worktree_with_hooks_of_its_own(box: Box, bare: Path, generic: Path) -> None:
    """Its configuration gets the include; the other worktrees are guarded beside their hooks."""
    linked = bare.parent / "linked"
    box.done("git", "worktree", "add", "-q", linked, "-b", "side")
    box.done("git", "config", "extensions.worktreeConfig", "true")
    script(bare.parent / "private/pre-commit", "echo private >>$HOME/log")
    box.done("git", "config", "--worktree", "core.hooksPath", str(bare.parent / "private"), cwd=linked)
    before = picture(bare / ".git")
    _guard(box)
    assert act(box, "status")["mode"] == "hooks"
    assert act(box, "status", linked)["mode"] == "include"
    for cwd in (bare, linked):
        claim(box, "bob", "src/b.py", cwd=cwd, task=cwd.name)
        _edit(box, "x", cwd)
        refused(box.git("commit", "-qam", "x", agent="ana", cwd=cwd), "src/b.py")
        log(box)
        allowed(box.git("commit", "-qam", "x", agent="bob", cwd=cwd))
        assert log(box) == (["private"] if cwd == linked else [])
    act(box, "uninstall")
    after = picture(bare / ".git")
    for name in (*(name for name in before if "hooks" in name), "config", "worktrees/linked/config.worktree"):
        assert after[name] == before[name]


def test_a_new_worktree_takes_the_include_along(box: Box, bare: Path, generic: Path) -> None:
    """Git copies a worktree's configuration into worktrees added from it, and uninstall finds them all."""
    box.done("git", "config", "extensions.worktreeConfig", "true")
    box.done("git", "config", "--worktree", "core.hooksPath", "private")
    act(box, "install")
    box.done("git", "worktree", "add", "-q", "../linked", "-b", "side")
    linked = bare.parent / "linked"
    assert act(box, "status", linked)["mode"] == "include"
    act(box, "uninstall")
    assert act(box, "status")["mode"] == ""
    assert box.done("git", "config", "core.hooksPath", cwd=linked).strip() == "private"


def test_a_repository_that_is_moved_stays_guarded(box: Box, bare: Path) -> None:
    """Nothing in it names the place it was in."""
    box.done("git", "config", "core.hooksPath", ".githooks")
    script(bare / ".githooks/pre-commit", "echo own >>$HOME/log")
    _guard(box)
    claim(box, "bob", "src/b.py")
    moved = bare.rename(bare.parent / "moved")
    _edit(box, "x", moved)
    refused(box.git("commit", "-qam", "x", agent="ana", cwd=moved), "src/b.py")
    log(box)
    allowed(box.git("commit", "-qam", "x", agent="bob", cwd=moved))
    assert log(box) == ["own"]


def test_setting_or_unsetting_the_key_later_leaves_the_guard_on(box: Box, bare: Path) -> None:
    """As when husky is installed again, or removed."""
    box.done("git", "config", "core.hooksPath", ".husky/_")
    _guard(box)
    claim(box, "bob", "src/b.py")
    _edit(box, "x")
    script(bare / ".husky/other/pre-commit", "echo other >>$HOME/log")
    script(bare / ".git/hooks/pre-commit", "echo plain >>$HOME/log")
    box.done("git", "config", "--replace-all", "core.hooksPath", ".husky/other", "husky")
    refused(box.git("commit", "-qam", "x", agent="ana"))
    log(box)
    box.done("git", "commit", "-q", "--allow-empty", "-m", "x", agent="bob")
    assert log(box) == ["other"]
    box.done("git", "config", "--unset-all", "core.hooksPath", "husky")
    refused(box.git("commit", "-qam", "x", agent="ana"))
    log(box)
    box.done("git", "commit", "-q", "--allow-empty", "-m", "x", agent="bob")
    assert log(box) == ["plain"]


def test_installing_again_follows_the_key(box: Box, bare: Path) -> None:
    """From beside to include and back: judged once, each hook run once, and in the end nothing is left."""
    script(bare / ".git/hooks/pre-commit", "echo plain >>$HOME/log")
    script(bare / ".githooks/pre-commit", "echo own >>$HOME/log")
    before = picture(bare / ".git/hooks"), (bare / ".git/config").read_bytes()
    _guard(box)
    box.done("git", "config", "core.hooksPath", ".githooks")
    assert not act(box, "status")["guarded"]
    assert act(box, "install")["mode"] == "include"
    assert (bare / ".git/hooks/pre-commit").read_text().endswith("plain >>$HOME/log\n")
    box.done("git", "commit", "-q", "--allow-empty", "-m", "x")
    assert log(box) == ["own"]
    box.done("git", "config", "--unset", "core.hooksPath", ".githooks")
    box.done("git", "commit", "-q", "--allow-empty", "-m", "x")
    assert log(box) == ["plain"]
    assert act(box, "install")["mode"] == "hooks"
    box.done("git", "commit", "-q", "--allow-empty", "-m", "x")
    assert log(box) == ["plain"]
    act(box, "uninstall")
    assert (picture(bare / ".git/hooks"), (bare / ".git/config").read_bytes()) == before


def test_a_directory_that_is_shared_by_a_link_is_not_written(box: Box, bare: Path) -> None:
    """Hooks that several repositories share through a symlink stay as they are, and run."""
    script(bare.parent / "shared/pre-commit", "echo shared >>$HOME/log")
    shutil.rmtree(bare / ".git/hooks")
    (bare / ".git/hooks").symlink_to("../../shared")
    before = picture(bare.parent / "shared"), picture(bare / ".git")
    _guard(box)
    claim(box, "bob", "src/b.py")
    _edit(box, "x")
    refused(box.git("commit", "-qam", "x", agent="ana"))
    log(box)
    allowed(box.git("commit", "-qam", "x", agent="bob"))
    assert log(box) == ["shared"]
    assert picture(bare.parent / "shared") == before[0]
    act(box, "uninstall")
    assert (bare / ".git/config").read_bytes() == before[1]["config"][1].encode()


def test_a_displaced_hook_gets_arguments_input_and_status(box: Box, bare: Path) -> None:
    """A hook that Git tells something, by argument or on standard input, hears it, and its veto counts."""
    box.done("git", "config", "core.hooksPath", ".githooks")
    script(bare / ".githooks/pre-push", 'echo "$@ $(cat)" >>$HOME/log\n[ ! -e $HOME/veto ]')
    script(bare / ".githooks/commit-msg", 'echo "${0##*/} ${1##*/}" >>$HOME/log; exit 3')
    _guard(box)
    box.done("git", "init", "-q", "--bare", "../there.git")
    box.done("git", "push", "-q", "../there.git", "main")
    head = box.done("git", "rev-parse", "HEAD").strip()
    assert log(box) == [f"../there.git ../there.git refs/heads/main {head} refs/heads/main {'0' * 40}"]
    (box.home / "veto").touch()
    assert box.git("push", "-q", "../there.git", "main:again").code != 0
    assert log(box)
    assert box.git("commit", "-q", "--allow-empty", "-m", "x").code == 1
    assert log(box) == ["commit-msg COMMIT_EDITMSG"]


def test_pushing_into_a_checkout_deploys_as_before(box: Box, bare: Path) -> None:
    """Git updates the files by itself only where there is no hook for it, and ours stands in for that."""
    box.done("git", "config", "core.hooksPath", ".githooks")
    box.done("git", "config", "receive.denyCurrentBranch", "updateInstead")
    _guard(box)
    box.done("git", "clone", "-q", bare, "../clone")
    clone = bare.parent / "clone"
    box.write("src/a.py", "pushed\n", cwd=clone)
    box.done("git", "commit", "-qam", "x", cwd=clone)
    box.done("git", "push", "-q", "origin", "HEAD", cwd=clone)
    assert (bare / "src/a.py").read_text() == "pushed\n"
    assert box.done("git", "status", "--porcelain") == ""
    _edit(box, "dirty")
    box.write("src/a.py", "again\n", cwd=clone)
    box.done("git", "commit", "-qam", "x", cwd=clone)
    assert box.git("push", "-q", "origin", "HEAD", cwd=clone).code != 0


def test_a_key_that_outweighs_the_include_is_followed(box: Box, bare: Path) -> None:
    """A value set behind our lines takes the guard away, which status sees and install mends."""
    box.done("git", "config", "core.hooksPath", ".githooks")
    _guard(box)
    with (bare / ".git/config").open("a") as file:
        file.write("[core]\n\thooksPath = .husky\n")
    report = act(box, "status")
    assert (report["mode"], report["guarded"]) == ("", False)
    assert ".husky" in report["detail"]
    assert act(box, "install")["mode"] == "include"
    assert act(box, "status")["guarded"]
    act(box, "uninstall")
    assert box.done("git", "config", "core.hooksPath").strip() == ".husky"


def test_a_lost_directory_of_hooks_is_noticed(box: Box, bare: Path, generic: Path) -> None:
    """Without the user's directory nothing would be judged, and status says so."""
    box.done("git", "config", "core.hooksPath", ".githooks")
    _guard(box)
    shutil.rmtree(generic)
    assert not act(box, "status")["guarded"]
    act(box, "install")
    assert act(box, "status")["guarded"]
    shutil.rmtree(generic.parent)
    assert act(box, "status")["mode"] == ""
    act(box, "install")
    assert act(box, "status")["guarded"]


def test_a_configuration_that_cannot_be_read_is_reported(box: Box, bare: Path) -> None:
    """Git's own words are passed on."""
    with (bare / ".git/config").open("a") as file:
        file.write("[core\n")
    ended = run(box, "install")
    assert ended.code == 4
    assert "bad config" in ended.json()["error"]


def test_a_directory_with_a_line_break_is_refused(box: Box, bare: Path) -> None:
    """Its hooks would be lost, so nothing is installed, and the text says what to do."""
    box.done("git", "config", "core.hooksPath", "odd\nname")
    before = picture(bare / ".git")
    ended = run(box, "install")
    assert ended.code == 4 and "line break" in ended.json()["error"]
    assert picture(bare / ".git") == before


def test_hooks_that_were_switched_off_are_mentioned(box: Box, bare: Path) -> None:
    """Whoever did that hears that the guard runs all the same, and gets its own back by uninstalling."""
    box.done("git", "config", "core.hooksPath", "/dev/null")
    before = (bare / ".git/config").read_bytes()
    said = box.done("synapse-git", "install")
    assert "hooks were switched off here (core.hooksPath is /dev/null)" in said
    claim(box, "bob", "src/b.py")
    _edit(box, "changed")
    refused(box.git("commit", "-qam", "x", agent="ana"), "src/b.py")
    box.done("synapse-git", "uninstall")
    assert (bare / ".git/config").read_bytes() == before
