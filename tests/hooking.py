"""What tests of the Git hooks share: installing as the command line does, scripts as hooks, files as they were."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from synapse_hooks.setup import configured, shims
from tests.box import Box, Result

GIT = tuple(map(int, subprocess.check_output(["git", "version"], text=True).split()[2].split(".")[:2]))
"""The version of Git that the tests run with."""

SAYS_LESS = (2, 46) <= GIT < (2, 55)
"""Does Git leave the old value of ``HEAD`` out, so that one which stays where it is has to be looked at?"""


def act(box: Box, verb: str, cwd: Path | None = None, **given: Any) -> dict[str, Any]:
    """``install``, ``uninstall`` or ``status``, which must succeed; what it reports."""
    ended = run(box, verb, cwd, **given)
    assert ended.code == 0, ended.text
    report: dict[str, Any] = ended.json()
    return report


def run(box: Box, verb: str, cwd: Path | None = None, **given: Any) -> Result:
    """The same without looking at how it ends."""
    return box.run(sys.executable, "-I", "-m", "synapse_hooks", verb, "--cwd", cwd or box.cwd, **given)


def script(path: Path, body: str) -> Path:
    """An executable ``sh`` script at ``path``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def picture(directory: Path) -> dict[str, tuple[str, str]]:
    """Every entry below ``directory``: its mode, and its content or where it leads."""
    found = {}
    for path in sorted(directory.rglob("*")):
        mode = f"{stat.S_IMODE(path.lstat().st_mode):o}"
        if path.is_symlink():
            found[str(path.relative_to(directory))] = (mode, "-> " + os.readlink(path))
        elif path.is_file():
            found[str(path.relative_to(directory))] = (mode, path.read_bytes().decode("latin-1"))
    return found


def claim(box: Box, agent: str, *paths: str, cwd: Path | None = None, task: str = "t1") -> None:
    """``agent`` claims ``paths``."""
    ended = box.synapse("claim", "-t", task, "--", *paths, agent=agent, cwd=cwd)
    assert ended.code == 0, ended.text


def refused(ended: Result, *paths: str) -> Result:
    """``ended`` must be a refusal that names each of ``paths``."""
    assert ended.code != 0, "it was let through"
    assert "SCOPE_CONFLICT" in ended.err, ended.text
    for path in paths:
        assert path in ended.err, ended.text
    return ended


def allowed(ended: Result) -> Result:
    """``ended`` must have gone through."""
    assert ended.code == 0, ended.text
    return ended


def count_starts(directory: Path, box: Box, names: tuple[str, ...] = shims.JUDGING) -> None:
    """Have the hooks in ``directory``, and those that Git finds in its configuration, note in the log (`log`) which
    Python they start.
    """
    # What runs beside Git costs nobody time.
    note = '[ "$4" = wrote ] || echo "$4" >>$HOME/log'
    counter = script(box.home / "counter", f'{note}\nexec {shims.interpreter()} "$@"')
    for place in (directory, Path(configured.directory(box.env))):
        for hook in (place / name for name in names if (place / name).exists()):
            hook.write_bytes(hook.read_bytes().replace(os.fsencode(shims.interpreter()), os.fsencode(counter)))


def log(box: Box) -> list[str]:
    """The lines of the file that the scripts of a test write to, which is emptied."""
    file = box.home / "log"
    lines = file.read_text().splitlines() if file.exists() else []
    file.write_text("")
    return lines


def since(*version: int) -> pytest.MarkDecorator:
    """Skips a test where Git is older."""
    return pytest.mark.skipif(version > GIT, reason=f"Git is older than {'.'.join(map(str, version))}")
