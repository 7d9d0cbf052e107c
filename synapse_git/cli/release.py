"""``release``: give claims back."""

from __future__ import annotations

from synapse_git import client
from synapse_git.cli import output, phrase, target
from synapse_git.cli.verb import EPOCH, TASK, Option, Verb
from synapse_git.errors import EXIT_REFUSED, Refused, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from synapse_git.cli.call import Call
    from synapse_git.client import Reply


def run(call: Call) -> int:
    """Exit 0: released. Refusals: NOT_HELD, NOT_OWNER, STALE_EPOCH. Spec: INV-EF-2"""
    agent = call.agent()
    if call.flag("force") != bool(call.text("reason")):
        raise UsageError("--force and --reason TEXT go together: the holder is told why")
    if call.flag("all"):
        return _all(call, agent)
    claim = _taken(call) if call.flag("force") else _meant(call, lambda: target.chosen(call, agent))
    reply = _give_back(call, agent, claim)
    if call.json:
        output.raw(reply.raw)
    else:
        output.result(_done(reply.document))
    return 0


def _give_back(call: Call, agent: str, claim: Mapping[str, Any]) -> Reply:
    body: dict[str, object] = {"task_id": claim["task_id"], "agent": agent, "namespace": claim["namespace"]}
    if (epoch := call.number("epoch")) is not None:
        body["epoch"] = epoch
    if reason := call.text("reason"):
        body |= {"force": True, "reason_text": reason}
    return client.command(call.hub, "/v2/release", body)


def _meant(call: Call, find: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    """What ``find`` finds; of a task that is not known here, the hub that grants may know more."""
    try:
        return find()
    except Refused as refusal:
        place = call.checkout_if_any()
        if refusal.reason != "NOT_HELD" or not call.text("task") or place is None or not place.owned_elsewhere():
            raise
        return {"task_id": call.text("task"), "namespace": place.namespace()}


def _taken(call: Call) -> Mapping[str, Any]:
    """Whosever claim it is that is taken away: it has to be named."""
    if not (task := call.text("task")):
        raise UsageError("say which task to take away: -t TASK")
    return _meant(call, lambda: target.anyones(call, task))


def _all(call: Call, agent: str) -> int:
    """Everything here; outside of any checkout, everything anywhere. One that is refused holds up no other."""
    if call.text("task") or call.number("epoch") is not None or call.flag("force"):
        raise UsageError("--all goes alone: it releases every claim you hold here")
    mine = target.here(call, agent) if call.checkout_if_any() else client.claims(call.hub, agent=agent)
    released: list[dict[str, Any]] = []
    refused: list[Refused] = []
    for claim in mine:
        try:
            released.append(_give_back(call, agent, claim).document)
        except Refused as refusal:
            refused.append(refusal)
    if call.json:
        output.structure({"released": released, "refused": [each.problem for each in refused]})
    else:
        output.result("\n".join(map(_done, released)) or f"{agent} holds nothing here: nothing to release")
        for each in refused:
            output.failure(each, json=False)
    return EXIT_REFUSED if refused else 0


def _done(claim: Mapping[str, Any]) -> str:
    return f"released {phrase.paths(claim)} (task {claim['task_id']})"


VERBS = (
    Verb(
        "release",
        run,
        summary="Give a claim back.",
        help="Give a claim back, so that others can have its paths at once. Works from anywhere, and when the worktree "
        "or its files are gone: name the task with -t.",
        examples=(
            ("release", "the only claim you hold in this worktree"),
            ("release -t login", "this one"),
            ("release -t login --force --reason 'ana is on holiday'", "take it away from whoever holds it"),
            ("release --all", "all you hold in this worktree; outside of any checkout, all you hold"),
        ),
        options=(
            TASK,
            EPOCH,
            Option("force", "--force", help="Take the claim away from its holder, in one step, on record."),
            Option("reason", "--reason", metavar="TEXT", help="Why it is taken away."),
            Option("all", "--all", help="Every claim you hold in this worktree; outside of any checkout, everywhere."),
        ),
    ),
)
