"""Every kind of repository, and configurations that would make Git tell less than the truth."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.box import Box
from tests.hooking import GIT, allowed, claim, refused, script


def _sparse(box: Box, *options: str) -> None:
    box.cwd = box.init()
    box.done("git", "sparse-checkout", "set", *options, "src")


def _split(box: Box) -> None:
    box.cwd = box.init()
    box.done("git", "config", "core.splitIndex", "true")
    box.done("git", "update-index", "--split-index")


def _partial(box: Box) -> None:
    seed = box.init("seed")
    box.done("git", "config", "uploadpack.allowFilter", "true", cwd=seed)
    box.done("git", "clone", "-q", "--filter=blob:none", f"file://{seed}", box.cwd / "partial")
    box.cwd = box.cwd / "partial"


def _sha256(box: Box) -> None:
    box.env["GIT_DEFAULT_HASH"] = "sha256"
    box.cwd = box.init()
    del box.env["GIT_DEFAULT_HASH"]


def _separate(box: Box) -> None:
    seed, place = box.init("seed"), box.cwd / "tree"
    box.done("git", "clone", "-q", "--separate-git-dir", box.cwd / "elsewhere.git", seed, place)
    box.cwd = place


def _worktree_of_bare(box: Box) -> None:
    seed = box.init("seed")
    box.done("git", "clone", "-q", "--bare", seed, "hub.git")
    box.done("git", "worktree", "add", "-q", "../linked", "-b", "side", cwd=box.cwd / "hub.git")
    box.cwd = box.cwd / "linked"


def _worktree_inside(box: Box) -> None:
    root = box.init()
    box.done("git", "worktree", "add", "-q", "inner/linked", "-b", "side", cwd=root)
    box.cwd = root / "inner/linked"


def _shallow(box: Box) -> None:
    seed = box.init("seed")
    box.done("git", "clone", "-q", "--depth=1", f"file://{seed}", box.cwd / "shallow")
    box.cwd = box.cwd / "shallow"


def _named_by_environment(box: Box) -> None:
    root, place = box.init("seed"), box.cwd / "detached"
    box.done("git", "config", "core.worktree", str(place), cwd=root)
    place.mkdir()
    box.done("git", f"--git-dir={root}/.git", "checkout", "-q", "-f", "main", cwd=place)
    (place / ".git").write_text(f"gitdir: {root}/.git\n")
    box.cwd = place


def _for_many_files(box: Box) -> None:
    box.cwd = box.init()
    box.done("git", "config", "feature.manyFiles", "true")
    box.done("git", "config", "index.skipHash", "true")
    box.done("git", "update-index", "--index-version", "4")


def _borrowing(box: Box) -> None:
    seed = box.init("seed")
    box.done("git", "clone", "-q", "--shared", seed, "borrower")
    box.cwd = box.cwd / "borrower"


def _reftable(box: Box) -> None:
    if GIT < (2, 45):
        pytest.skip("this Git keeps references in files only")
    box.env["GIT_DEFAULT_REF_FORMAT"] = "reftable"
    box.cwd = box.init()
    del box.env["GIT_DEFAULT_REF_FORMAT"]
    assert (box.cwd / ".git/reftable").is_dir()
    box.done("git", "worktree", "add", "-q", "../linked", "-b", "side")
    box.cwd = box.cwd.parent / "linked"


def _submodule(box: Box) -> None:
    seed, outer = box.init("seed"), box.init("outer")
    box.done("git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", seed, "lib", cwd=outer)
    box.cwd = outer / "lib"


def _submodule_of_old(box: Box) -> None:
    """As Git once made them, and as `git clone` still does."""
    seed, outer = box.init("seed"), box.init("outer")
    box.done("git", "clone", "-q", seed, "lib", cwd=outer)
    box.done("git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", seed, "lib", cwd=outer)
    box.cwd = outer / "lib"
    assert (box.cwd / ".git").is_dir()


def _submodule_of_worktree(box: Box) -> None:
    _submodule(box)
    outer = box.cwd.parent
    box.done("git", "commit", "-qm", "lib", cwd=outer)
    box.done("git", "worktree", "add", "-q", "../linked", "-b", "side", cwd=outer)
    box.cwd = outer.parent / "linked/lib"
    box.done("git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", cwd=box.cwd.parent)


def _worktree_of_submodule(box: Box) -> None:
    _submodule(box)
    box.done("git", "worktree", "add", "-q", "../../linked", "-b", "side")
    box.cwd = box.cwd.parent.parent / "linked"


def _through_a_link(box: Box) -> None:
    (box.cwd / "way").symlink_to(box.init("real"))
    box.cwd = box.cwd / "way"


def _where_case_does_not_count(box: Box) -> None:
    box.cwd = box.init()
    box.done("git", "config", "core.ignorecase", "true")
    box.done("git", "config", "core.precomposeunicode", "true")


def _odd_name(box: Box) -> None:
    box.cwd = box.init("it's $HOME\n é")


KINDS: dict[str, Callable[[Box], None]] = {
    "sparse": lambda box: _sparse(box, "--cone"),
    "sparse index": lambda box: _sparse(box, "--cone", "--sparse-index"),
    "sparse by pattern": lambda box: _sparse(box, "--no-cone"),
    "split index": _split,
    "partial clone": _partial,
    "shallow clone": _shallow,
    "sha256": _sha256,
    "separate git dir": _separate,
    "worktree of a bare repository": _worktree_of_bare,
    "worktree inside its main one": _worktree_inside,
    "core.worktree": _named_by_environment,
    "for many files": _for_many_files,
    "objects of another": _borrowing,
    "references in tables": _reftable,
    "submodule": _submodule,
    "submodule with a git dir inside": _submodule_of_old,
    "submodule of a linked worktree": _submodule_of_worktree,
    "worktree of a submodule": _worktree_of_submodule,
    "through a link": _through_a_link,
    "where case does not count": _where_case_does_not_count,
    "odd name": _odd_name,
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_kind_of_repository_is_guarded(desk: Box, kind: str) -> None:
    """What is held is refused by hook and by backstop, what is free goes in, and the holder's goes in."""
    KINDS[kind](desk)
    allowed(desk.synapse("install"))
    claim(desk, "bob", "src/b.py", "docs/guide.md")
    for path in ("src/a.py", "src/b.py"):
        desk.write(path)
    for form in (["-qam", "x"], ["-nqam", "x"], ["-qm", "x", "src/b.py"]):
        refused(desk.git("commit", *form, agent="ana"), "src/b.py")
    allowed(desk.git("commit", "-qm", "x", "src/a.py", agent="ana"))
    tree = desk.done("git", "stash", "create").strip()
    made = desk.done("git", "commit-tree", "-p", "HEAD", "-m", "x", f"{tree}^{{tree}}").strip()
    refused(desk.git("update-ref", "HEAD", made, agent="ana"), "src/b.py")
    allowed(desk.git("commit", "-qam", "x", agent="bob"))
    assert desk.done("git", "status", "--porcelain", "--untracked-files=no") == ""


