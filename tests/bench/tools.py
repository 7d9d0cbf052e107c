"""What a coding agent waits for before each edit: its hook, beside an interpreter that does nothing."""

from __future__ import annotations

import json
import sys

from synapse_hooks.tools import launcher
from tests.bench.measure import Row, medians, process
from tests.box import Box

ROUNDS = 40
GOAL = 2.5


def rows(box: Box) -> list[Row]:
    """An edit of a file that is claimed already, of one that another holds, and of one outside of any repository."""
    root = box.init()
    box.done("synapse-git", "install", cwd=root)
    box.done("synapse-git", "agents", "install", "claude", cwd=root)
    box.done("synapse-git", "claim", "-t", "held", "docs", cwd=root, agent="ben")
    files = {"an edit, claimed": root / "src/a.py", "an edit, refused": root / "docs/a", "elsewhere": box.home / "x"}
    command = ["sh", "-c", launcher.command("claude", "PreToolUse")]
    actions = {"floor": process([sys.executable, "-I", "-S", "-c", "pass"], box.env, root)}
    for name, file in files.items():
        payload = {"session_id": "s1", "cwd": str(root), "tool_name": "Edit", "tool_input": {"file_path": str(file)}}
        given = box.write(f"{name}.json", json.dumps(payload), cwd=box.home)
        actions[name] = process(command, box.env, root, stdin=given)
    taken = medians(actions, ROUNDS)
    return [Row(f"hook of an agent: {name}", taken[name] * 1e3, taken["floor"] * 1e3, GOAL) for name in files]
