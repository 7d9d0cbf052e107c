"""What the guard and the watcher saw in worktrees."""

from __future__ import annotations

from synapse_git.protocol.path import WirePath
from synapse_hub.core.events.base import Event, Holder


class GuardDenied(Event, frozen=True, tag="guard_denial"):
    """Evidence that a change was refused; ``paths`` are the first of ``paths_total``. Spec: INV-RR-3.

    ``moved``: nothing was refused, the files had changed already.
    """

    agent: str
    namespace: str
    worktree: str
    action: str
    paths: tuple[WirePath, ...]
    paths_total: int
    holders: tuple[Holder, ...]
    moved: bool = False


class GuardOverridden(Event, frozen=True, tag="guard_override"):
    """A change was let through against the guard, for the reason its author gave; ``spooled_at`` when no hub was there.

    ``paths`` are the first of the ``paths_total`` that the ``holders`` hold, of ``changed_total``; where none does, of
    all. Whether the change was then made is Git's to know.
    """

    agent: str
    namespace: str
    worktree: str
    action: str
    paths: tuple[WirePath, ...]
    paths_total: int
    reason_text: str
    holders: tuple[Holder, ...]
    spooled_at: float | None = None
    changed_total: int = 0


class ForeignEditSeen(Event, frozen=True, tag="foreign_edit"):
    """Evidence of a change inside another's live scope that nothing stopped; ``agent`` '' is whoever it was.

    ``quarantine``: under which name what was found is kept, where the holder's content was put back.
    """

    agent: str
    namespace: str
    worktree: str
    paths: tuple[WirePath, ...]
    paths_total: int
    holders: tuple[Holder, ...]
    quarantine: str = ""


class WorktreeRegistered(Event, frozen=True, tag="worktree_registered"):
    """What a client says about a checkout: shown, never granted from."""

    worktree: str
    root: WirePath
    repository: str
    namespace: str
    branch: str
    agent: str
    layers: tuple[str, ...]


GuardEvent = GuardDenied | GuardOverridden | ForeignEditSeen | WorktreeRegistered
