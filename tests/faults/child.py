"""Runs a module of the fault suites in a process of its own, on the checkout's sources or on a broken copy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.faults import tree


def environment(root: Path, home: Path) -> dict[str, str]:
    """As `environ` for a process on the tree at ``root`` that must not see this user's files."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "SYNAPSE_", "GIT_"))}
    return kept | {
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": tree.python_path(root),
    }


def report(
    module: str, *arguments: object, root: Path = tree.ROOT, timeout_s: float = 60, before: Sequence[str] = ()
) -> dict[str, Any]:
    """The JSON document that ``python -m MODULE ARGUMENTS`` prints; ``before`` stands in front of the command.

    Raises:
        RuntimeError: it ended otherwise than with 0.
    """
    command = [*before, sys.executable, "-m", module, *map(str, arguments)]
    ended = subprocess.run(
        command,
        cwd=root,
        env=environment(root, Path("/nonexistent")),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    if ended.returncode != 0:
        raise RuntimeError(f"{module} ended with {ended.returncode}: {ended.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(ended.stdout)
    return found
