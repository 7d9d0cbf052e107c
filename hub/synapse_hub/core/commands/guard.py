"""Commands about changes to files: what was refused, overridden or written by somebody else, and where."""

from __future__ import annotations

from synapse_hub.core.commands.base import Command


class RecordDenial(Command, frozen=True):
    """Evidence of a refused change: ``paths`` the first of ``paths_total``, ``tasks`` what was in the way.

    ``moved``: it had happened already.
    """

    agent: str
    namespace: str
    worktree: str
    action: str
    paths: tuple[str, ...]
    paths_total: int
    tasks: tuple[tuple[str, str], ...]
    moved: bool = False


class RecordOverride(Command, frozen=True):
    agent: str
    namespace: str
    worktree: str
    action: str
    paths: tuple[str, ...]
    reason_text: str
    spooled_at: float | None = None


class RecordForeignEdit(Command, frozen=True):
    """Evidence of a change in others' scopes that a watcher found; ``agent`` '' where nobody knows who made it.

    ``owner``: who holds the tasks, where another hub grants and only that one knows.
    """

    agent: str
    namespace: str
    worktree: str
    paths: tuple[str, ...]
    paths_total: int
    tasks: tuple[tuple[str, str], ...]
    quarantine: str = ""
    owner: str = ""


class RegisterWorktree(Command, frozen=True):
    worktree: str
    root: str
    repository: str
    namespace: str
    branch: str
    agent: str
    layers: tuple[str, ...]


GuardCommand = RecordDenial | RecordOverride | RecordForeignEdit | RegisterWorktree
