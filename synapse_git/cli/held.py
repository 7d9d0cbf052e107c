"""What the verbs on a claim that is held have in common: which one is meant, and how the outcome is told."""

from __future__ import annotations

from synapse_git import client
from synapse_git.cli import output, phrase, target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from synapse_git.cli.call import Call
    from synapse_git.client import Reply


def command(call: Call, route: str, fields: Mapping[str, object]) -> Reply:
    """Send ``fields`` about the claim that ``-t`` and ``--epoch`` name. Raises as `target.chosen`."""
    agent = call.agent()
    claim = target.chosen(call, agent)
    body: dict[str, object] = {"task_id": claim["task_id"], "agent": agent, "namespace": claim["namespace"], **fields}
    if (epoch := call.number("epoch")) is not None:
        body["epoch"] = epoch
    return client.command(call.hub, route, body)


def tell(call: Call, reply: Reply, sentence: str) -> int:
    """The claim as JSON, or ``sentence`` with its members, ``{paths}`` and ``{until}`` in words. Exit 0."""
    if call.json:
        output.raw(reply.raw)
        return 0
    claim = reply.document
    words = {**claim, "paths": phrase.paths(claim), "until": phrase.until(claim, claim["now"])}
    output.result(sentence.format(**words))
    return 0
