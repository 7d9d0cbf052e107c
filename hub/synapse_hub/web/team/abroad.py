"""A change in a namespace that another hub owns: what receipts of its author cover goes in, the rest is asked there."""

from __future__ import annotations

import time
from collections.abc import Iterable

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from synapse_hub.clock import boot_id
from synapse_hub.core import overlap
from synapse_hub.core.claim import TaskKey, comparable, tree_key
from synapse_hub.core.guard import Question, Verdict
from synapse_hub.core.lease import wants_extension
from synapse_hub.core.outcome import Refusal
from synapse_hub.web import answer
from synapse_hub.web.desk import Desk
from synapse_hub.web.party import principal
from synapse_hub.web.team.errand import handed_on


class Abroad:
    """Collects what no live receipt of the asker covers. One state and instant for all of it.

    ``peer``: the hub that owns the question's namespace.
    """

    def __init__(self, desk: Desk, request: Request, peer: str, question: Question) -> None:
        self._desk = desk
        self._peer = peer
        self._question = question
        self._principal = principal(request)
        self._overriding = "synapse-overriding" in request.headers
        self._team = desk.hub.state.team
        self._now, self._wall, self._boot_id = desk.hub.now(), time.time(), boot_id()
        trees = dict.fromkeys(("", question.worktree))
        self._sights = [
            (worktree, overlap.Sight(tree, question.agent))
            for worktree in trees
            if (tree := self._team.trees.get(tree_key(question.namespace, worktree)))
        ]
        self._touched: dict[TaskKey, float] = {}
        self._asked: list[str] = []

    def judge(self, paths: Iterable[str]) -> None:
        """Take more changed paths into account."""
        for path in paths:
            if not self._covered(path):
                self._asked.append(path)

    def _covered(self, path: str) -> bool:
        for worktree, sight in self._sights:
            _, own = sight.at(path if worktree else comparable("", [path])[0])
            for key in own:
                if (left_s := self._team.covered_s(key, self._now, self._wall, self._boot_id)) > 0:
                    self._touched[key] = left_s
                    return True
        return False

    async def answered(self, verdict: Verdict, *, claims: bool, asking: bool) -> Response:
        """What becomes of a change that nothing stands against on this machine.

        ``claims``: what is free is to be claimed; ``asking``: nobody is about to change anything.
        """
        desk = self._desk
        if not self._asked:
            if not asking and any(wants_extension(self._team.receipts[key].claim, self._now) for key in self._touched):
                desk.embassy.keep_alive(self._question.agent)
            body = {"verdict": "allow", "conflicts": [], "unclaimed": [], "unclaimed_total": 0}
            headers = {"Synapse-Verdict": "allow", "Synapse-Covered": f"{min(self._touched.values(), default=0.0):.3f}"}
            return answer.document(body, verdict.seq, verdict.now, headers)
        wishes = {"synapse-claim": claims, "synapse-query": asking, "synapse-overriding": self._overriding}
        more = {name: "1" for name, wanted in wishes.items() if wanted}
        question = self._question
        if claims and desk.team.exclusion(question.namespace) == "repository":
            question = msgspec.structs.replace(question, worktree="")
        reply = await desk.embassy.verdict(self._peer, question, self._asked, self._principal, more)
        if isinstance(reply, Refusal):
            return answer.problem(reply, verdict.seq, verdict.now)
        desk.hub.tally.verdict(str(reply.document.get("verdict") or "refuse"))
        return handed_on(desk, reply)
