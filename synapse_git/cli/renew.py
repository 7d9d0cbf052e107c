"""``renew``: a fresh lease on a claim that is held, its paths kept."""

from __future__ import annotations

from synapse_git import client
from synapse_git.cli import output, phrase, span, target
from synapse_git.cli.verb import EPOCH, TASK, Option, Verb
from synapse_git.constants import DEFAULT_TTL_SECONDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from synapse_git.cli.call import Call


def run(call: Call) -> int:
    """Exit 0: renewed, with a fresh epoch. Refusals: NOT_HELD, NOT_OWNER, STALE_EPOCH. Spec: INV-LL-4"""
    agent = call.agent()
    claim = target.chosen(call, agent)
    body: dict[str, object] = {"task_id": claim["task_id"], "agent": agent, "namespace": claim["namespace"]}
    body["ttl_s"] = call.number("ttl") or _default(call, claim)
    reply = client.command(call.env, "/v2/claim", body)
    if call.json:
        output.raw(reply.raw)
        return 0
    renewed = reply.document
    until = phrase.until(renewed, renewed["now"])
    output.result(f"renewed task {renewed['task_id']} ({phrase.paths(renewed)}) until {until}")
    return 0


def _default(call: Call, claim: Mapping[str, Any]) -> float:
    """The usual length, or what is left where that is more: renewing never shortens a lease unasked."""
    listed = client.query(call.env, "/v2/claims", namespace=claim["namespace"], task_id=claim["task_id"]).document
    return max(DEFAULT_TTL_SECONDS, float(claim["lease_expires_at"] - listed["now"]))


VERBS = (
    Verb(
        "renew",
        run,
        summary="Start the lease of a claim afresh.",
        help="Start the lease of a claim afresh; its paths stay as they are. Commits and edits of what you hold extend "
        "the lease by themselves, so this is for long silent work.",
        examples=(
            ("renew", "the only claim you hold in this worktree"),
            ("renew -t login --ttl 4h", "this one, for four hours from now"),
        ),
        options=(
            TASK,
            EPOCH,
            Option(
                "ttl",
                "--ttl",
                metavar="TIME",
                convert=span.seconds,
                help="How long from now: seconds, or 90m, 2h, 1d. An hour, or what is left, if not given.",
            ),
        ),
    ),
)
