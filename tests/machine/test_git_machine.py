"""Three agents, two worktrees of one repository, random operations of Git, and an oracle that trusts nobody.

It reads ``git log``, the live claims and who overrode what, and knows the rule in its own words: no commit by anyone
but the holder changes a path that is held at that moment, and whatever is refused would have.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from synapse_git import checkout, starter
from tests.box import Box, Result

AGENTS = ("ana", "bob", "cay")
FILES = ("f/a", "f/b", "g/c", "g/d é", "top")
SCOPES = (*FILES, "f", "g", "new")
PLACES = ("main", "side")
EXAMPLES, STEPS = 15, 20

agents, places, files = st.sampled_from(AGENTS), st.sampled_from(PLACES), st.sampled_from(FILES)
several = st.lists(files, min_size=1, max_size=2, unique=True)


def _overlap(one: str, other: str) -> bool:
    """Is either the other or above it? By parts, not by text."""
    mine, yours = one.split("/"), other.split("/")
    return all(left == right for left, right in zip(mine, yours, strict=False))


class GitMachine(RuleBasedStateMachine):
    """One run. ``box`` is set by the test; every run has a repository of its own in it."""

    box: Box
    runs = 0

    @initialize()
    def start(self) -> None:
        """Both worktrees stand on the same commit of all files, and have the guard."""
        type(self).runs += 1
        root = self.box.init(f"machine-{self.runs}")
        for path in FILES:
            self.box.write(path, "base\n", cwd=root)
        self.box.done("git", "add", ".", cwd=root)
        self.box.done("git", "commit", "-q", "--amend", "-m", "files", cwd=root)
        # The root stays common to both branches: it is never on top, where it could be amended.
        self.box.done("git", "commit", "-q", "--allow-empty", "-m", "start", cwd=root)
        self.box.done("git", "worktree", "add", "-q", ".git/side", "-b", "side", cwd=root)
        self.box.done("synapse-git", "install", cwd=root)
        self.roots = {"main": root, "side": root / ".git/side"}
        found = {place: checkout.find(str(path), self.box.env) for place, path in self.roots.items()}
        self.trees = {place: here.tree(create=True) for place, here in found.items()}
        self.namespace = found["main"].namespace(create=True)
        self.number = 0
        for agent, place, path in (
            ("bob", "main", "f"),
            ("cay", "main", "g/c"),
            ("bob", "side", "g"),
            ("ana", "side", "top"),
        ):
            self.claim(agent, place, [path])

    # ---- what the oracle reads ----

    def _ask(self, place: str, *arguments: str) -> list[str]:
        return self.box.done("git", "-c", "core.quotePath=false", *arguments, cwd=self.roots[place]).splitlines()

    def _differ(self, place: str, one: str, other: str) -> set[str]:
        return set(self._ask(place, "diff", "--name-only", "--no-renames", one, other))

    def _hub(self, method: str, target: str, body: object = None) -> dict[str, Any]:
        now = time.monotonic()
        with starter.connect(self.box.env, deadline=now + 10, start_deadline=now + 20) as line:
            content = [("Content-Type", "application/json")]
            answer = line.ask(method, target, content, json.dumps(body).encode() if body else b"")
        found: dict[str, Any] = json.loads(answer.body)
        return found

    def _claims(self, place: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._hub("GET", f"/v2/claims?worktree={self.trees[place]}")["claims"]
        return found

    def _foreign(self, place: str, agent: str, paths: set[str]) -> set[str]:
        """Those of ``paths`` that others hold in this worktree."""
        held = [path for claim in self._claims(place) if claim["owner"] != agent for path in claim["paths"]]
        return {path for path in paths if any(_overlap(path, scope) for scope in held)}

    # ---- claims ----

    @rule(agent=agents, place=places, paths=st.lists(st.sampled_from(SCOPES), min_size=1, max_size=2))
    def widen(self, agent: str, place: str, paths: list[str]) -> None:
        self.claim(agent, place, paths)

    def claim(self, agent: str, place: str, paths: list[str]) -> None:
        body = {"task_id": f"{agent}-{place}-{self.runs}", "agent": agent, "namespace": self.namespace}
        self._hub("POST", "/v2/claim", body | {"worktree": self.trees[place], "paths": paths, "add": True})

    @rule(agent=agents, place=places)
    def release(self, agent: str, place: str) -> None:
        body = {"task_id": f"{agent}-{place}-{self.runs}", "agent": agent, "namespace": self.namespace}
        self._hub("POST", "/v2/release", body)

    # ---- operations ----

    def _edit(self, place: str, paths: list[str]) -> None:
        for path in paths:
            self.number += 1
            self.box.write(path, f"{self.number}\n", cwd=self.roots[place])

    @rule(
        agent=agents,
        place=places,
        paths=several,
        form=st.sampled_from(["-qam", "-nqam", "path", "--amend -qam"]),
        override=st.integers(0, 5).map(lambda number: number == 0),
    )
    def commit(self, agent: str, place: str, paths: list[str], form: str, override: bool) -> None:
        self._edit(place, paths)
        words = ["-qm", "x", "--", paths[0]] if form == "path" else [*form.split(), "x"]
        due = set(paths[:1]) if form == "path" else set(paths)
        self._perform(agent, place, ["commit", *words], due, override=override)

    @rule(agent=agents, place=places, path=files)
    def plumb(self, agent: str, place: str, path: str) -> None:
        """A commit made by hand, and put on the branch from the other worktree."""
        self._edit(place, [path])
        self.box.done("git", "add", ".", cwd=self.roots[place])
        tree = self._ask(place, "write-tree")[0]
        made = self._ask(place, "commit-tree", "-p", "HEAD", "-m", "x", tree)[0]
        self.box.done("git", "reset", "-q", "--hard", cwd=self.roots[place])
        other = PLACES[place == "main"]
        self._perform(agent, place, ["update-ref", f"refs/heads/{place}", made], {path}, cwd=self.roots[other])

    @rule(agent=agents, place=places, verify=st.booleans())
    def merge(self, agent: str, place: str, verify: bool) -> None:
        other = PLACES[place == "main"]
        brought = set(self._ask(place, "diff", "--name-only", "--no-renames", f"HEAD...{other}"))
        if self._ask(place, "merge-base", "HEAD", other) == self._ask(place, "rev-parse", "HEAD"):
            brought = set()  # a fast-forward is nobody's edit
        options = ["-q", "--no-edit"] + ([] if verify else ["--no-verify"])
        self._perform(agent, place, ["merge", *options, other], brought)

    @rule(agent=agents, place=places, verb=st.sampled_from(["cherry-pick", "revert"]))
    def pick(self, agent: str, place: str, verb: str) -> None:
        named = PLACES[place == "main"] if verb == "cherry-pick" else "HEAD"
        if len(self._ask(place, "rev-list", "--parents", "-1", named)[0].split()) != 2:
            return  # a merge, or the root
        due = self._differ(place, f"{named}^", named)
        self._perform(agent, place, [verb, *(["--no-edit"] if verb == "revert" else []), named], due)

    @rule(agent=agents, place=places, backend=st.sampled_from(["--merge", "--apply"]))
    def rebase(self, agent: str, place: str, backend: str) -> None:
        other = PLACES[place == "main"]
        picked = self._ask(place, "log", "--no-merges", "--format=", "--name-only", "--no-renames", f"{other}..HEAD")
        self._perform(agent, place, ["rebase", "-q", backend, other], set(picked))

    @rule(agent=agents, place=places, back=st.integers(1, 2))
    def reset(self, agent: str, place: str, back: int) -> None:
        if len(self._ask(place, "rev-list", "--first-parent", "-4", "HEAD")) > back + 1:
            self._perform(agent, place, ["reset", "-q", "--hard", f"HEAD~{back}"], set())

    def _perform(
        self,
        agent: str,
        place: str,
        command: list[str],
        due: set[str],
        *,
        override: bool = False,
        cwd: Path | None = None,
    ) -> None:
        """Do it, and ask the oracle: ``due``: the paths for whose sake it might rightly be refused."""
        env = {"SYNAPSE_OVERRIDE": "machine"} if override else {}
        heads = {known: self._ask(known, "rev-parse", "HEAD")[0] for known in PLACES}
        held = self._foreign(place, agent, due)
        seen = set(self._ask(place, "rev-list", "--all", "--reflog"))
        ended = self.box.git(*command, agent=agent, cwd=cwd or self.roots[place], env=env)
        refused = "SCOPE_CONFLICT" in ended.err and ended.code != 0
        assert not refused or (held and not override), f"{command} by {agent} was refused for nothing:\n{ended.err}"
        if refused or ended.code:
            self._clean(place, command[0], ended)
            assert self._ask(place, "rev-parse", "HEAD")[0] == heads[place]
        for known in PLACES:
            if not override:
                wronged = self._foreign(known, agent, set(self._edited(known, heads[known], seen)))
                assert not wronged, f"{command} by {agent} changed {wronged} in {known}"
        self.box.done("git", "reset", "-q", "--hard", cwd=self.roots[place])

    def _edited(self, place: str, old: str, seen: set[str]) -> Iterator[str]:
        """Paths that are not what they were, and that a commit changes which was not there before."""
        new = self._ask(place, "rev-parse", "HEAD")[0]
        made = [commit for commit in self._ask(place, "rev-list", new) if commit not in seen] if new != old else []
        if made:
            log = ["log", "--no-walk", "--format=", "--name-only", "--no-renames", "--diff-merges=first-parent"]
            yield from set(self._ask(place, *log, *made)) & self._differ(place, old, new)

    def _clean(self, place: str, verb: str, ended: Result) -> None:
        """What the refusal offers leads back; a conflict of contents is given up in Git's own way."""
        root = self.roots[place]
        offered = [line.partition(":  ")[2] for line in ended.err.splitlines() if line.startswith("Give up the")]
        for command in offered:
            self.box.done("sh", "-c", command, cwd=root)
        if not offered and verb in ("merge", "cherry-pick", "revert", "rebase"):
            self.box.git(verb, "--abort", cwd=root)
        self.box.done("git", "reset", "-q", "--hard", cwd=root)
        assert self._ask(place, "status", "--porcelain") == []


def test_nothing_held_is_changed_and_nothing_free_is_refused(box: Box) -> None:
    """Whatever three agents do with Git in two worktrees."""

    class Machine(GitMachine):
        pass

    Machine.box = box
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
            phases=[Phase.generate, Phase.shrink],
            database=None,
        ),
    )
