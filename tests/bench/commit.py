"""What the guard adds to ``git commit``, beside a pre-commit hook that starts an interpreter and does nothing."""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

from tests.bench.measure import Action, Row, process, turns
from tests.box import Box

ROUNDS = {1: 30, 1_000: 20, 20_000: 10}
GOALS = {1: 2.5, 1_000: 2.0, 20_000: 2.0, 50_000: 2.0}
TREE = 50_000
_SEEN_S = 0.15


def rows(box: Box) -> list[Row]:
    """One row for each number of staged files, and one for a file among many others that stay as they are.

    At 1 the floor is the interpreter; else, that and Git's own diff.
    """
    return [*(_row(box, count) for count in (1, 1_000, 20_000)), _row(box, 1, TREE)]


def _row(box: Box, count: int, tree: int = 0) -> Row:
    kinds = ("plain", "floor", "guard")
    repositories = {kind: _repository(box, f"{kind}-{count}-{tree}", count, tree) for kind in kinds}
    hook = repositories["floor"] / ".git/hooks/pre-commit"
    hook.write_text(f"#!/bin/sh\nexec '{sys.executable}' -I -S -c pass\n")
    hook.chmod(0o755)
    box.done("synapse-git", "install", cwd=repositories["guard"])
    box.done("synapse-git", "claim", "-t", "held", "elsewhere", cwd=repositories["guard"], agent="bob")

    _await_watcher(box, repositories["guard"])
    env = box.env | {"SYNAPSE_AGENT": "ana"}
    commit = ["git", "commit", "-qm", "change"]
    actions = {kind: process(commit, env, root) for kind, root in repositories.items()}
    before = {kind: _back_to_base(env, root) for kind, root in repositories.items()}
    diff = ["git", "diff-index", "--cached", "--no-renames", "--name-only", "-z", "HEAD"]
    actions["diff"], before["diff"] = process(diff, env, repositories["plain"]), before["plain"]
    taken = turns(actions, ROUNDS[count], before)

    # Differences within a round: what the machine did meanwhile drops out.
    added = _median_difference(taken["guard"], taken["plain"])
    floor = _median_difference(taken["floor"], taken["plain"])
    if count > 1 or tree:
        floor += statistics.median(taken["diff"])
    files = ("1 file" if count == 1 else f"{count:,} files") + (f" among {tree:,}" if tree else "")
    return Row(f"added to `git commit` of {files}", added * 1e3, floor * 1e3, GOALS[TREE if tree else count])


def _back_to_base(env: dict[str, str], root: Path) -> Action:
    """Undo the commit, and let the watcher see that before the next one is timed: nobody commits that soon after."""
    reset = process(["git", "reset", "-q", "--soft", "base"], env, root)

    def back() -> None:
        reset()
        time.sleep(_SEEN_S)

    return back


def _await_watcher(box: Box, root: Path) -> None:
    """Until the claim's watcher has looked at every file once; what that costs beside a commit is no cost of hooks."""
    deadline = time.monotonic() + 60.0
    while not any(
        one["root"] == str(root) and (one.get("watch") or {}).get("state") == "live"
        for one in json.loads(box.done("synapse-git", "status", "--json", cwd=root))["worktrees"]
    ):
        assert time.monotonic() < deadline, f"the watcher of {root} did not settle"
        time.sleep(0.2)


def _median_difference(longer: list[float], shorter: list[float]) -> float:
    return statistics.median(more - less for more, less in zip(longer, shorter, strict=True))


def _repository(box: Box, name: str, count: int, tree: int) -> Path:
    """A repository with ``count`` files committed under the tag ``base``, changed and staged, and ``tree`` more."""
    root = box.cwd / name
    box.done("git", "init", "-q", root)
    for key, value in (("gc.auto", "0"), ("maintenance.auto", "false")):
        box.done("git", "config", key, value, cwd=root)
    _write(box, root, count, "before")
    for number in range(tree):
        box.write(f"more/{number // 200}/{number}.txt", "kept\n", cwd=root)
    box.done("git", "add", ".", cwd=root)
    box.done("git", "commit", "-qm", "base", cwd=root)
    box.done("git", "tag", "base", cwd=root)
    _write(box, root, count, "after")
    return root


def _write(box: Box, root: Path, count: int, text: str) -> None:
    for number in range(count):
        box.write(f"src/{number // 200}/{number}.txt", f"{text}\n", cwd=root)
    box.done("git", "add", ".", cwd=root)