def test_where_the_environment_names_the_repository(box: Box, repo: Path) -> None:
    """GIT_DIR and GIT_WORK_TREE lead hooks to the same checkout."""
    claim(box, "bob", "src/b.py")
    env = {"GIT_DIR": str(repo / ".git"), "GIT_WORK_TREE": str(repo)}
    for path in ("src/a.py", "src/b.py"):
        box.write(path)
    for cwd in (repo / "docs", repo.parent):
        box.done("git", "add", "-u", repo, env=env, cwd=cwd)
        refused(box.git("commit", "-qm", "x", agent="ana", env=env, cwd=cwd), "src/b.py")
    box.done("git", "reset", "-q", "src/b.py")
    allowed(box.git("commit", "-qm", "x", agent="ana", env=env, cwd=repo.parent))


def test_a_moved_repository_and_a_moved_worktree_keep_their_claims(box: Box, repo: Path) -> None:
    """Wherever they are, and whatever they are called."""
    box.done("git", "worktree", "add", "-q", "../linked", "-b", "side")
    claim(box, "bob", "src/b.py")
    claim(box, "bob", "src/a.py", cwd=repo.parent / "linked", task="t2")
    box.done("git", "worktree", "move", "../linked", "../further")
    moved = repo.parent / "else where"
    repo.rename(moved)
    box.cwd = moved
    box.done("git", "worktree", "repair", "../further")
    for root, path in ((moved, "src/b.py"), (repo.parent / "further", "src/a.py")):
        box.write(path, cwd=root)
        refused(box.git("commit", "-qam", "x", agent="ana", cwd=root), path)


@pytest.mark.parametrize("first", ["copy", "moved"])
def test_a_copy_whose_original_moved_away_shares_no_id(box: Box, repo: Path, first: str) -> None:
    """Neither can tell by itself; whoever claims second gets an id of its own, and what was held stays held."""
    claim(box, "bob", "src/b.py")
    shutil.copytree(repo, repo.parent / "copy", symlinks=True)
    repo.rename(repo.parent / "moved")
    second = {"copy": "moved", "moved": "copy"}[first]
    claim(box, "ana", "docs", task="t2", cwd=repo.parent / first)
    told = box.synapse("claim", "-t", "t2", "docs", agent="cid", cwd=repo.parent / second)
    assert "one of its own" in allowed(told).err
    listed = box.synapse("status", "--json", cwd=repo.parent).json()
    assert {Path(item["root"]).name for item in listed["worktrees"]} == {"copy", "moved"}
    assert len({item["worktree"] for item in listed["claims"]}) == 2
    assert len({item["namespace"] for item in listed["claims"]}) == 2
    box.write("src/b.py", cwd=repo.parent / first)
    refused(box.git("commit", "-qam", "x", agent="cid", cwd=repo.parent / first), "src/b.py")


