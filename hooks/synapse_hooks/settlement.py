"""Claims go back by themselves once what they were taken for is committed or merged, where the policy wants that.

Runs beside Git, which waits for nothing here. What cannot be told keeps its claim: a lease runs out anyway.
"""

from __future__ import annotations

import json
import os
import time

from synapse_git import checkout, explain, git, identity, policy, scope, starter
from synapse_git.constants import CLIENT_DEADLINE_SECONDS, MAX_DECLARED_PATHS
from synapse_git.errors import CheckoutError, HubUnreachable
from synapse_git.record import FOLDER
from synapse_hooks import changes, commits, judged, verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from synapse_git.checkout import Checkout
    from synapse_git.exchange import Line
    from synapse_git.policy import Policy
    from synapse_hooks.run import Run

# In the midst of these more commits follow, which may need the claims.
_SEQUENCES = ("rebase-merge", "rebase-apply", "sequencer")
_STATUS = ("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=none")
_PAGE = 1000


def _expect_nothing(git_dir: str) -> None:
    """Until somebody says otherwise, which they may do from now on."""
    if os.path.lexists(path := f"{git_dir}/{FOLDER}/{judged.SETTLE}"):
        os.unlink(path)


def due(here: Checkout) -> bool:
    """May claims go back now that something was merged or rewritten?"""
    wanted = policy.of(here)
    automatic = wanted.release_on(policy.AUTOMATIC) == "merge"
    return wanted.releases or automatic or os.path.lexists(f"{here.git_dir}/{FOLDER}/{judged.SETTLE}")


def interrupted(git_dir: str) -> bool:
    """Is this one commit of several?"""
    return any(os.path.lexists(f"{git_dir}/{name}") for name in _SEQUENCES)


class Reach:
    """Which paths a set of changed ones overlaps, told in the depth of the path."""

    __slots__ = ("_above", "_paths")

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = frozenset(paths)
        self._above = frozenset(above for path in self._paths for above in scope.upwards(path))

    def touches(self, path: str) -> bool:
        """Does any of them lie at, beneath or above ``path``?"""
        return path in self._above or any(above in self._paths for above in scope.upwards(path))


class _Holder:
    """Whose claims are looked at over ``line``, and when the operation ``ended`` (Unix seconds)."""

    __slots__ = ("agent", "ended", "env", "line", "wanted")

    def __init__(self, line: Line, agent: str, wanted: Policy, ended: float, env: Mapping[str, str]) -> None:
        self.line = line
        self.agent = agent
        self.wanted = wanted
        self.ended = ended
        self.env = env

    def claims(self, there: Checkout) -> list[dict[str, Any]]:
        """What the agent and its subagents hold in ``there``, and the agent in the shared tree that it belongs to.

        ``seen``: the end of the operation by the hub's clock.
        """
        tree, namespace, agent = there.tree(), there.namespace(), self.agent
        filters = [f"worktree={verdict.quote(tree)}"] if tree else []
        if namespace:
            filters.append(f"agent={verdict.quote(agent)}&worktree=&namespace={verdict.quote(namespace)}")
        found: list[dict[str, Any]] = []
        for filtered in filters:
            answer = self.line.ask("GET", f"/v2/claims?limit={_PAGE}&{filtered}")
            if answer.status == 200:
                page = json.loads(answer.body)
                seen = page["now"] - max(0.0, time.time() - self.ended)
                found += [claim | {"seen": seen} for claim in page["claims"]]
        return [claim for claim in found if claim["owner"] == agent or identity.acts_for(agent, claim["owner"])]

    def settle(self, there: Checkout, moment: str, finished: bytes) -> None:
        """Give back what ``finished`` covers of the claims in ``there`` that go back at ``moment``."""
        claims = [claim for claim in self.claims(there) if self.wanted.release_on(claim["task_id"]) == moment]
        if not claims or not finished:
            return
        done, dirty = Reach(names_of(finished, there)), Reach(names_of(unfinished(there, self.env), there))
        for claim in claims:
            held = [explain.wire_path(path) for path in claim["paths"]] or [scope.ROOT]
            kept = [path for path in held if dirty.touches(path) or not done.touches(path)]
            if kept != held:
                give_back(self.line, claim, kept, self.env)


