"""Requests about claims."""

from __future__ import annotations

from typing import Any

import msgspec

from synapse_git.protocol.body import Body, UncheckedNumber
from synapse_git.protocol.path import WirePath


class ClaimBody(Body, frozen=True):
    """``paths`` absent keeps a held task's scope, ``[]`` is the whole tree; ``add`` unites instead of replacing.

    ``ttl_s`` absent keeps a held task's length. ``epoch`` makes it a renewal of that very lease and nothing else.
    """

    task_id: str
    agent: str
    namespace: str = ""
    worktree: str | None = None
    paths: list[WirePath] | None = None
    ttl_s: UncheckedNumber = msgspec.UNSET
    epoch: int | None = None
    add: bool = False
    wait_s: UncheckedNumber = None
    note: str | None = None


class TaskBody(Body, frozen=True):
    """Base of requests about a claim that is held; ``epoch`` fences them (Spec: INV-EF-2)."""

    task_id: str
    agent: str
    namespace: str = ""
    epoch: int | None = None


class ReleaseBody(TaskBody, frozen=True):
    """``force`` takes the claim from whoever holds it and needs ``reason_text``."""

    force: bool = False
    reason_text: str = ""


class UpdateBody(TaskBody, frozen=True):
    expected_version: int | None = None
    status: str | None = None
    note: str | None = None


class HandoffBody(TaskBody, frozen=True, kw_only=True):
    to: str


class CheckpointBody(TaskBody, frozen=True, kw_only=True):
    data: Any


class HeartbeatBody(Body, frozen=True):
    agent: str
