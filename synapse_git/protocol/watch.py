"""What tools wrote and what the watcher saw."""

from __future__ import annotations

from typing import Literal

import msgspec

from synapse_git.protocol.body import Body, UncheckedNumber
from synapse_git.protocol.path import WirePath


class WrittenFile(Body, frozen=True, kw_only=True):
    """A file as an edit left it; ``sha256`` in hex, null where the edit took it away."""

    path: WirePath
    sha256: str | None


class EditsBody(Body, frozen=True, kw_only=True):
    """What an agent's own tool has just written. ``git``: Git has just written here for the agent."""

    agent: str
    namespace: str = ""
    worktree: str = ""
    edits: list[WrittenFile]
    git: bool = False


class SeenFile(Body, frozen=True, kw_only=True):
    """A file that a watcher found changed ``age_s`` seconds ago.

    ``sha256`` as in `WrittenFile`; absent where nobody has looked yet, or where what stands there has no content.
    ``git``: what stands there is what Git has of it.
    """

    path: WirePath
    sha256: str | msgspec.UnsetType | None = msgspec.UNSET
    age_s: UncheckedNumber = 0.0
    git: bool = False


class WatchedBody(Body, frozen=True, kw_only=True):
    """``settled``: whoever wrote has had the time to say so; what nobody owned up to goes on record as well."""

    namespace: str = ""
    worktree: str
    changes: list[SeenFile]
    settled: bool = False


class ForeignEditBody(Body, frozen=True, kw_only=True):
    """A watcher of the hub that asks found changes in scopes that the asked one grants; ``agent`` '' is unknown."""

    agent: str = ""
    namespace: str
    worktree: str
    paths: list[WirePath]
    paths_total: int
    tasks: list[str]


class QuarantinedBody(Body, frozen=True, kw_only=True):
    """A watcher has put a holder's content back; what ``agent`` wrote is kept as ``quarantine``."""

    agent: str
    namespace: str = ""
    worktree: str
    task_id: str
    path: WirePath
    quarantine: str


class WatcherBody(Body, frozen=True, kw_only=True):
    """How a worktree is watched: not ``live`` for a ``reason``; ``foreground``, if by somebody's own command."""

    worktree: str
    state: Literal["live", "degraded", "off"]
    reason: str = ""
    foreground: bool = False
