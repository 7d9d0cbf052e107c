"""Giving back what was finished, unless somebody edits under it again: the one place where both meet.

A claim that goes back on a commit was looked at a moment ago, and an edit may have been allowed since because of that
very claim. Both are told on the event loop, so that one of them comes first: an edit waits for what is being given
back, and nothing is given back under an edit that was allowed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from starlette.requests import Request

from synapse_git import scope
from synapse_git.protocol.body import finite
from synapse_git.protocol.path import from_wire
from synapse_hub.closings import Closings
from synapse_hub.core.claim import Claim, TaskKey, comparable
from synapse_hub.web.desk import Desk, Rejected, header

_HEADER = b"synapse-unedited-since"
_NOTHING = nullcontext()


def closing(desk: Desk, request: Request, key: TaskKey, kept: Iterable[str]) -> AbstractContextManager[None]:
    """While the claim ``key`` is given back, but for ``kept``. Raises: Rejected."""
    since = _since(request)
    state, now = desk.hub.state, desk.hub.now()
    claim = state.live(key, now) or state.team.held(key, now)
    if since is None or claim is None:
        return _NOTHING
    if _edited(desk, claim, set(kept), since):
        raise Rejected(
            "VERSION_MISMATCH",
            f"what task {claim.task_id} holds is being edited again",
            "It goes back with the next commit, or when the session ends",
        )
    return _given_back(desk.closings, claim.key)


@contextmanager
def _given_back(closings: Closings, key: TaskKey) -> Iterator[None]:
    closings.add(key)
    try:
        yield
    finally:
        closings.remove(key)


def _since(request: Request) -> float | None:
    """The instant of the hub after which no edit may have been allowed; None where that does not matter."""
    text = header(request, _HEADER)
    try:
        number = finite(float(text), math.nan) if text else math.nan
    except ValueError:
        raise Rejected("INVALID_REQUEST", "Synapse-Unedited-Since is an instant in seconds") from None
    return None if math.isnan(number) else number


def _edited(desk: Desk, claim: Claim, kept: set[str], since: float) -> bool:
    left = [path for path in (from_wire(path) for path in claim.paths) if path not in kept] or [scope.ROOT]
    going = comparable(claim.worktree, left)
    return any(
        scope.overlap(path, one)
        for tree, spelled in desk.announcements.intended(since)
        if tree == claim.tree or not claim.worktree
        for path in comparable(claim.worktree, [spelled])
        for one in going
    )
