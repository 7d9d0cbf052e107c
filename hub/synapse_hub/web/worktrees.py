"""Routes of the register of worktrees."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from synapse_git.constants import FOREIGN_EDIT_SHOWN_SECONDS
from synapse_git.errors import InvalidScope
from synapse_git.protocol.guard import WorktreeBody
from synapse_git.protocol.path import WirePath, from_wire
from synapse_hub.core import overlap
from synapse_hub.core.claim import TaskKey
from synapse_hub.core.commands.guard import RegisterWorktree
from synapse_hub.core.events.guard import ForeignEditSeen, WorktreeRegistered
from synapse_hub.core.state import State
from synapse_hub.web import answer
from synapse_hub.web.desk import Desk, Rejected, label, read, remark
from synapse_hub.web.lookout import GUARD, inhabited
from synapse_hub.web.relocation import relocate

WATCHER = "watcher"


async def register(desk: Desk, request: Request) -> Response:
    """``POST /v2/worktrees``: `{worktree, moved, stayed, why}`: what is held in it goes on where it belongs now."""
    _, body = await read(request, WorktreeBody)
    if not body.worktree.startswith("wt:"):
        raise Rejected("INVALID_REQUEST", "worktree is an id of the form wt:…")
    command = RegisterWorktree(
        worktree=label(body.worktree, "worktree"),
        root=_root(body.root),
        repository=remark(body.repository, "repository") or "",
        namespace=label(body.namespace, "namespace"),
        branch=remark(body.branch, "branch") or "",
        agent=remark(body.agent, "agent") or "",
        layers=tuple(label(layer, "layer") for layer in body.layers),
    )
    known = desk.hub.state.worktrees.get(command.worktree)
    answered = await desk.transact(command)
    followed = await relocate(desk, command.worktree, command.namespace, known.namespace if known else "")
    return answer.of(answered, **followed.document())


def _root(path: WirePath) -> str:
    """The absolute path of a work tree. Raises: Rejected."""
    try:
        return from_wire(path)
    except InvalidScope as error:
        raise Rejected("INVALID_REQUEST", f"root: {error}") from None


async def worktrees(desk: Desk, _: Request) -> Response:
    """``GET /v2/worktrees``"""
    state, now = desk.hub.state, desk.hub.now()
    listed = [_document(desk, state, worktree, now) for worktree in sorted(state.worktrees)]
    return answer.document({"worktrees": listed}, state.seq, now)


def _document(desk: Desk, state: State, worktree: str, now: float) -> dict[str, Any]:
    entry = state.worktrees[worktree]
    watch = desk.watchers.of(worktree, now)
    claims = (state.live(key, now) for key in overlap.keys(state.tree(("", worktree))))
    return {
        "worktree": worktree,
        "root": entry.root,
        "repository": entry.repository,
        "namespace": entry.namespace,
        "branch": entry.branch,
        "layers": [*entry.layers, *([WATCHER] if watch.state != "off" else [])],
        "agents": sorted({claim.owner for claim in claims if claim} | desk.announcements.present(("", worktree), now)),
        "watch": {
            "state": watch.state,
            "reason": watch.reason or _why_off(state, entry, watch.state),
            "foreground": watch.foreground,
        },
        "foreign_edits": [_foreign(event) for event in _still_foreign(desk, worktree, now)],
    }


def _why_off(state: State, entry: WorktreeRegistered, watched: str) -> str:
    """Why nothing watches it, where no watcher has said so."""
    if watched != "off":
        return ""
    if GUARD not in entry.layers:
        return "the guard is not installed"
    return "the watcher is about to start" if inhabited(state, entry) else "nobody holds anything there"


def _still_foreign(desk: Desk, worktree: str, now: float) -> list[ForeignEditSeen]:
    """Edits in scopes that are held to this day, newest last."""
    return [
        event
        for _, at, event in desk.hub.state.foreign_edits.items()
        if event.worktree == worktree
        and at > now - FOREIGN_EDIT_SHOWN_SECONDS
        and any(_holds(desk, (one.namespace, one.task_id), one.owner, now) for one in event.holders)
    ]


def _holds(desk: Desk, key: TaskKey, owner: str, now: float) -> bool:
    """Does ``owner`` hold the task, as far as is known here? On another machine it does by what its hub told."""
    state = desk.hub.state
    claim = state.live(key, now) or state.team.held(key, now)
    if claim is not None:
        return claim.owner == owner
    return any(told.owner == owner for one in desk.embassy.observed.values() if (told := one.view.held(key, now)))


def _foreign(event: ForeignEditSeen) -> dict[str, Any]:
    return {
        "at": event.at,
        "agent": event.agent,
        "paths": list(event.paths),
        "paths_total": event.paths_total,
        "holders": [{"namespace": one.namespace, "task_id": one.task_id, "owner": one.owner} for one in event.holders],
        "quarantine": event.quarantine,
    }
