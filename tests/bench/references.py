"""What the guard adds to operations that move many references and are nobody's edit, beside hooks that do nothing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from synapse_hooks.setup import shims
from tests.bench.measure import Action, Row, medians, process
from tests.box import Box
from tests.hooking import script

ROUNDS = 5
MANY, TAGS, COMMITS = 400, 1_000, 30
GOAL, GOAL_JUDGED = 1.5, 2.5


class Operation(NamedTuple):
    """``done`` is timed; ``undone``, without hooks, makes it possible again. Lines of a shell in the repository."""

    what: str
    done: str
    undone: str
    goal: float = GOAL


def _gone(pattern: str) -> str:
    return f"git for-each-ref --format='delete %(refname)' '{pattern}' | git update-ref --stdin\n"


_FETCHED = "git fetch -q many\n"
OPERATIONS = (
    Operation(f"`git fetch` of {MANY} branches", _FETCHED, _gone("refs/remotes")),
    Operation(
        "the same into branches of its own",
        "git fetch -q many 'refs/heads/n/*:refs/heads/n/*'",
        _gone("refs/heads/n/*"),
    ),
    Operation(
        f"`git fetch --prune` of {MANY} branches",
        "git fetch -q --prune none 'refs/heads/*:refs/remotes/many/*'",
        _FETCHED,
    ),
    Operation(
        f"`git push` of {MANY} branches",
        "git push -q bare 'refs/remotes/many/*:refs/heads/*'",
        _FETCHED + _gone("refs/remotes/bare") + "rm -rf ../bare; git init -q --bare ../bare",
    ),
    Operation(f"`git update-ref` of {TAGS:,} tags", "git update-ref --stdin <../tags", _gone("refs/tags")),
    Operation(f"`git pack-refs` of {MANY} branches", "git pack-refs --all", _gone("refs/remotes") + _FETCHED),
    Operation(
        "`git worktree add`",
        "git worktree add -q -b beside ../beside",
        "git worktree remove -f ../beside; git branch -qD beside; :",
        GOAL_JUDGED,
    ),
    Operation(
        f"`git rebase` of {COMMITS} commits",
        "git rebase -q --onto over base work",
        "git checkout -q main; git branch -qf work rest",
        GOAL_JUDGED,
    ),
)


def rows(box: Box) -> list[Row]:
    """Each operation as a whole. Git starts a hook for each reference, so at the floor all are there and end at once.

    What a rebase picks is judged commit by commit: its floor starts an interpreter before each.
    """
    for name, branches in (("many", MANY), ("none", 0)):
        root = box.init(name)
        head = box.done("git", "rev-parse", "HEAD", cwd=root)
        lines = "".join(f"create refs/heads/n/{number} {head}" for number in range(branches))
        box.done("git", "update-ref", "--stdin", cwd=root, stdin=lines.encode())
    roots = {kind: _repository(box, kind) for kind in ("floor", "guard")}
    for name in shims.OURS:
        script(roots["floor"] / ".git/hooks" / name, "exit 0")
    script(roots["floor"] / ".git/hooks/prepare-commit-msg", f"exec '{sys.executable}' -I -S -c pass")
    box.done("synapse-git", "install", cwd=roots["guard"])
    box.done("synapse-git", "claim", "-t", "held", "elsewhere", cwd=roots["guard"], agent="bob")
    return [_row(box, roots, one) for one in OPERATIONS]


def _row(box: Box, roots: dict[str, Path], operation: Operation) -> Row:
    bare = box.env | {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.hooksPath", "GIT_CONFIG_VALUE_0": "/dev/null"}
    done, undone = dict[str, Action](), dict[str, Action]()
    for kind, root in roots.items():
        done[kind] = process(["sh", "-ec", operation.done], box.env | {"SYNAPSE_AGENT": "ana"}, root)
        undone[kind] = process(["sh", "-c", operation.undone], bare, root)
    taken = medians(done, ROUNDS, undone)
    return Row(operation.what, taken["guard"] * 1e3, taken["floor"] * 1e3, operation.goal)


def _repository(box: Box, kind: str) -> Path:
    """A repository whose branch ``work`` is many commits ahead of the tag-like branch ``base``, ``over`` is one."""
    root = box.init(f"{kind}/repo")

    def git(*words: str | Path) -> str:
        return box.done("git", *words, cwd=root)

    for name, place in (("many", box.cwd / "many"), ("none", box.cwd / "none"), ("bare", root.parent / "bare")):
        git("remote", "add", name, place)
    for key, value in (("gc.auto", "0"), ("advice.detachedHead", "false")):
        git("config", key, value)
    git("branch", "base")
    for branch, commits in (("over", 1), ("rest", COMMITS)):
        git("checkout", "-q", "-b", branch, "base")
        for number in range(commits):
            box.write(f"{branch}/{number}.txt", cwd=root)
            git("add", ".")
            git("commit", "-qm", f"{number}")
    git("checkout", "-q", "main")
    head = git("rev-parse", "HEAD")
    (root.parent / "tags").write_text("".join(f"create refs/tags/t{number} {head}" for number in range(TAGS)))
    return root
