"""Installing where core.hooksPath is not set: beside the hooks that are there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from synapse_hooks.setup import beside, shims
from tests.box import Box
from tests.hooking import act, log, picture, run, script

KEPT = "hooks.kept-by-synapse-git/pre-commit"


@pytest.fixture
def bare(box: Box) -> Path:
    """A repository without the guard, in which the box's commands run."""
    box.cwd = box.init()
    return box.cwd


@pytest.fixture
def hooks(bare: Path) -> Path:
    """Its directory of hooks."""
    return bare / ".git/hooks"


def test_the_judging_hooks_are_put_in_place(box: Box, hooks: Path) -> None:
    """Install reports what it wrote, and a second time that there was nothing to do."""
    report = act(box, "install")
    assert report["mode"] == "hooks"
    assert report["hooks_dir"] == str(hooks)
    assert {Path(path).name for path in report["written"]} >= set(shims.OURS)
    assert report["chained"] == []
    before = picture(hooks)
    again = act(box, "install")
    assert (again["changed"], again["written"]) == (False, [])
    assert picture(hooks) == before


def test_from_a_subdirectory_or_a_linked_worktree_it_is_the_same(box: Box, bare: Path, hooks: Path) -> None:
    """Wherever it is run, the hooks go where Git looks for them."""
    box.done("git", "worktree", "add", "-q", "../linked", "-b", "side")
    assert act(box, "install", bare.parent / "linked")["hooks_dir"] == str(hooks)
    assert not act(box, "install", bare / "src")["changed"]


def test_uninstall_restores_every_byte(box: Box, bare: Path, hooks: Path) -> None:
    """Content, modes and links of all that was there are as before."""
    script(hooks / "pre-commit", "exit 0").chmod(0o700)
    (hooks / "prepare-commit-msg").symlink_to("../../tools/hook")
    (hooks / "reference-transaction").symlink_to("nowhere")
    script(hooks / "commit-msg", "exit 0")
    (hooks / "pre-merge-commit").write_text("not executable\n")
    before = picture(bare / ".git")
    report = act(box, "install")
    assert [Path(path).name for path in report["chained"]] == ["pre-commit"]
    act(box, "install")
    assert act(box, "uninstall")["changed"]
    assert picture(bare / ".git") == before
    assert not act(box, "uninstall")["changed"]


def test_a_directory_that_was_made_is_removed(box: Box, bare: Path) -> None:
    """Without hooks before there is no directory of hooks after, nor anything else of ours."""
    box.done("git", "init", "-q", "--template=", "plain")
    box.cwd = bare / "plain"
    before = picture(box.cwd / ".git")
    act(box, "install")
    assert (box.cwd / ".git/hooks").is_dir()
    act(box, "uninstall")
    assert picture(box.cwd / ".git") == before
    assert not (box.cwd / ".git/hooks").exists()


def test_a_directory_that_was_empty_stays(box: Box, bare: Path) -> None:
    """A directory of hooks that we did not make is not removed."""
    box.done("git", "init", "-q", "--template=", "plain")
    box.cwd = bare / "plain"
    (box.cwd / ".git/hooks").mkdir()
    act(box, "install")
    act(box, "uninstall")
    assert (box.cwd / ".git/hooks").is_dir()


def test_another_tool_that_replaced_ours_is_chained(box: Box, hooks: Path) -> None:
    """What stands in our place at the next install runs after ours, and comes back at the end."""
    script(hooks / "pre-commit", "echo first >>$HOME/log")
    act(box, "install")
    script(hooks / "pre-commit", "echo second >>$HOME/log")
    assert act(box, "status")["hooks"]["pre-commit"] == "foreign"
    report = act(box, "status")
    assert report["guarded"] and report["detail"] == "pre-commit is another tool's"
    act(box, "install")
    box.done("git", "commit", "-q", "--allow-empty", "-m", "x")
    assert log(box) == ["second"]
    act(box, "uninstall")
    assert (hooks / "pre-commit").read_text().endswith("second >>$HOME/log\n")
    assert (hooks.parent / KEPT).read_text().endswith("first >>$HOME/log\n")


