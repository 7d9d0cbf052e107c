"""Whatever bytes Git takes for a name, and whatever happens under it: staged or made by plumbing, it is judged."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from synapse_git import explain, scope, starter
from synapse_git.checkout import Checkout
from synapse_git.errors import Refused
from synapse_hooks import changes, commits, verdict
from synapse_hooks.run import Run
from tests.box import Box
from tests.faults.scale import times
from tests.hooking import allowed, claim, refused

Entry = tuple[str, int]
Tree = dict[bytes, Entry]

TREE = "wt:names"
ODD = (
    b"HEAD",
    b"-n",
    b"--",
    b" lead",
    b"trail ",
    b"new\nline",
    b"tab\t",
    b'"q"',
    b"it's",
    b"[a]",
    b"*",
    b"a\\b",
    b":x",
    b"\xff",
)
HOSTILE = {
    "diff.ignoreSubmodules": "all",
    "diff.renames": "copies",
    "diff.external": "false",
    "diff.relative": "true",
    "diff.noprefix": "true",
    "status.relativePaths": "true",
    "core.quotePath": "true",
    "core.fsmonitor": "false",
    "core.ignoreStat": "true",
    "submodule.d.ignore": "all",
}
part = st.sampled_from(ODD) | st.binary(min_size=1, max_size=5)
# Few names below few directories, so that one is here a file and there a directory.
name = st.lists(st.sampled_from((b"d", b"e")), max_size=2).flatmap(
    lambda above: part.map(lambda last: b"/".join([*above, last]))
) | st.sampled_from((b"d", b"e", b"d/e"))
entry = st.tuples(st.sampled_from(("100644", "100755", "120000", "160000")), st.integers(0, 1))
trees = st.dictionaries(name, entry, max_size=5)


def _fits(path: bytes) -> bool:
    parts = path.lower().split(b"/")
    return b"\0" not in path and not {b"", b".", b"..", b".git", b"git~1"} & set(parts)


def _possible(tree: Tree) -> Tree:
    """What of it one tree can hold: valid names, and no file that is a directory as well."""
    above = {path.rsplit(b"/", count)[0] for path in tree for count in range(1, path.count(b"/") + 1)}
    return {path: found for path, found in tree.items() if _fits(path) and path not in above}


class Names:
    """A repository whose index and commits are made of such trees, and a hub in which bob claims."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self.root = box.init()
        for key, value in HOSTILE.items():
            box.done("git", "config", key, value, cwd=self.root)
        box.write(".gitmodules", '[submodule "d"]\n\tpath = d\n\turl = /nowhere\n', cwd=self.root)
        self.index = str(self.root / ".git/other-index")
        self.where = {"GIT_DIR": str(self.root / ".git"), "GIT_INDEX_FILE": self.index, "GIT_WORK_TREE": str(self.root)}
        self.asking = Run("pre-commit", os.getpid(), "", box.env | self.where).asking
        self.here = Checkout(str(self.root), self.where["GIT_DIR"], self.where["GIT_DIR"], {})
        self.blobs = [self.git("hash-object", "-w", "--stdin", stdin=text) for text in (b"one", b"two")]
        self.number = 0

    def git(self, *arguments: str, stdin: bytes = b"") -> str:
        return self.box.done("git", *arguments, cwd=self.root, env=self.where, stdin=stdin).strip()

    def stage(self, tree: Tree) -> None:
        self.git("read-tree", "--empty")
        lines = [f"{mode} {self.blobs[blob]}\t".encode() + path + b"\0" for path, (mode, blob) in tree.items()]
        ended = self.box.git("update-index", "-z", "--index-info", cwd=self.root, env=self.where, stdin=b"".join(lines))
        assume(ended.code == 0)  # some names are dangerous on some systems, and Git takes them on none

    def commit(self, tree: Tree, *parents: str) -> str:
        self.stage(tree)
        self.number += 1
        given = [word for parent in parents for word in ("-p", parent)]
        return self.git("commit-tree", *given, "-m", f"{self.number}", self.git("write-tree"))

    def hub(self, target: str, **fields: Any) -> dict[str, Any]:
        now = time.monotonic()
        with starter.connect(self.box.env, deadline=now + 10, start_deadline=now + 20) as line:
            body = json.dumps({"agent": "bob", "task_id": "held", **fields}).encode()
            found: dict[str, Any] = json.loads(
                line.ask("POST", target, [("Content-Type", "application/json")], body).body
            )
        return found

    def conflicts(self, paths: bytes, action: str) -> set[str]:
        """Which of ``paths`` are held, by the guard's answer."""
        try:
            change = verdict.Change("ana", "", TREE, action, changes.spelled(paths, self.here), b"")
            verdict.ask(change, self.box.env)
        except Refused as refused:
            assert refused.reason == "SCOPE_CONFLICT"
            return {explain.wire_path(path) for one in refused.problem["conflicts"] for path in one["changed"]}
        return set()


@pytest.fixture
def names(box: Box) -> Names:
    return Names(box)


def _above(path: str, held: str) -> bool:
    return held == path or path.startswith(held + "/") or held.startswith(path + "/")


