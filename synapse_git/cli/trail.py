"""The audit trail as it is read: all of it, its newest events, and on as things happen, over restarts of the hub."""

from __future__ import annotations

import time

from synapse_git import client, document, starter
from synapse_git.cli import output
from synapse_git.constants import CLIENT_DEADLINE_SECONDS
from synapse_git.errors import HubUnreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    Event = dict[str, Any]

PROOF = "synapse-git-doctor-"
"""What the names of agents and tasks begin with that only take part in a proof of the guard."""

# How often a hub that went away is looked for, in seconds.
_LOOK_S = 0.2
# Not every event counts, so more are read than wanted; how many times as many, and by how much more if that fell short.
_MARGIN = 4


def everything(env: Mapping[str, str]) -> Iterator[Event]:
    """Every event up to now, oldest first. Raises as `client.events` does."""
    return _read(env, "", follow=False)


def newest(env: Mapping[str, str], most: int, counts: Callable[[Event], object]) -> tuple[list[Event], str]:
    """The last ``most`` events that ``counts`` is true of, oldest first, and the id of the last event looked at.

    Raises as `client.events` does.
    """
    present, window = _present(env), most
    while True:
        window *= _MARGIN
        after = max(0, present - window)
        last, kept = str(after), []
        for event in _read(env, last, follow=False):
            last = event["id"]
            if counts(event):
                kept.append(event)
        if len(kept) >= most or not after:
            return kept[len(kept) - min(most, len(kept)) :], last


def onwards(env: Mapping[str, str], after: str) -> Iterator[Event]:
    """Every event after ``after``, as they happen, for ever. A hub that goes away is waited for, and not started.

    Raises:
        HubUnreachable: there is none to begin with, and none could be started.
    """
    _present(env)
    while True:
        try:
            for event in _read(env, after, follow=True):
                after = event["id"]
                yield event
        except HubUnreachable:
            pass  # told below, like a hub that ended its stream in good order
        output.message("the hub went away; this goes on when one runs again (Ctrl-C ends it)")
        output.settle()
        while not _grants(env):
            time.sleep(_LOOK_S)


def _present(env: Mapping[str, str]) -> int:
    """The number of the newest event."""
    seq: int = client.query(env, "/v2/claims", limit="1").document["seq"]
    return seq


def _grants(env: Mapping[str, str]) -> bool:
    """Does a hub run that can grant?"""
    try:
        line = starter.connect_running(env, deadline=time.monotonic() + CLIENT_DEADLINE_SECONDS)
        if line is None:
            return False
        with line:
            return client.health(line).status == 200
    except HubUnreachable:
        return False


def _read(env: Mapping[str, str], after: str, *, follow: bool) -> Iterator[Event]:
    for identity, kind, data in client.events(env, after, follow=follow):
        yield {"id": identity, "kind": kind, **document.read(data.encode())}