def settle(run: Run, here: Checkout, names: Sequence[str], *, merged: str) -> None:
    """Give back what the agent holds and the commits ``names`` have finished.

    ``merged``: what HEAD was before it took in another branch, '' if it did not.
    """
    wanted, ended = policy.of(here), _ended(here.git_dir)
    agent = identity.who(None, run.env, here.outer.git_dir)
    try:
        line = starter.connect_running(run.hub(here), deadline=time.monotonic() + CLIENT_DEADLINE_SECONDS)
        if line is None:
            return
        with line:
            _expect_nothing(here.git_dir)
            holder = _Holder(line, agent, wanted, ended, run.env)
            holder.settle(here, "commit", commits.made(run.asking, names))
            if any(wanted.release_on(claim["task_id"]) != "manual" for claim in holder.claims(here)):
                judged.expect(here.git_dir)
            if merged:
                brought = git.ask([*commits.BETWEEN, merged, "HEAD", "--"], run.asking)[1]
                for there in _taken_in(run, here):
                    holder.settle(there, "merge", brought)
    except HubUnreachable:
        return


def _ended(git_dir: str) -> float:
    """When the operation moved HEAD, after which an edit is another piece of work. Unix seconds."""
    for name in ("logs/HEAD", "HEAD"):
        try:
            return os.stat(f"{git_dir}/{name}").st_mtime
        except OSError:
            pass
    return time.time()


def give_back(line: Line, claim: dict[str, Any], kept: Sequence[str], env: Mapping[str, str]) -> None:
    """All of the claim but ``kept``: the epoch makes sure that it is still the very same, the instant that nobody edits
    under it again.
    """
    body = {name: claim[name] for name in ("task_id", "namespace", "epoch")} | {"agent": claim["owner"]}
    if kept:
        body["paths"] = [scope.to_wire(path) for path in kept[:MAX_DECLARED_PATHS]]
    target = "/v2/claim" if kept else "/v2/release"
    edited = ("Synapse-Unedited-Since", repr(claim["seen"]))
    headers = [("Content-Type", "application/json"), edited, *identity.proof(env)]
    line.ask("POST", target, headers, json.dumps(body).encode())


def unfinished(there: Checkout, env: Mapping[str, str]) -> bytes:
    """What is changed or untracked in the checkout, as NUL-terminated paths. Ignored files are nobody's work.

    Raises:
        CheckoutError: Git does not tell.
    """
    status, output, complaint = git.ask(["-C", there.root, *_STATUS], git.scrubbed(env))
    if status:
        raise CheckoutError(complaint.removeprefix("fatal: "))
    return b"".join(entry[3:].rstrip(b"/") + b"\0" for entry in output.split(b"\0")[:-1])


def names_of(paths: bytes, there: Checkout) -> list[str]:
    """NUL-terminated ``paths`` as the tree of ``there`` calls them."""
    return scope.from_bytes(changes.spelled(paths, there)[:-1]).split("\0") if paths else []


def _taken_in(run: Run, here: Checkout) -> Iterator[Checkout]:
    """The checkouts of this repository whose commit is part of HEAD now, this one among them."""
    status, output, _ = git.ask(["worktree", "list", "--porcelain", "-z"], run.asking)
    if status:  # Git before 2.36
        yield here
        return
    for number, record in enumerate(output.split(b"\0\0")):
        fields: dict[bytes, bytes] = {}
        for field in record.split(b"\0"):
            name, _, fields[name] = field.partition(b" ")
        root, head = os.fsdecode(fields.get(b"worktree", b"")), os.fsdecode(fields.get(b"HEAD", b""))
        if number == 0:  # which Git calls by the git dir where that lies elsewhere, as a submodule's does
            root = here.root if here.git_dir == here.common_dir else checkout.work_tree(here.common_dir, run.env)
        if not head or not os.path.lexists(root + "/.git") or b"bare" in fields:
            continue
        if git.ask(["merge-base", "--is-ancestor", head, "HEAD"], run.asking)[0] == 0:
            yield here if os.path.samefile(root, here.root) else checkout.find(root, run.env)