@settings(
    max_examples=times(20, 300),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(before=trees, after=trees, data=st.data())
@example(before={b"d": ("100644", 0)}, after={b"d/" + b"n" * 200: ("160000", 0), b"HEAD": ("120000", 1)}, data=None)
@example(before={b"d": ("160000", 0)}, after={b"d": ("160000", 1)}, data=None)
@example(before={}, after={b"/".join([b"d" * 200] * 20 + [b"f" * 76]): ("100644", 0), b"e": ("100644", 0)}, data=None)
def test_any_name_and_any_change_is_judged(names: Names, before: Tree, after: Tree, data: st.DataObject | None) -> None:
    """What differs is told whole, by the index and by the commit, and is refused exactly where it is held."""
    before, after = _possible(before), _possible(after)
    changed = {path for path in before | after if before.get(path) != after.get(path)}
    old = names.commit(before)
    names.git("update-ref", "--no-deref", "HEAD", old)
    names.stage(after)
    staged, shared = changes.Staged(names.asking, ["HEAD"]).finish()
    assert staged == shared
    assert set(staged.split(b"\0")[:-1]) == changed
    made = names.commit(after, old)
    assert [set(found.split(b"\0")[:-1]) for found in commits.changed(names.asking, names.here, "HEAD", old, made)] == [
        changed,
        changed,
    ]
    assume(changed)
    held = sorted(changed)[0] if data is None else data.draw(st.sampled_from(sorted(changed)) | name.filter(_fits))
    _held(names, staged, os.fsdecode(held))


def _held(names: Names, staged: bytes, held: str) -> None:
    told = names.hub("/v2/claim", worktree=TREE, paths=[scope.to_wire(held)])
    assert "reason" not in told, told
    expected = {path for path in os.fsdecode(staged).split("\0")[:-1] if _above(path, held)}
    assert names.conflicts(staged, "commit") == expected
    names.hub("/v2/release")


def test_a_name_that_no_claim_can_have_is_in_nobodys_way(box: Box, repo: Path) -> None:
    """Git stores more bytes than a claim may have: what lies above such a path can be held, and is judged."""
    path = "d/" + "/".join(["n" * 200] * 30)
    blob = box.done("git", "hash-object", "-w", "--stdin", stdin=b"x").strip()
    box.done("git", "update-index", "-z", "--index-info", stdin=f"100644 {blob}\t{path}\0".encode())
    box.done("synapse-git", "claim", "-t", "t1", "d", agent="bob")
    ended = box.git("commit", "-qm", "x", agent="ana")
    assert ended.code == 1 and "SCOPE_CONFLICT" in ended.err, ended.text
    assert box.git("commit", "-qm", "x", agent="bob").code == 0


@pytest.mark.parametrize("direction", ["file to directory", "directory to file"])
def test_what_is_a_file_here_and_a_directory_there(box: Box, repo: Path, direction: str) -> None:
    """Both names of the change count, whichever of them is claimed."""
    if direction == "file to directory":
        claim(box, "bob", "src/b.py")
        box.done("git", "rm", "-q", "src/b.py")
        box.write("src/b.py/inner")
    else:
        claim(box, "bob", "src/b.py")
        box.done("git", "rm", "-rq", "src")
        box.write("src")
    box.done("git", "add", "-A")
    refused(box.git("commit", "-qm", "x", agent="ana"), "src/b.py")
    allowed(box.git("commit", "-qm", "x", agent="bob"))


@pytest.mark.parametrize("name", ["HEAD", "main", "--", "@", ":", "*", "refs/heads/main", ":(top)x", "HEAD~1", "^x"])
def test_names_that_could_be_taken_for_something_else(box: Box, repo: Path, name: str) -> None:
    """A file called like a revision or a pathspec is a file."""
    box.write(name)
    box.write("free")
    box.done("git", "add", "-A")
    claim(box, "bob", name)
    ended = refused(box.git("commit", "-qm", "x", agent="ana"), name)
    assert "free" not in ended.err.split("Leave it out")[0]
    allowed(box.git("commit", "-qm", "x", agent="bob"))
    box.done("git", "--literal-pathspecs", "rm", "-q", "--", name)
    command = refused(box.git("commit", "-nqm", "x", agent="ana"), name).err.partition("Leave it out:  ")[2]
    box.write("free", "more")
    box.done("git", "add", "free")
    box.done("sh", "-c", command.splitlines()[0])
    assert box.done("git", "diff", "--cached", "--name-only") == "free\n"


def test_a_path_as_long_as_a_claim_can_be(box: Box, repo: Path) -> None:
    """4,096 bytes, which no file system call takes in one, and Git stores all the same."""
    path = "/".join(["d" * 200] * 20 + ["f" * 76])
    assert len(path) == 4096
    blob = box.done("git", "hash-object", "-w", "--stdin", stdin=b"x").strip()
    entry = f"100644 {blob}\t{path}\0100644 {blob}\tfree\0".encode()
    box.done("git", "update-index", "-z", "--index-info", stdin=entry)
    claim(box, "bob", path.rpartition("/")[0])
    refused(box.git("commit", "-qm", "x", agent="ana"))
    allowed(box.git("commit", "-qm", "x", agent="bob"))


def test_names_that_are_not_composed_alike(box: Box, repo: Path) -> None:
    """Where Git composes names, both forms are one file."""
    box.done("git", "config", "core.precomposeunicode", "true")
    claim(box, "bob", "cafe\u0301")
    box.write("caf\u00e9")
    box.done("git", "add", "-A")
    refused(box.git("commit", "-qm", "x", agent="ana"))
