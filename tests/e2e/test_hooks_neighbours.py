"""Beside the tools that projects really use for hooks, installed from their registries, before and after the guard."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.box import Box
from tests.hooking import act, allowed, claim, log, picture, refused, script

ROOT = Path(__file__).resolve().parent.parent.parent
FETCH_S = 90
# Where the fetched tools lie, once for all workers of a test run.
Fetch = Callable[[str], Path]


def _npm(package: str) -> Callable[[Path], list[list[str]]]:
    # A script that runs on installation may install hooks, into whichever repository npm was called from.
    options = [
        "--ignore-scripts",
        "--fetch-retries=0",
        "--fetch-timeout=15000",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ]
    return lambda place: [["npm", "install", *options, "--prefix", str(place), package]]


def _pip(package: str) -> Callable[[Path], list[list[str]]]:
    def commands(place: Path) -> list[list[str]]:
        venv, python = [sys.executable, "-m", "venv", "--without-pip", str(place)], str(place / "bin/python")
        install = ["install", "--quiet", "--disable-pip-version-check", package]
        return [venv, [sys.executable, "-m", "pip", "--python", python, *install]]

    return commands


TOOLS = {"husky": _npm("husky@9"), "lefthook": _npm("lefthook@2"), "pre-commit": _pip("pre-commit>=4,<5")}


@pytest.fixture(scope="session")
def fetch(tmp_path_factory: pytest.TempPathFactory) -> Fetch:
    """Gives the directory of a tool, fetched by whoever needs it first; skips where that is impossible."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "neighbours"
    shared.mkdir(exist_ok=True)

    def get(tool: str) -> Path:
        place, failed = shared / tool, shared / f"{tool}.failed"
        with open(shared / f"{tool}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not place.exists() and not failed.exists() and (why := _install(tool, place)):
                failed.write_text(why)
                shutil.rmtree(place, ignore_errors=True)
        if failed.exists():
            pytest.skip(f"{tool} cannot be fetched from its registry: {failed.read_text()}")
        return place

    return get


def _install(tool: str, place: Path) -> str:
    """Why it cannot be, '' if it could. Runs outside of any repository, and keeps nothing in the user's home."""
    cache = str(place.parent / "cache")
    env = os.environ | {"npm_config_cache": cache, "PIP_CACHE_DIR": cache}
    try:
        for command in TOOLS[tool](place):
            subprocess.run(
                command, check=True, capture_output=True, text=True, timeout=FETCH_S, cwd=place.parent, env=env
            )
    except FileNotFoundError as error:
        return f"{error.filename} is not installed here"
    except subprocess.TimeoutExpired:
        return f"no answer within {FETCH_S} s"
    except subprocess.CalledProcessError as error:
        return str((error.stderr.strip().splitlines() or ["no reason given"])[-1])
    return ""


@pytest.fixture
def bare(box: Box) -> Path:
    """A repository without the guard, in which the box's commands run."""
    box.cwd = box.init()
    return box.cwd


def _judged_and_run(box: Box, times: int = 1) -> None:
    """The guard refuses what is held, and their hook runs once for what is not."""
    number = len(box.done("git", "log", "--format=%h").splitlines())
    box.write("src/a.py", f"{number}\n")
    log(box)
    allowed(box.git("commit", "-qm", "free", "src/a.py", agent="ana"))
    assert log(box) == ["theirs"] * times
    box.write("src/b.py", f"{number}\n")
    for form in (["-qm", "x", "src/b.py"], ["-nqm", "x", "src/b.py"]):
        refused(box.git("commit", *form, agent="ana"), "src/b.py")
    box.done("git", "checkout", "-q", "--", "src/b.py")


def _speaks_up_later(box: Box) -> None:
    """The guard is on, `claim` has nothing to add, and `install` would put it in front again."""
    report = act(box, "status")
    assert (report["guarded"], report["detail"]) == (True, "pre-commit is another tool's")
    assert allowed(box.synapse("claim", "-t", "t9", "unrelated", "--ttl", "30", agent="cid")).err.count("install") == 0
    allowed(box.synapse("release", "-t", "t9", agent="cid"))


# ---- husky ----


def _husky(box: Box, fetch: Fetch) -> None:
    """Installed as its documentation says, with one hook."""
    place = fetch("husky")
    script(box.cwd / ".husky/pre-commit", "echo theirs >>$HOME/log")
    box.done("node", place / "node_modules/husky/bin.js")


def test_husky_before_us(box: Box, bare: Path, fetch: Fetch) -> None:
    """Both run; husky may be installed again, and uninstalling ours leaves husky as it was."""
    _husky(box, fetch)
    before = (bare / ".git/config").read_bytes()
    act(box, "install")
    claim(box, "bob", "src/b.py")
    _judged_and_run(box)
    _husky(box, fetch)
    _judged_and_run(box)
    act(box, "uninstall")
    assert (bare / ".git/config").read_bytes() == before
    box.write("src/b.py")
    log(box)
    allowed(box.git("commit", "-qam", "x", agent="ana"))
    assert log(box) == ["theirs"]


def test_husky_after_us(box: Box, bare: Path, fetch: Fetch) -> None:
    """It switches the guard off, which is seen; installing again switches it on for good."""
    act(box, "install")
    _husky(box, fetch)
    claim(box, "bob", "src/b.py")
    status = act(box, "status")
    assert not status["guarded"]
    assert ".husky/_" in status["detail"]
    told = allowed(box.synapse("claim", "-t", "t9", "docs", agent="bob")).err
    assert "past the guard. Put it back: synapse-git install" in told
    act(box, "install")
    _judged_and_run(box)
    _husky(box, fetch)
    assert not act(box, "install")["changed"]
    _judged_and_run(box)


@pytest.mark.parametrize("trace", [".husky/pre-commit", "package.json"])
def test_husky_that_is_set_up_after_us(box: Box, bare: Path, fetch: Fetch, trace: str) -> None:
    """A project that carries it, cloned and guarded before its packages are installed: the guard stays on."""
    script(bare / trace, '{"devDependencies": {"husky": "^9"}}')
    script(bare / ".git/hooks/post-commit", "echo local >>$HOME/log")
    before = picture(bare / ".git")
    act(box, "install")
    assert act(box, "status")["guarded"]
    box.done("git", "commit", "-q", "--allow-empty", "-m", "x")
    assert log(box)[-1] == "local"
    _husky(box, fetch)
    claim(box, "bob", "src/b.py")
    _judged_and_run(box)
    assert act(box, "status")["guarded"] and not act(box, "install")["changed"]
    box.done("git", "config", "--unset", "core.hooksPath", ".husky/_")
    act(box, "uninstall")
    assert {path: value for path, value in picture(bare / ".git").items() if "hooks" in path or path == "config"} == {
        path: value for path, value in before.items() if "hooks" in path or path == "config"
    }


def test_husky_that_joins_a_guarded_project_is_foreseen(box: Box, bare: Path) -> None:
    """The guard is on, and says that it should be renewed before husky is run."""
    act(box, "install")
    (bare / ".husky").mkdir()
    status = act(box, "status")
    assert status["guarded"] and "husky" in status["detail"]
    assert act(box, "install")["mode"] == "include"
    assert act(box, "status")["detail"] == ""


# ---- lefthook ----


def _lefthook(box: Box, fetch: Fetch, verb: str = "install") -> None:
    program = fetch("lefthook") / "node_modules/.bin/lefthook"
    (box.cwd / "lefthook.yml").write_text("pre-commit:\n  commands:\n    theirs:\n      run: echo theirs >>$HOME/log\n")
    box.env["PATH"] = f"{program.parent}:{box.env['PATH']}"
    box.done(program, verb)


def test_lefthook_before_us(box: Box, bare: Path, fetch: Fetch) -> None:
    """Both run; uninstalling ours puts its hooks back byte for byte."""
    _lefthook(box, fetch)
    before = picture(bare / ".git/hooks")
    act(box, "install")
    claim(box, "bob", "src/b.py")
    _judged_and_run(box)
    act(box, "uninstall")
    assert picture(bare / ".git/hooks") == before


def test_lefthook_after_us(box: Box, bare: Path, fetch: Fetch) -> None:
    """It replaces one of our hooks; the next one judges, and installing again puts both in order."""
    act(box, "install")
    _lefthook(box, fetch)
    _speaks_up_later(box)
    claim(box, "bob", "src/b.py")
    _judged_and_run(box)
    act(box, "install")
    assert act(box, "status")["detail"] == ""
    _judged_and_run(box)
    _lefthook(box, fetch)
    _judged_and_run(box)
    assert act(box, "install")
    _judged_and_run(box)


# ---- pre-commit ----

CONFIG = """
repos:
  - repo: local
    hooks:
      - {id: theirs, name: theirs, language: system, entry: sh -c 'echo theirs >>$HOME/log', pass_filenames: false}
"""


def _pre_commit(box: Box, fetch: Fetch, config: str = CONFIG) -> Path:
    program = fetch("pre-commit") / "bin/pre-commit"
    (box.cwd / ".pre-commit-config.yaml").write_text(config)
    box.done("git", "add", ".pre-commit-config.yaml")
    box.done(program, "install")
    return program


def test_pre_commit_before_us(box: Box, bare: Path, fetch: Fetch) -> None:
    """Both run; uninstalling ours puts its hook back byte for byte."""
    _pre_commit(box, fetch)
    box.done("git", "commit", "-qm", "config")
    before = picture(bare / ".git/hooks")
    act(box, "install")
    claim(box, "bob", "src/b.py")
    _judged_and_run(box)
    act(box, "uninstall")
    assert picture(bare / ".git/hooks") == before


def test_pre_commit_after_us(box: Box, bare: Path, fetch: Fetch) -> None:
    """It keeps ours as its legacy hook; ours is there still when it goes, and may come back in front of it."""
    act(box, "install")
    program = _pre_commit(box, fetch)
    box.done("git", "commit", "-qm", "config")
    _speaks_up_later(box)
    claim(box, "bob", "src/b.py")
    _judged_and_run(box)
    box.done(program, "uninstall")
    _judged_and_run(box, times=0)
    box.done(program, "install")
    act(box, "install")
    _judged_and_run(box)


def test_the_hook_that_pre_commit_can_run_judges(box: Box, bare: Path, fetch: Fetch) -> None:
    """What is published for its configuration asks before the commit, through the installed command."""
    manifest = (ROOT / ".pre-commit-hooks.yaml").read_text()
    # An environment of its own would be made from a release; here the one of this test stands for it.
    manifest = manifest.replace("language: python", "language: system")
    local = "repos:\n  - repo: local\n    hooks:\n" + "".join(f"      {line}\n" for line in manifest.splitlines())
    program = _pre_commit(box, fetch, local)
    box.done("git", "commit", "-qm", "config")
    claim(box, "bob", "src/b.py")
    box.write("src/b.py")
    refused(box.git("commit", "-qam", "x", agent="ana"), "src/b.py")
    box.done("git", "checkout", "-q", "-b", "side")
    allowed(box.git("commit", "-qam", "x", agent="bob"))
    box.done("git", "checkout", "-q", "main")
    box.write("docs/guide.md")
    allowed(box.git("commit", "-qam", "x", agent="ana"))
    box.done(program, "install", "-t", "pre-merge-commit")
    refused(box.git("merge", "-q", "--no-edit", "side", agent="ana"), "src/b.py")
    box.done("git", "merge", "--abort")
    allowed(box.git("merge", "-q", "--no-edit", "side", agent="bob"))