@pytest.mark.parametrize("suffix", ["legacy", "old"])
def test_a_tool_that_moves_ours_aside_and_runs_it(box: Box, hooks: Path, suffix: str) -> None:
    """All hooks run once, none for ever, and everybody finds their own when ours are gone."""
    script(hooks / "pre-commit", "echo first >>$HOME/log")
    act(box, "install")
    (hooks / "pre-commit").rename(hooks / f"pre-commit.{suffix}")
    script(hooks / "pre-commit", f'echo tool >>$HOME/log\nexec "$(dirname "$0")"/pre-commit.{suffix} "$@"')
    box.done("git", "commit", "-q", "--allow-empty", "-m", "x")
    assert log(box) == ["tool", "first"]
    act(box, "install")
    box.done("git", "commit", "-q", "--allow-empty", "-m", "x")
    assert log(box) == ["tool", "first"]
    act(box, "uninstall")
    assert "tool" in (hooks / "pre-commit").read_text()
    assert "first" in (hooks / f"pre-commit.{suffix}").read_text()
    assert not list(hooks.parent.glob("hooks*/*synapse*")) and not list(hooks.parent.glob("hooks.*"))


def test_ours_that_was_moved_aside_without_another_hook(box: Box, hooks: Path) -> None:
    """It passes at once, and is taken away in the end."""
    act(box, "install")
    (hooks / "pre-commit").rename(hooks / "pre-commit.legacy")
    script(hooks / "pre-commit", 'echo tool >>$HOME/log\nl="${0%/*}"/pre-commit.legacy; [ ! -x $l ] || exec $l')
    for verb in ("", "install", "uninstall"):
        assert not verb or act(box, verb)["changed"]
        box.done("git", "commit", "-q", "--allow-empty", "-m", "x")
        assert log(box) == ["tool"]
    assert not (hooks / "pre-commit.legacy").exists()


def test_a_tool_that_comes_twice_does_not_run_itself(box: Box, hooks: Path) -> None:
    """It takes ours for a stranger's hook and moves it aside, although ours runs the tool's own."""
    tool = script(
        hooks.parent / "tool",
        "# File generated by pre-commit: https://pre-commit.com\n"
        '[ -z "$LEGACY" ] || { echo recursion >>$HOME/log; exit 1; }\n'
        'l="$(git rev-parse --git-dir)"/hooks/pre-commit.legacy\n'
        "[ ! -x $l ] || LEGACY=1 $l || exit\necho tool >>$HOME/log",
    )
    shutil.copy(tool, hooks / "pre-commit")
    before = picture(hooks)
    act(box, "install")
    (hooks / "pre-commit").rename(hooks / "pre-commit.legacy")
    shutil.copy(tool, hooks / "pre-commit")
    for verb in ("", "install", "uninstall"):
        assert not verb or act(box, verb)["changed"]
        box.done("git", "commit", "-q", "--allow-empty", "-m", "x")
        assert log(box) == ["tool"]
    assert picture(hooks) == before


def test_a_hook_that_was_not_executable_does_not_run(box: Box, hooks: Path) -> None:
    """Git would not have run it, so neither do we."""
    script(hooks / "pre-commit", "echo ran >>$HOME/log").chmod(0o644)
    act(box, "install")
    box.done("git", "commit", "-q", "--allow-empty", "-m", "x")
    assert log(box) == []


def test_ours_is_mended(box: Box, hooks: Path) -> None:
    """A hook of ours that lost its mode, its content or itself is put right, and what it runs next is kept."""
    script(hooks / "pre-commit", "echo first >>$HOME/log")
    act(box, "install")
    right = picture(hooks)
    (hooks / "pre-commit").chmod(0o644)
    report = act(box, "status")
    assert report["hooks"]["pre-commit"] == "broken" and "pre-commit is not executable" in report["detail"]
    (hooks / "pre-push").chmod(0o644)
    assert act(box, "status")["detail"].startswith("pre-commit, pre-push are not executable, or")
    act(box, "install")
    assert picture(hooks) == right
    (hooks / "pre-commit").write_bytes((hooks / "pre-commit").read_bytes().replace(b"exit 0", b"exit 1"))
    (hooks / "pre-commit").chmod(0o755)
    assert act(box, "status")["hooks"]["pre-commit"] == "outdated"
    act(box, "install")
    assert picture(hooks) == right
    (hooks / "pre-commit").unlink()
    assert act(box, "status")["hooks"]["pre-commit"] == "missing"
    act(box, "install")
    assert picture(hooks) == right


