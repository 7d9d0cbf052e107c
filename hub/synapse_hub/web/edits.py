"""What agents' tools say of their own edits."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.requests import Request
from starlette.responses import Response

from synapse_git import scope
from synapse_git.errors import InvalidScope
from synapse_git.protocol.path import WirePath, from_wire
from synapse_git.protocol.watch import EditsBody
from synapse_hub.core.attribution import Announced
from synapse_hub.core.claim import tree_key
from synapse_hub.core.commands.claims import ExtendLeases
from synapse_hub.core.guard import Question, Verdict
from synapse_hub.web import answer
from synapse_hub.web.desk import Desk, Rejected, admit, agent_name, label, read, session

_HEX = frozenset("0123456789abcdef")


async def edits(desk: Desk, request: Request) -> Response:
    """``POST /v2/edits``. Volatile, but activity: the agent's claims that it touches are extended."""
    _, body = await read(request, EditsBody)
    agent = agent_name(body.agent)
    namespace, worktree = label(body.namespace, "namespace"), label(body.worktree, "worktree")
    state, now = desk.hub.state, desk.hub.now()
    admit(request, state, agent, now)
    paths = [clean(one.path) for one in body.edits]
    entries = [
        (path, Announced(agent, now, written=True, sha256=digest(one.sha256)))
        for path, one in zip(paths, body.edits, strict=True)
    ]
    tree = tree_key(namespace, worktree)
    desk.announcements.add(tree, entries)
    if body.git:
        desk.announcements.run(tree, agent, now)
    verdict = Verdict(state, Question(agent, namespace, worktree, "edit", session=session(request)), now)
    verdict.judge(paths)
    if touched := verdict.to_extend():
        desk.leave(ExtendLeases(agent=agent, tasks=touched))
    waiting = state.mail.waiting(agent, now)
    told = len(waiting) if waiting and desk.mentions.note(agent, waiting[-1].seq) else 0
    return answer.document({"announced": len(entries), "waiting": told}, desk.hub.state.seq, now)


def intend(desk: Desk, question: Question, paths: Iterable[str], now: float) -> None:
    """An edit of ``paths`` was just allowed and is about to be made."""
    entries = [(path, Announced(question.agent, now)) for path in paths]
    desk.announcements.add(tree_key(question.namespace, question.worktree), entries)


def clean(path: WirePath) -> str:
    """A path of a request. Raises: Rejected."""
    try:
        return scope.normalise(from_wire(path))
    except InvalidScope as error:
        raise Rejected("INVALID_SCOPE", str(error)) from None


def digest(given: str | None) -> str | None:
    """A SHA-256 of a request. Raises: Rejected."""
    if given is not None and (len(given) != 64 or not _HEX.issuperset(given)):
        raise Rejected("INVALID_REQUEST", "sha256 is 64 lower-case hexadecimal digits, or null where the file is gone")
    return given
