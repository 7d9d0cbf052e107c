"""Routes of the guard: the verdict on a change, and overrides of it."""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response

from synapse_git import scope
from synapse_git.constants import MAX_PATH_BYTES
from synapse_git.errors import InvalidScope
from synapse_git.protocol import PATHS_TYPE, GuardBody, OverrideBody, finite, from_wire
from synapse_hub.core.commands import ExtendLeases, RecordOverride
from synapse_hub.core.guard import Question, Verdict
from synapse_hub.web import answer
from synapse_hub.web.desk import Desk, Rejected, agent_name, label, read, remark

_ACTIONS = ("edit", "commit", "merge", "push", "ref")
_UNCLAIMED = ("allow", "warn", "refuse")
# A refusal waits this long for its evidence to be written, and stands without.
_EVIDENCE_S = 1.0


async def guard(desk: Desk, request: Request) -> Response:
    """``POST /v2/guard``, as JSON or as a stream of NUL-separated paths; with ``Synapse-Query`` it changes nothing."""
    if request.headers.get("content-type", "") == PATHS_TYPE:
        verdict = await _judge_stream(desk, request)
    else:
        verdict = await _judge_json(desk, request)
    if "synapse-query" in request.headers:
        pass  # nobody is about to change anything: no evidence, no extension
    elif verdict.refused:
        evidence = desk.transact(verdict.evidence())
        with suppress(TimeoutError):
            await asyncio.wait_for(evidence, _EVIDENCE_S)
    elif touched := verdict.to_extend():
        desk.leave(ExtendLeases(agent=verdict.question.agent, tasks=touched))
    body = verdict.document()
    return answer.document(body, verdict.seq, verdict.now, {"Synapse-Verdict": body["verdict"]})


async def _judge_json(desk: Desk, request: Request) -> Verdict:
    _, body = await read(request, GuardBody)
    question = Question(
        agent_name(body.agent),
        label(body.namespace, "namespace"),
        label(body.worktree, "worktree"),
        body.action,
        body.policy.unclaimed,
    )
    try:
        paths = [scope.normalise(from_wire(path)) for path in body.paths]
    except InvalidScope as error:
        raise Rejected("INVALID_SCOPE", str(error)) from None
    verdict = Verdict(desk.hub.state, question, desk.hub.now())
    verdict.judge(paths)
    return verdict


async def _judge_stream(desk: Desk, request: Request) -> Verdict:
    """Any number of paths, judged as they come, so that memory does not grow with them."""
    given = request.headers
    action = given.get("synapse-action", "commit")
    unclaimed = given.get("synapse-unclaimed", "allow")
    if action not in _ACTIONS or unclaimed not in _UNCLAIMED:
        raise Rejected(
            "INVALID_REQUEST",
            f"Synapse-Action is one of {', '.join(_ACTIONS)}; Synapse-Unclaimed one of allow, warn, refuse",
        )
    question = Question(
        agent_name(_percent(given.get("synapse-agent", ""))),
        label(_percent(given.get("synapse-namespace", "")), "namespace"),
        label(_percent(given.get("synapse-worktree", "")), "worktree"),
        action,
        unclaimed,
    )
    verdict: Verdict | None = None
    rest = b""
    async for chunk in request.stream():
        # The state is read once the first paths are here: what was granted before the hook asked counts.
        verdict = verdict or Verdict(desk.hub.state, question, desk.hub.now())
        whole, mark, tail = (rest + chunk).rpartition(b"\0")
        rest = tail
        if mark:
            verdict.judge(scope.from_bytes(whole).split("\0"))
        if len(rest) > 2 * MAX_PATH_BYTES:
            raise Rejected("INVALID_SCOPE", f"a path is over {MAX_PATH_BYTES} bytes")
    verdict = verdict or Verdict(desk.hub.state, question, desk.hub.now())
    if rest:
        verdict.judge([scope.from_bytes(rest)])
    return verdict


def _percent(text: str) -> str:
    return unquote(text, errors="replace")


async def override(desk: Desk, request: Request) -> Response:
    """``POST /v2/overrides``"""
    _, body = await read(request, OverrideBody)
    return answer.of(await desk.transact(override_command(body)))


def override_command(body: OverrideBody) -> RecordOverride:
    """Raises: Rejected."""
    reason = remark(body.reason_text, "reason_text")
    if not reason or not reason.strip():
        raise Rejected("INVALID_REQUEST", "an override needs a reason", 'Give one: SYNAPSE_OVERRIDE="why" git commit …')
    spooled = finite(body.spooled_at, math.nan)
    try:
        paths = tuple(scope.normalise(from_wire(path)) for path in body.paths)
    except InvalidScope as error:
        raise Rejected("INVALID_SCOPE", str(error)) from None
    return RecordOverride(
        agent=agent_name(body.agent),
        namespace=label(body.namespace, "namespace"),
        worktree=label(body.worktree, "worktree"),
        action=body.action,
        paths=paths,
        reason_text=reason,
        spooled_at=None if math.isnan(spooled) else spooled,
    )
