"""Ask the hub whether a change may go in."""

from __future__ import annotations

import time

from synapse_git import identity, starter
from synapse_git.constants import HOOK_DEADLINE_SECONDS, HOOK_START_DEADLINE_SECONDS
from synapse_git.errors import HubUnreachable, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from synapse_git.exchange import Answer, Line

    # Namespace, tree, paths, and the policy on what no claim covers.
    Part = tuple[str, str, bytes, str]

OVERRIDE = "SYNAPSE_OVERRIDE"
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/@")


class Change:
    """Who would change what.

    ``agent``, ``namespace``, ``tree``: as claims are keyed; ``action``: ``commit``, ``merge``, ``ref`` or ``edit``;
    ``paths``: what changes in the tree, NUL-terminated; ``shared``: what of it counts in the namespace's shared tree;
    ``unclaimed``: the policy on what no claim of the agent covers; ``claims``: is what is free of an edit claimed?
    ``root``: where the tree's checkout stands, '' where that is not known.

    Known after `ask`: ``hub_id``, ``strange``: the hub that claimed for it, and has not heard of that worktree there;
    ``covered_s``: where another hub owns the namespace, for how long its word stands that the verdict rests on.
    """

    __slots__ = (
        *("action", "agent", "claims", "covered_s", "hub_id", "namespace", "paths", "root", "shared", "strange"),
        *("tree", "unclaimed"),
    )

    def __init__(self, agent: str, namespace: str, tree: str, action: str, paths: bytes, shared: bytes) -> None:
        self.agent = agent
        self.namespace = namespace
        self.tree = tree
        self.action = action
        self.paths = paths
        self.shared = shared
        self.unclaimed = "allow"
        self.claims = False
        self.covered_s = float("inf")
        self.root = ""
        self.hub_id = ""
        self.strange = False

    def parts(self) -> list[Part]:
        """What to ask about. One question will do unless the paths are not the same."""
        if self.shared == self.paths:
            return [(self.namespace, self.tree, self.paths, self.unclaimed)]
        parts = [("", self.tree, self.paths, "allow"), (self.namespace, "", self.shared, "allow")]
        if self.unclaimed != "allow":
            # What a merge only brings along needs no claim of whoever merges; one in either tree is enough.
            parts.append((self.namespace, self.tree, self.shared, self.unclaimed))
        return [part for part in parts if part[2] and (part[0] or part[1])]


def overriding(env: Mapping[str, str]) -> str:
    """The reason for which a change goes in whatever is said against it, '' if none is given: a blank one is none."""
    return env.get(OVERRIDE, "").strip()


def ask(change: Change, env: Mapping[str, str]) -> str:
    """'' if the change may go in, else what its author should hear about it.

    Raises:
        Refused: it may not; the problem document says why.
        HubUnreachable: nobody can tell within `HOOK_DEADLINE_SECONDS`.
    """
    now = time.monotonic()
    deadline, start_deadline = now + HOOK_DEADLINE_SECONDS, now + HOOK_START_DEADLINE_SECONDS
    try:
        return _ask(change, env, deadline, start_deadline)
    except HubUnreachable:
        # A hub that was just stopping is followed by another; one that is silent has used the time up.
        if time.monotonic() >= deadline:
            raise
    return _ask(change, env, deadline, start_deadline)


def _ask(change: Change, env: Mapping[str, str], deadline: float, start_deadline: float) -> str:
    with starter.connect(env, deadline=deadline, start_deadline=start_deadline) as line:
        return "\n".join(filter(None, [_judge(line, change, part, env) for part in change.parts()]))


def notice(change: Change, env: Mapping[str, str], *, deadline: float) -> dict[str, Any]:
    """Have it put on record if others hold what has changed; the problem document, empty if nobody does.

    Starts no hub, and says nothing of one that cannot be asked before ``deadline``: nothing is decided here.
    """
    try:
        line = starter.connect_running(env, deadline=deadline)
        if line is None:
            return {}
        with line:
            for part in change.parts():
                _judge(line, change, part, env, moved=True)
    except Refused as found:
        return found.problem
    except HubUnreachable:
        pass
    return {}


def _judge(line: Line, change: Change, part: Part, env: Mapping[str, str], *, moved: bool = False) -> str:
    namespace, tree, paths, unclaimed = part
    headers = [
        ("Content-Type", "application/x-synapse-paths"),
        ("Synapse-Agent", quote(change.agent)),
        ("Synapse-Namespace", quote(namespace)),
        ("Synapse-Worktree", quote(tree)),
        ("Synapse-Action", change.action),
        *identity.proof(env),
    ]
    if unclaimed != "allow":
        headers.append(("Synapse-Unclaimed", unclaimed))
    if change.root and tree:
        headers.append(("Synapse-Root", quote(change.root)))
    if change.claims:
        headers.append(("Synapse-Claim", "1"))
    if overriding(env):
        headers.append(("Synapse-Overriding", "1"))
    if moved:
        headers.append(("Synapse-Moved", "1"))
    answer = line.ask("POST", "/v2/guard", headers, paths)
    if namespace:
        change.covered_s = min(change.covered_s, float(answer.headers.get("synapse-covered", "0")))
    change.strange = change.strange or "synapse-worktree" in answer.headers
    change.hub_id = answer.headers.get("synapse-hub", change.hub_id)
    word = answer.headers.get("synapse-verdict", "")
    if answer.status == 200 and word == "allow":
        return ""
    problem = parse(answer)
    if answer.status == 200 and word == "warn":
        from synapse_git import explain

        return explain.problem(problem)
    if pending := answer.headers.get("synapse-pending"):
        problem["pending"] = int(pending)
    raise Refused(problem)


def parse(answer: Answer) -> dict[str, Any]:
    """The document of an answer.

    Raises:
        HubUnreachable: it is none, so that what answered is no hub that this version can talk to.
    """
    from synapse_git import document  # no change that may go in needs it

    try:
        found = document.read(answer.body)
    except ValueError:
        found = None
    if not isinstance(found, dict) or "reason" not in found:
        raise HubUnreachable(
            f"the hub gave an answer (status {answer.status}) that this version does not understand. "
            "Restart it: synapse-git hub stop"
        )
    return found


def quote(text: str) -> str:
    """``text`` percent-encoded for a header."""
    if _PLAIN.issuperset(text):
        return text
    raw = text.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if chr(byte) in _PLAIN else f"%{byte:02X}" for byte in raw)