def test_another_environment_takes_over(box: Box, hooks: Path) -> None:
    """After an upgrade elsewhere the hooks start the interpreter that installed last."""
    act(box, "install")
    for name in shims.OURS:
        path = hooks / name
        path.write_bytes(path.read_bytes().replace(os.fsencode(shims.interpreter()), b"/gone/bin/python3"))
    report = act(box, "status")
    assert (report["guarded"], report["interpreter"], report["interpreter_exists"]) == (
        False,
        "/gone/bin/python3",
        False,
    )
    assert report["detail"] == "its hooks start a program that is gone, /gone/bin/python3"
    elsewhere = script(box.home / "bin/python3", f'exec {shims.interpreter()} "$@"')
    for name in shims.OURS:
        (hooks / name).write_bytes((hooks / name).read_bytes().replace(b"/gone/bin/python3", bytes(elsewhere)))
    report = act(box, "status")
    assert (report["guarded"], report["detail"]) == (True, f"its hooks are those of another installation, {elsewhere}")
    assert len(act(box, "install")["written"]) == len(shims.OURS)
    assert act(box, "status")["guarded"]


@pytest.mark.parametrize("link", [False, True])
def test_an_installation_that_was_cut_short_is_completed(
    box: Box, bare: Path, hooks: Path, link: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between keeping a hook and writing ours, the hook still runs; the next run finishes the work."""
    if link:
        script(bare / "tools/hook", "echo first >>$HOME/log")
        (hooks / "pre-commit").symlink_to("../../tools/hook")
    else:
        script(hooks / "pre-commit", "echo first >>$HOME/log")
    before = picture(hooks)
    beside.Hook(str(hooks), "pre-commit")._keep(str(hooks / "pre-commit"))
    (hooks / "pre-commit.synapse-draft").write_text("half")
    box.done("git", "commit", "-q", "--allow-empty", "-m", "x")
    assert log(box) == ["first"]
    act(box, "install")
    assert [path.name for path in hooks.glob("pre-commit*") if path.suffix != ".sample"] == ["pre-commit"]
    assert os.path.lexists(hooks.parent / KEPT)
    box.done("git", "commit", "-q", "--allow-empty", "-m", "x")
    assert log(box) == ["first"]
    act(box, "uninstall")
    assert picture(hooks) == before


def test_taking_out_what_was_cut_short_leaves_the_hook(box: Box, hooks: Path) -> None:
    """Uninstall after an interrupted install restores the directory."""
    script(hooks / "pre-commit", "exit 0")
    before = picture(hooks)
    beside.Hook(str(hooks), "pre-commit")._keep(str(hooks / "pre-commit"))
    act(box, "uninstall")
    assert picture(hooks) == before


def test_without_hard_links_the_hook_is_renamed(hooks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that knows no second names is served, also when interrupted in between."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    script(hooks / "pre-commit", "exit 7")
    hook = beside.Hook(str(hooks), "pre-commit")
    hook._keep(hook.path)
    assert not (hooks / "pre-commit").exists()
    assert hook.install()
    assert hook.kept() == f"../{KEPT}"
    assert hook.uninstall()
    assert (hooks / "pre-commit").read_text().endswith("exit 7\n")


def test_many_who_install_at_once_agree(box: Box, hooks: Path) -> None:
    """Racing installations leave one guard and one chained hook."""
    script(hooks / "pre-commit", "echo first >>$HOME/log")
    with ThreadPoolExecutor(6) as pool:
        assert all(ended.code == 0 for ended in pool.map(lambda _: run(box, "install"), range(6)))
    box.done("git", "commit", "-q", "--allow-empty", "-m", "x")
    assert log(box) == ["first"]
    assert (hooks.parent / KEPT).read_text().endswith("first >>$HOME/log\n")


def test_a_directory_in_place_of_a_hook_is_refused(box: Box, hooks: Path) -> None:
    """What cannot be chained is named, with what to do."""
    (hooks / "pre-commit").mkdir()
    ended = run(box, "install")
    assert ended.code == 4
    assert "is a directory" in ended.json()["error"]


def test_outside_a_repository_it_says_so(box: Box) -> None:
    """The error and the exit status are those of the command line."""
    ended = run(box, "install")
    assert ended.code == 4
    assert "not in a Git repository" in ended.json()["error"]


@pytest.mark.parametrize("arguments", [[], ["frobnicate"], ["install", "--cwd"], ["install", "--where", "x"]])
def test_a_wrong_command_line_is_reported(box: Box, arguments: list[str]) -> None:
    """Even then the output is one JSON object."""
    ended = box.run(sys.executable, "-I", "-m", "synapse_hooks", *arguments)
    assert ended.code == 2
    assert ended.json()["error"].startswith("usage:")


def test_a_tool_that_links_its_hooks_by_relative_path(box: Box, bare: Path, hooks: Path) -> None:
    """A relative link to a tracked script, and a script that looks beside itself, work on."""
    script(bare / "tools/hook", 'echo "$(cat "$(dirname "$0")/data")" >>$HOME/log')
    (hooks / "data").write_text("beside\n")
    (hooks / "pre-commit").symlink_to("../../tools/hook")
    act(box, "install")
    box.done("git", "commit", "-q", "--allow-empty", "-m", "x")
    assert log(box) == ["beside"]


def test_a_hook_that_dispatches_by_its_own_name(box: Box, bare: Path, hooks: Path) -> None:
    """Its name, the directory ``$0.d``, what lies beside it and the way up are as before, also what comes later."""
    body = (
        'log() { echo "$*" >>$HOME/log; }\nlog "$(basename "$0")"\nfor f in "$0.d"/*; do [ ! -x "$f" ] || . "$f"; done'
    )
    beside = '. "$(dirname "$0")/_/beside"\nlog "$(cat "$(dirname "$0")/../../docs/up")"'
    script(hooks / "dispatch", f"{body}\n{beside}")
    script(hooks / "_/beside", "log beside")
    box.write("docs/up", "up\n")
    for name in ("pre-commit", "prepare-commit-msg", "commit-msg"):
        (hooks / name).symlink_to("dispatch")
    script(hooks / "pre-commit.d/one", "log one")
    before = picture(bare / ".git")
    act(box, "install")
    script(hooks / "prepare-commit-msg.d/two", "log two")
    box.done("git", "commit", "-q", "--allow-empty", "-m", "x")
    rest = ["beside", "up"]
    assert log(box) == ["pre-commit", "one", *rest, "prepare-commit-msg", "two", *rest, "commit-msg", *rest]
    shutil.rmtree(hooks / "prepare-commit-msg.d")
    act(box, "uninstall")
    after = picture(bare / ".git")
    assert {name: after[name] for name in before if name.startswith("hooks")} == {
        name: value for name, value in before.items() if name.startswith("hooks")
    }
    assert not list(hooks.parent.glob("hooks.*"))


def test_hooks_that_an_older_version_kept_under_longer_names(box: Box, bare: Path, hooks: Path) -> None:
    """They run as ever, the next install keeps them under their own, and uninstall restores them either way."""
    script(hooks / "pre-commit", 'echo "$(basename "$0")" >>$HOME/log')
    (hooks / "commit-msg").symlink_to("../../tools/hook")
    before = picture(hooks)
    for renewed in (False, True):
        act(box, "install")
        _as_older(hooks, "pre-commit")
        box.done("git", "commit", "-q", "--allow-empty", "-m", "x")
        assert log(box) == ["pre-commit.kept-by-synapse-git"]
        assert act(box, "status")["guarded"]
        if renewed:
            assert act(box, "install")["changed"]
            box.done("git", "commit", "-q", "--allow-empty", "-m", "x")
            assert log(box) == ["pre-commit"]
            assert not act(box, "install")["changed"]
        act(box, "uninstall")
        assert picture(hooks) == before
        assert not list(hooks.parent.glob("hooks.*"))


def _as_older(hooks: Path, name: str) -> None:
    """Have the hook kept as the form before this one kept it."""
    (hooks.parent / f"hooks.kept-by-synapse-git/{name}").rename(hooks / f"{name}.kept-by-synapse-git")
    shutil.rmtree(hooks.parent / "hooks.kept-by-synapse-git")
    ours = hooks / name
    ours.write_bytes(
        ours.read_bytes().replace(
            b"../hooks.kept-by-synapse-git/" + name.encode(), f"{name}.kept-by-synapse-git".encode()
        )
    )


def test_the_hooks_run_in_a_repository_of_another_hash(box: Box, bare: Path) -> None:
    """A sha256 repository is guarded and served like any other."""
    box.done("git", "init", "-q", "--object-format=sha256", "long")
    box.cwd = bare / "long"
    act(box, "install")
    box.write("a")
    box.done("git", "add", ".")
    box.done("git", "commit", "-qm", "x")
    assert len(box.done("git", "rev-parse", "HEAD").strip()) == 64


def test_installing_starts_no_shell_of_the_users(box: Box, bare: Path) -> None:
    """Inherited variables of Git lead nowhere else."""
    report = act(box, "install", env={"GIT_DIR": "/nowhere", "GIT_WORK_TREE": "/nowhere"})
    assert report["hooks_dir"] == str(bare / ".git/hooks")
    subprocess.run(["sh", "-n", bare / ".git/hooks/pre-commit"], check=True)
