"""Routes of the guard: the verdict on a change, and overrides of it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import unquote, unquote_to_bytes

from starlette.requests import Request
from starlette.responses import Response

from synapse_git import scope
from synapse_git.constants import MAX_PATH_BYTES
from synapse_git.errors import InvalidScope
from synapse_git.protocol.guard import GuardBody
from synapse_git.protocol.path import PATHS_TYPE, from_wire
from synapse_hub.core.claim import tree_key
from synapse_hub.core.commands.claims import ClaimEdit, ExtendLeases
from synapse_hub.core.guard import Question, Verdict
from synapse_hub.core.outcome import Decided
from synapse_hub.web import answer
from synapse_hub.web.desk import Desk, Rejected, label, read, read_capped, session
from synapse_hub.web.edits import intend
from synapse_hub.web.party import named, owner, principal
from synapse_hub.web.team.abroad import Abroad

_ACTIONS = ("edit", "commit", "merge", "push", "ref")
_UNCLAIMED = ("allow", "warn", "refuse")
# A refusal waits this long for its evidence to be written, and stands without.
_EVIDENCE_S = 1.0
# Within this the end of a connection is read whose request was.
_LINE_END_S = 0.001
# Edits that one question announces; a tool that edits more is recognised by what it says afterwards.
_MOST_EDITED = 1000


class Trial(NamedTuple):
    """The verdict of this hub, and what is to be asked of the owner of the namespace where that is another."""

    verdict: Verdict
    abroad: Abroad | None

    @classmethod
    def begin(cls, desk: Desk, request: Request, question: Question) -> Trial:
        """Nothing judged yet. Raises: Rejected."""
        peer = owner(desk, request, question.namespace)
        abroad = Abroad(desk, request, peer, question) if peer else None
        return cls(Verdict(desk.hub.state, question, desk.hub.now()), abroad)

    def judge(self, paths: list[str]) -> None:
        """Take more changed paths into account."""
        self.verdict.judge(paths)
        if self.abroad:
            self.abroad.judge(paths)


async def guard(desk: Desk, request: Request) -> Response:
    """``POST /v2/guard``, as JSON or as a stream of NUL-separated paths; with ``Synapse-Query`` it changes nothing."""
    trial, edited, claims = await _judged(desk, request)
    response = await _answered(desk, request, trial, edited, claims=claims)
    if not _listed(desk, request, trial.verdict.question, claims=claims):
        response.headers["Synapse-Worktree"] = "unknown"
    return response


async def _judged(desk: Desk, request: Request) -> tuple[Trial, list[str], bool]:
    """As `_judge_json`."""
    if request.headers.get("content-type", "") != PATHS_TYPE:
        return await _judge_json(desk, request)
    if "synapse-claim" in request.headers:
        return *await _judge_edit(desk, request), True
    return *await _judge_stream(desk, request), False


async def _answered(desk: Desk, request: Request, trial: Trial, edited: list[str], *, claims: bool) -> Response:
    verdict, abroad = trial
    question = verdict.question
    asking = "synapse-query" in request.headers
    if not asking:
        desk.announcements.enter(tree_key(question.namespace, question.worktree), question.agent, verdict.now)
    if abroad and not verdict.refused:
        response = await abroad.answered(verdict, claims=claims, asking=asking)
        if not asking and response.headers.get("synapse-verdict", "refuse") != "refuse":
            intend(desk, question, edited[:_MOST_EDITED], verdict.now)
        return response
    if not asking and not verdict.refused:
        intend(desk, question, edited[:_MOST_EDITED], verdict.now)
    if asking:
        pass  # nobody is about to change anything: no evidence, no extension
    elif verdict.refused:
        await _record_refusal(desk, request, verdict)
    elif claims and verdict.unclaimed:
        return await _claim(desk, request, question, tuple(edited))
    elif touched := verdict.to_extend():
        desk.leave(ExtendLeases(agent=question.agent, tasks=touched))
    body = verdict.document()
    desk.hub.tally.verdict(body["verdict"])
    return answer.document(body, verdict.seq, verdict.now, {"Synapse-Verdict": body["verdict"]})


async def _record_refusal(desk: Desk, request: Request, verdict: Verdict) -> None:
    """Unless it goes in all the same, with a reason that will be on record; as it may where the asker has stopped
    waiting for a hub that was stopped.
    """
    if "synapse-overriding" in request.headers:
        return
    await asyncio.sleep(_LINE_END_S)
    if await request.is_disconnected():
        return
    evidence = desk.transact(verdict.evidence(moved="synapse-moved" in request.headers))
    with suppress(TimeoutError):
        await asyncio.wait_for(evidence, _EVIDENCE_S)


async def _claim(desk: Desk, request: Request, question: Question, paths: tuple[str, ...]) -> Response:
    """Have the writer decide on an edit that takes a claim, and that may meet one granted a moment ago."""
    shared = desk.team.exclusion(question.namespace) == "repository"
    command = ClaimEdit(
        agent=question.agent,
        session=question.session,
        principal=principal(request),
        namespace=question.namespace,
        worktree="" if shared else question.worktree,
        paths=paths,
        unclaimed=question.unclaimed,
    )
    answered = await desk.transact(command)
    headers, members = {"Synapse-Hub": desk.hub.hub_id}, dict[str, Any]()
    if isinstance(answered.outcome, Decided):
        headers["Synapse-Verdict"] = answered.outcome.answer["verdict"]
        if taken := answered.outcome.answer.get("claim"):
            members["claim"] = taken | {"hub_id": desk.hub.hub_id}
    return answer.of(answered, headers, **members)


def _listed(desk: Desk, request: Request, question: Question, *, claims: bool) -> bool:
    """Is what the register tells of the worktree still so? It may have been moved, or have come into another project.

    ``claims``: and is it there at all?
    """
    if not question.worktree.startswith("wt:") or not question.namespace:
        return True
    known = desk.hub.state.worktrees.get(question.worktree)
    if known is None:
        return not claims
    root = request.headers.get("synapse-root")
    stands = root is None or scope.from_bytes(unquote_to_bytes(root)) == from_wire(known.root)
    return stands and known.namespace == question.namespace


async def _judge_json(desk: Desk, request: Request) -> tuple[Trial, list[str], bool]:
    """With the paths that are about to be edited, if an edit is what it is about, and whether to claim what is free."""
    _, body = await read(request, GuardBody)
    if body.claim and body.action != "edit":
        raise Rejected("INVALID_REQUEST", "claim goes with the action edit")
    question = Question(
        named(desk, request, body.agent),
        label(body.namespace, "namespace"),
        label(body.worktree, "worktree"),
        body.action,
        body.policy.unclaimed,
        session(request),
    )
    try:
        paths = [scope.normalise(from_wire(path)) for path in body.paths]
    except InvalidScope as error:
        raise Rejected("INVALID_SCOPE", str(error)) from None
    if body.action == "edit":
        await desk.closings.over()
    await desk.embassy.oriented(question.namespace)
    trial = Trial.begin(desk, request, question)
    trial.judge(paths)
    return trial, paths if body.action == "edit" else [], body.claim


async def _judge_edit(desk: Desk, request: Request) -> tuple[Trial, list[str]]:
    """As `_judge_stream`, of paths that are to be claimed and therefore kept."""
    question = _question(desk, request)
    if question.action != "edit":
        raise Rejected("INVALID_REQUEST", "Synapse-Claim goes with the action edit")
    given = [part for part in (await read_capped(request)).split(b"\0") if part]
    await desk.closings.over()
    await desk.embassy.oriented(question.namespace)
    try:
        paths = list(dict.fromkeys(scope.normalise(scope.from_bytes(part)) for part in given))
    except InvalidScope as error:
        raise Rejected("INVALID_SCOPE", str(error)) from None
    trial = Trial.begin(desk, request, question)
    trial.judge(paths)
    return trial, paths


def _edited(question: Question, paths: list[str], before: list[str]) -> list[str]:
    return (before + paths)[:_MOST_EDITED] if question.action == "edit" else before


async def _judge_stream(desk: Desk, request: Request) -> tuple[Trial, list[str]]:
    """Any number of paths, judged as they come, so that memory does not grow with them."""
    question = _question(desk, request)
    await desk.embassy.oriented(question.namespace)
    trial: Trial | None = None
    rest, edited = b"", list[str]()
    async for chunk in request.stream():
        # The state is read once the first paths are here: what was granted before the hook asked counts.
        trial = trial or Trial.begin(desk, request, question)
        whole, mark, tail = (rest + chunk).rpartition(b"\0")
        rest = tail
        if mark:
            paths = scope.from_bytes(whole).split("\0")
            trial.judge(paths)
            edited = _edited(question, paths, edited)
        if len(rest) > 2 * MAX_PATH_BYTES:
            raise Rejected("INVALID_SCOPE", f"a path is over {MAX_PATH_BYTES} bytes")
    trial = trial or Trial.begin(desk, request, question)
    if rest:
        trial.judge([scope.from_bytes(rest)])
        edited = _edited(question, [scope.from_bytes(rest)], edited)
    return trial, edited


def _question(desk: Desk, request: Request) -> Question:
    """What the headers beside streamed paths ask. Raises: Rejected."""
    given = request.headers
    action = given.get("synapse-action", "commit")
    unclaimed = given.get("synapse-unclaimed", "allow")
    if action not in _ACTIONS or unclaimed not in _UNCLAIMED:
        raise Rejected(
            "INVALID_REQUEST",
            f"Synapse-Action is one of {', '.join(_ACTIONS)}; Synapse-Unclaimed one of allow, warn, refuse",
        )
    return Question(
        named(desk, request, _percent(given.get("synapse-agent", ""))),
        label(_percent(given.get("synapse-namespace", "")), "namespace"),
        label(_percent(given.get("synapse-worktree", "")), "worktree"),
        action,
        unclaimed,
        session(request),
    )


def _percent(text: str) -> str:
    return unquote(text, errors="replace")
