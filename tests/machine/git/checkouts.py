"""Three agents in two checkouts of one repository: claims come and go, and every command is held to the rule."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from synapse_git import checkout
from tests.box import Box, Result
from tests.machine.git.layouts import FILES, Layout
from tests.machine.git.oracle import Key, Oracle, Touched

AGENTS = ("ana", "bob", "cay")
PLACES = ("main", "side")
SHARED = "shared"
SCOPES = (*FILES, "f", "g", "new")

_QUIET = {"GIT_EDITOR": "true"}

# What Git keeps while an operation waits, and what ends it. A patch by itself lies where those of a rebase do.
_GIVING_UP = {
    "rebase-apply/applying": ("am", "--abort"),
    "rebase-apply": ("rebase", "--abort"),
    "rebase-merge": ("rebase", "--abort"),
    "sequencer": ("cherry-pick", "--quit"),
    "MERGE_HEAD": ("merge", "--quit"),
    "CHERRY_PICK_HEAD": ("cherry-pick", "--quit"),
    "REVERT_HEAD": ("revert", "--quit"),
}


class Actor(NamedTuple):
    """Who does something, in which checkout, and whether in spite of everybody."""

    agent: str
    place: str
    override: bool

    @property
    def other(self) -> str:
        return PLACES[self.place == "main"]


actors = st.builds(
    Actor, st.sampled_from(AGENTS), st.sampled_from(PLACES), st.integers(0, 9).map(lambda number: number == 9)
)


def refused(ended: Result) -> bool:
    """Was it the guard that stopped it? What was overridden is mentioned as well, and may stop for another reason."""
    return ended.code != 0 and "SCOPE_CONFLICT: " in ended.err


def _make_room(root: Path, path: str) -> None:
    """Nothing but directories above, and neither a link nor a directory in its place."""
    file = root / path
    for found in (*reversed(file.parents[: path.count("/")]), file):
        if found.is_symlink() or (found != file and found.is_file()):
            found.unlink()
    if file.is_dir():
        shutil.rmtree(file)


class Checkouts(RuleBasedStateMachine):
    """One run. ``box`` and ``layout`` are set by the test; every run has a repository of its own in that box."""

    box: Box
    layout: Callable[[Box, str], Layout]
    runs = 0

    @initialize()
    def start(self) -> None:
        """Both checkouts stand on the same commit of all files, and have the guard."""
        type(self).runs += 1
        made = type(self).layout(self.box, f"machine-{self.runs}")
        self.roots, self.number = made.roots, 0
        keys = {place: self._key(place, made.prefix if place == "main" else "") for place in PLACES}
        self.oracle = Oracle(self.box, self.roots, keys)
        self.keys = keys | {SHARED: keys["main"]._replace(tree="")}
        for agent, place, path in (
            ("bob", "main", "f"),
            ("cay", "main", "g/c"),
            ("bob", "side", "g"),
            ("ana", "side", "top"),
            ("cay", SHARED, "f/b"),
        ):
            self.claim(agent, place, [path])

    # ---- claims ----

    @rule(
        agent=st.sampled_from(AGENTS),
        place=st.sampled_from((*PLACES, SHARED)),
        paths=st.lists(st.sampled_from(SCOPES), min_size=1, max_size=2),
    )
    def widen(self, agent: str, place: str, paths: list[str]) -> None:
        self.claim(agent, place, paths)

    def claim(self, agent: str, place: str, paths: list[str]) -> None:
        _, tree, prefix = self.keys[place]
        body = self._task(agent, place) | {"worktree": tree, "paths": [prefix + path for path in paths], "add": True}
        assert self.oracle.hub("POST", "/v2/claim", body).get("reason", "SCOPE_CONFLICT") == "SCOPE_CONFLICT"

    @rule(agent=st.sampled_from(AGENTS), place=st.sampled_from((*PLACES, SHARED)))
    def release(self, agent: str, place: str) -> None:
        self.oracle.hub("POST", "/v2/release", self._task(agent, place))

    def teardown(self) -> None:
        """Runs share a hub, which grants so many claims and no more."""
        for agent in AGENTS:
            for place in (*PLACES, SHARED):
                self.release(agent, place)

    def _task(self, agent: str, place: str) -> dict[str, object]:
        namespace = self.keys[place].namespace
        return {"task_id": f"{agent}-{place}-{self.runs}", "agent": agent, "namespace": namespace}

    def _key(self, place: str, prefix: str) -> Key:
        here = checkout.find(str(self.roots[place]), self.box.env)
        return Key(here.namespace(create=True), here.tree(create=True), prefix)

    # ---- what all operations go through ----

    def git(self, place: str, *arguments: str) -> Result:
        """What is not judged, and may fail."""
        return self.box.git(*arguments, cwd=self.roots[place], env={**_QUIET, "SYNAPSE_OVERRIDE": "machine"})

    def write(self, place: str, paths: list[str]) -> None:
        for path in paths:
            self.number += 1
            _make_room(self.roots[place], path)
            self.box.write(path, f"{self.number}\n", cwd=self.roots[place])

    def perform(
        self,
        who: Actor,
        *command: str,
        due: Touched | None = None,
        whole: bool = True,
        cwd: Path | None = None,
        stdin: str = "",
    ) -> Result:
        """Do it, and hold it to the rule, in both directions.

        ``due``: what it would change, if the index does not show that once it is refused; ``whole``: as in `Oracle`.
        """
        heads = {place: self.oracle.head(place) for place in PLACES}
        held, known = self.oracle.held(who.agent), self.oracle.known()
        env = _QUIET | ({"SYNAPSE_OVERRIDE": "machine"} if who.override else {})
        where = cwd or self.roots[who.place]
        ended = self.box.git(*command, agent=who.agent, cwd=where, env=env, stdin=stdin.encode())
        told = f"{command} by {who.agent} in {who.place}"
        assert "Traceback" not in ended.err and "guard of this repository cannot run" not in ended.err, ended.err
        if refused(ended):
            rightly = (due or self.oracle.staged(who.place)).within(held[who.place])
            assert rightly and not who.override, f"{told} was refused for nothing:\n{ended.err}"
        for place in PLACES:
            wronged = self.oracle.made(place, heads[place], known, whole=whole).within(held[place])
            assert who.override or not wronged, f"{told} changed {wronged} in {place}"
        return ended

    def see_through(self, who: Actor, verb: str, ended: Result, begun: str, answer: str, *, whole: bool = True) -> None:
        """Answer conflicts of contents with ``--continue``, ``--skip`` or ``--abort``, until the operation is over.

        ``begun``: the commit that it began on, which the way out of a refusal must lead back to.
        """
        for _ in range(4):
            if refused(ended):
                self.give_up(who.place, ended, begun)
            if ended.code == 0 or refused(ended) or not self._under_way(who.place):
                break
            if answer == "continue":
                self.write(who.place, sorted(self.oracle.differ(who.place, "--diff-filter=U")))
                self.git(who.place, "add", "-A", "--sparse")
            ended = self.perform(who, verb, f"--{answer}", whole=whole)
        self.tidy(who.place)

    def give_up(self, place: str, ended: Result, begun: str) -> None:
        """What the refusal offers leads back to where it began."""
        for line in ended.err.splitlines():
            if line.startswith("Give up the"):
                self.box.done("sh", "-c", line.partition(":  ")[2], cwd=self.roots[place])
                assert self.oracle.ask(place, "status", "--porcelain") == []
        assert self.oracle.head(place) == begun

    def _under_way(self, place: str) -> list[str]:
        git_dir = Path(self.oracle.ask(place, "rev-parse", "--absolute-git-dir")[0])
        return [mark for mark in _GIVING_UP if (git_dir / mark).exists()]

    def tidy(self, place: str) -> None:
        """End whatever is under way, so that the next operation starts from a clean checkout of its own branch."""
        for mark in self._under_way(place):
            self.git(place, *_GIVING_UP[mark])
        self.box.done("git", "reset", "-q", "--hard", cwd=self.roots[place])
        self.box.done("git", "clean", "-qfd", cwd=self.roots[place])
        if self.oracle.ask(place, "symbolic-ref", "--short", "HEAD") != [place]:
            self.git(place, "checkout", "-q", "-f", place)
        assert self.oracle.ask(place, "symbolic-ref", "--short", "HEAD") == [place]