def test_two_repositories_with_one_base_name_are_two(box: Box, repo: Path) -> None:
    """A claim in one says nothing about the other."""
    box.cwd = repo.parent / "deeper"
    box.cwd.mkdir()
    other = box.init(repo.name)
    allowed(box.synapse("install", cwd=other))
    claim(box, "bob", "src/b.py", cwd=repo)
    claim(box, "bob", "src/a.py", cwd=other, task="t2")
    box.write("src/b.py", cwd=other)
    allowed(box.git("commit", "-qam", "x", agent="ana", cwd=other))


HOSTILE = {
    "diff.external": "true",
    "diff.noprefix": "true",
    "diff.renames": "copies",
    "diff.ignoreSubmodules": "all",
    "diff.relative": "true",
    "diff.mnemonicPrefix": "true",
    "diff.submodule": "log",
    "diff.stat": "1",
    "status.relativePaths": "true",
    "status.showUntrackedFiles": "no",
    "status.short": "true",
    "status.branch": "true",
    "core.quotePath": "true",
    "core.pager": "false",
    "core.untrackedCache": "true",
    "core.attributesFile": "/nonexistent",
    "color.ui": "always",
    "log.showSignature": "true",
    "log.showRoot": "false",
    "log.follow": "true",
    "log.diffMerges": "off",
    "log.decorate": "full",
    "format.pretty": "fuller",
    "log.mailmap": "false",
    "core.abbrev": "4",
    "column.ui": "always",
}


@pytest.mark.parametrize("path", ["src/b.py", "src/é\n"], ids=["plain", "odd"])
def test_no_configuration_changes_a_verdict(box: Box, repo: Path, path: str) -> None:
    """Whatever Git is told to show to people, what is held is refused by hook and backstop, and the rest goes in."""
    for key, value in HOSTILE.items():
        box.done("git", "config", key, value)
    box.write(".gitattributes", "* diff=hostile\n*.py -diff\n")
    box.done("git", "config", "diff.hostile.command", "false")
    box.done("git", "config", "diff.hostile.textconv", "false")
    claim(box, "bob", path)
    box.write(path, "mine\n")
    box.write("src/a.py")
    box.done("git", "add", "-A")
    for form in (["-qm", "x"], ["-nqm", "x"]):
        refused(box.git("commit", *form, agent="ana", cwd=repo / "src"))
    tree = box.done("git", "write-tree").strip()
    made = box.done("git", "commit-tree", "-p", "HEAD", "-m", "x", tree).strip()
    refused(box.git("update-ref", "HEAD", made, agent="ana"))
    box.done("git", "reset", "-q", "--", repo / path, cwd=repo / "docs")
    allowed(box.git("commit", "-qm", "x", agent="ana"))


def test_a_file_monitor_is_not_asked(box: Box, repo: Path) -> None:
    """One that hangs or lies is the repository's own business."""
    box.done("git", "config", "core.fsmonitor", str(script(box.home / "monitor", "echo asked >>$HOME/asked\nexit 1")))
    claim(box, "bob", "src/b.py")
    box.write("src/b.py")
    box.done("git", "-c", "core.fsmonitor=false", "add", "src/b.py")
    asked = box.home / "asked"
    asked.unlink(missing_ok=True)
    refused(box.git("commit", "-qm", "x", agent="ana"), "src/b.py")
    by_git = asked.read_text().count("asked") if asked.exists() else 0
    (repo / ".git/hooks/pre-commit").rename(repo / ".git/hooks/aside")
    asked.unlink(missing_ok=True)
    refused(box.git("commit", "-qm", "x", agent="ana"), "src/b.py")
    assert by_git <= (asked.read_text().count("asked") if asked.exists() else 0)


def test_an_order_that_git_cannot_read_refuses_in_words(box: Box, repo: Path) -> None:
    """Where Git itself can no longer tell what changes, nobody guesses."""
    box.done("git", "config", "diff.orderFile", "/nonexistent")
    claim(box, "bob", "src/b.py")
    box.write("src/b.py")
    ended = box.git("commit", "-qm", "x", "src/b.py", agent="ana")
    assert ended.code == 1
    assert "hooks.log" not in ended.err


def test_a_repository_that_belongs_to_somebody_else(box: Box, repo: Path) -> None:
    """Git will not open it, and one line says how it would."""
    if os.geteuid():
        pytest.skip("only root can give a directory away")
    os.chown(repo, 12345, 12345)
    os.chown(repo / ".git", 12345, 12345)
    ended = box.synapse("install")
    assert ended.code == 4
    trusted = f"git config --global --add safe.directory {repo}"
    assert (
        ended.err
        == f"synapse-git: {repo} belongs to another user, so that Git does not open it. If you trust it: {trusted}\n"
    )
    assert "Traceback" not in ended.err
