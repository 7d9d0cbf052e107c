"""What is true of checkouts, by Git's word and the hub's alone: it imports nothing that judges."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from synapse_git import starter
from tests.box import Box


class Touched(NamedTuple):
    """Paths, or scopes: those that count in a checkout of its own, and those that count in the shared tree."""

    here: frozenset[str]
    shared: frozenset[str]

    def within(self, held: Touched) -> set[str]:
        """Those that overlap what is held."""
        pairs = ((self.here, held.here), (self.shared, held.shared))
        return {path for paths, scopes in pairs for path in paths if any(_overlap(path, scope) for scope in scopes)}


class Key(NamedTuple):
    """How claims in a checkout are keyed: its project, its tree, and what each of its paths begins with there."""

    namespace: str
    tree: str
    prefix: str


def _overlap(one: str, other: str) -> bool:
    """Is either the other or above it? By parts, not by text."""
    return all(left == right for left, right in zip(one.split("/"), other.split("/"), strict=False))


class Oracle:
    """Asks about the checkouts ``roots`` of one repository, by name, and about the claims under their ``keys``, in
    their trees and in the shared ones of their namespaces.
    """

    def __init__(self, box: Box, roots: dict[str, Path], keys: dict[str, Key]) -> None:
        self.box = box
        self.roots = roots
        self.keys = keys
        self.empty = self.ask("main", "hash-object", "-t", "tree", "/dev/null")[0]

    def ask(self, place: str, *arguments: str) -> list[str]:
        """The lines of Git's answer in ``place``."""
        return self.box.done("git", *arguments, cwd=self.roots[place]).splitlines()

    def head(self, place: str) -> str:
        """The commit that ``place`` stands on; the empty tree where there is none yet."""
        found = self.box.git("rev-parse", "--quiet", "--verify", "HEAD", cwd=self.roots[place])
        return found.out.strip() or self.empty

    def known(self) -> frozenset[str]:
        """All commits that a reference or a reflog of any checkout leads to."""
        place = next(iter(self.roots))
        return frozenset(self.ask(place, "rev-list", "--all", "--reflog"))

    def differ(self, place: str, *arguments: str) -> frozenset[str]:
        """The names in ``git diff ARGUMENTS``, both of a rename."""
        options = ("--no-ext-diff", "--name-only", "--no-renames", "-z", "--ignore-submodules=none")
        found = self.box.done("git", "diff", *options, *arguments, cwd=self.roots[place])
        return frozenset(found.split("\0")[:-1])

    def staged(self, place: str) -> Touched:
        """What a commit of the index of ``place`` would change: against HEAD, and against every parent."""
        parents = [self.head(place), *self._merging(place)]
        changed = [self.differ(place, "--cached", parent) for parent in parents]
        return Touched(changed[0], frozenset.intersection(*changed))

    def _merging(self, place: str) -> list[str]:
        file = Path(self.ask(place, "rev-parse", "--absolute-git-dir")[0], "MERGE_HEAD")
        return file.read_text().split() if file.exists() else []

    def made(self, place: str, old: str, known: Iterable[str], *, whole: bool) -> Touched:
        """What has changed in ``place`` since ``old`` by commits that are not among those that were ``known``.

        ``whole``: they make up all of it, else what else has come was made before and is nobody's edit.
        """
        new = self.head(place)
        if new in (old, self.empty):
            return Touched(frozenset(), frozenset())
        since = [] if old == self.empty else [f"^{old}"]
        fresh = [commit for commit in self.ask(place, "rev-list", new, *since) if commit not in known]
        if not fresh:
            return Touched(frozenset(), frozenset())
        differing = self.differ(place, old, new)
        here = differing if whole else differing & self._changed(place, "first-parent", fresh)
        return Touched(here, differing & self._changed(place, "combined", fresh))

    def _changed(self, place: str, kind: str, commits: list[str]) -> set[str]:
        log = ("log", "--no-walk", "--format=", "--name-only", "--no-renames", "-z", f"--diff-merges={kind}")
        return set(self.box.done("git", *log, *commits, cwd=self.roots[place]).split("\0"))

    def hub(self, method: str, target: str, body: object = None) -> dict[str, Any]:
        """One request to the hub of the box."""
        now = time.monotonic()
        with starter.connect(self.box.env, deadline=now + 10, start_deadline=now + 20) as line:
            content = [("Content-Type", "application/json")]
            answer = line.ask(method, target, content, json.dumps(body).encode() if body else b"")
        found: dict[str, Any] = json.loads(answer.body)
        return found

    def held(self, agent: str) -> dict[str, Touched]:
        """What others than ``agent`` hold, in each place."""
        claims = [claim for claim in self.hub("GET", "/v2/claims?limit=1000")["claims"] if claim["owner"] != agent]
        return {
            place: Touched(_scopes(claims, key), _scopes(claims, key._replace(tree="")))
            for place, key in self.keys.items()
        }


def _scopes(claims: list[dict[str, Any]], key: Key) -> frozenset[str]:
    """What ``claims`` hold under ``key``, as the checkout itself calls it."""
    found = [claim["paths"] for claim in claims if (claim["namespace"], claim["worktree"]) == key[:2]]
    return frozenset(path.removeprefix(key.prefix) for paths in found for path in paths)
