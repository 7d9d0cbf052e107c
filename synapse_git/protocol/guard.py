"""Requests of those who watch over checkouts: verdicts, overrides, and the register of worktrees."""

from __future__ import annotations

from typing import Literal

import msgspec

from synapse_git.protocol.body import Body, UncheckedNumber
from synapse_git.protocol.path import WirePath

Action = Literal["edit", "commit", "merge", "push", "ref"]


class GuardPolicy(Body, frozen=True):
    """What to say of paths that no claim of the agent covers."""

    unclaimed: Literal["allow", "warn", "refuse"] = "allow"


class GuardBody(Body, frozen=True, kw_only=True):
    """``claim``: of an edit that is allowed, claim what nobody covers yet."""

    agent: str
    namespace: str = ""
    worktree: str = ""
    paths: list[WirePath]
    action: Action = "edit"
    policy: GuardPolicy = GuardPolicy()
    claim: bool = False


class OverrideBody(Body, frozen=True, kw_only=True):
    """A change that went in although others held it, or although no hub could be asked (``spooled_at``)."""

    agent: str
    namespace: str = ""
    worktree: str = ""
    paths: list[WirePath]
    action: Action = "commit"
    reason_text: str
    spooled_at: UncheckedNumber = None


class WorktreeBody(Body, frozen=True, kw_only=True):
    worktree: str
    root: WirePath
    repository: str = ""
    namespace: str = ""
    branch: str = ""
    agent: str = ""
    layers: list[str] = msgspec.field(default_factory=list)
