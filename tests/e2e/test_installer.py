"""``install.sh`` as a new user meets it, in a home with a space in its name."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.box import PROGRAMS, Box

ROOT = Path(__file__).resolve().parent.parent.parent
# What a machine's owner sets so that packages can be fetched at all.
_REACH = ("PIP_", "UV_", "SSL_", "REQUESTS_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
_NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "dist", "build")


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[Box]:
    """A box in which nothing of ours is on PATH, with a clone to install from as its working directory."""
    with Box(tmp_path / "with space") as made:
        others = [part for part in made.env["PATH"].split(":") if Path(part) != PROGRAMS]
        made.env["PATH"] = ":".join(others)
        made.env["PYTHON"] = sys.executable
        made.env |= {name: value for name, value in os.environ.items() if name.upper().startswith(_REACH)}
        made.cwd = _clone(made.cwd / "clone")
        yield made


def _clone(where: Path) -> Path:
    shutil.copytree(ROOT, where, ignore=_NOT_COPIED, symlinks=True)
    return where


def _links(box: Box) -> list[Path]:
    return [box.home / ".local/bin" / name for name in ("synapse-git", "git-synapse")]


def test_a_life_from_install_to_uninstall(newcomer: Box) -> None:
    """It installs, outlives its clone, upgrades and plays the demo, and takes away all that it made."""
    program, alias = _links(newcomer)
    clone = newcomer.cwd
    first = newcomer.done("./install.sh", timeout_s=300)
    assert "is not on your PATH" in first

    newcomer.cwd = newcomer.home
    shutil.rmtree(clone)
    assert newcomer.done(program, "--version") == newcomer.done(alias, "--version")
    newcomer.done(program, "hub", "start")
    running = newcomer.hub_pid()
    assert running

    newcomer.cwd = _clone(clone)
    again = newcomer.done("./install.sh", "--demo", timeout_s=300)
    assert "upgrading" in again
    assert "SCOPE_CONFLICT" in again
    assert newcomer.hub_pid() != running

    repo = newcomer.init()
    newcomer.done(program, "-C", repo, "install")
    moved = newcomer.init("elsewhere")
    newcomer.done(program, "-C", moved, "install")
    moved = moved.rename(moved.with_name("moved"))
    gone = newcomer.done("./install.sh", "--uninstall")
    assert f"took the guard out of {repo}" in gone
    newcomer.done("git", "commit", "-qm", "free again", "--allow-empty", cwd=repo)
    left = newcomer.git("commit", "-qm", "unchecked", "--allow-empty", cwd=moved)
    assert left.code == 0
    assert left.err.count("it was uninstalled, so nothing is checked here") == 1
    assert newcomer.hub_pid() == 0
    assert not any(link.is_symlink() or link.exists() for link in (program, alias))
    assert not (newcomer.home / ".local/share/synapse-git").exists()
    assert str(newcomer.state) in gone
    assert newcomer.state.exists()
    again = newcomer.done("./install.sh", "--uninstall")
    assert "nothing is installed" in again and "looked up" not in again


def test_a_program_of_that_name_is_left_alone(newcomer: Box) -> None:
    """What the script did not make it neither overwrites nor removes."""
    program, _ = _links(newcomer)
    program.parent.mkdir(parents=True)
    program.write_text("mine\n")
    refused = newcomer.run("./install.sh")
    assert refused.code == 1
    assert f"{program} exists" in refused.err
    newcomer.done("./install.sh", "--uninstall")
    assert program.read_text() == "mine\n"


def test_an_index_out_of_reach_is_explained(newcomer: Box) -> None:
    """A failing download ends in pip's own words, what to do, and no half environment."""
    newcomer.env |= {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "0", "PIP_NO_CACHE_DIR": "1"}
    newcomer.env |= {"UV_DEFAULT_INDEX": "http://127.0.0.1:9/", "UV_NO_CACHE": "1"}
    failed = newcomer.run("./install.sh", timeout_s=120)
    assert failed.code == 1
    assert "package index was not reached" in failed.err
    assert not (newcomer.home / ".local/share/synapse-git/environment").exists()


def test_interrupted_it_leaves_no_half_environment(newcomer: Box) -> None:
    """Ctrl-C while the environment is being made ends with 130 and removes it."""
    environment = newcomer.home / ".local/share/synapse-git/environment"
    running = subprocess.Popen(
        ["./install.sh"],
        cwd=newcomer.cwd,
        env=newcomer.env,
        process_group=0,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with running:
        patience = time.monotonic() + 30
        while not (environment / "bin").exists() and time.monotonic() < patience:
            time.sleep(0.01)
        os.killpg(running.pid, signal.SIGINT)
        running.communicate(timeout=30)
    assert running.returncode == 130
    assert not environment.exists()


@pytest.mark.parametrize(
    ("name", "script", "message"),
    [
        ("git", "echo git version 2.33.8", "Git 2.33 is too old"),
        ("git", "exit 127", "git is not on PATH"),
        ("python3", "exit 1", "no Python 3.11 or newer"),
    ],
)
def test_what_is_missing_is_named(newcomer: Box, name: str, script: str, message: str) -> None:
    """An old or absent Git or Python is said before anything is made."""
    stubs = newcomer.home / "stubs"
    stubs.mkdir()
    for python in ("python", *(f"python3.{minor}" for minor in range(11, 15)), "python3"):
        (stubs / python).write_text("#!/bin/sh\nexit 1\n")
    (stubs / name).write_text(f"#!/bin/sh\n{script}\n")
    for stub in stubs.iterdir():
        stub.chmod(0o755)
    newcomer.env["PATH"] = f"{stubs}:/usr/bin:/bin"
    if name == "python3":
        del newcomer.env["PYTHON"]
    refused = newcomer.run("./install.sh")
    assert refused.code == 1
    assert message in refused.err
    assert not (newcomer.home / ".local").exists()


def test_usage(newcomer: Box) -> None:
    """``--help`` goes to stdout; anything unknown is a usage error that shows it too."""
    told = newcomer.done("./install.sh", "--help")
    wrong = newcomer.run("./install.sh", "--global")
    assert wrong.code == 2
    assert wrong.err == told
