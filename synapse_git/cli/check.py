"""``check``: would an edit of these paths be refused? Changes nothing, makes no ids."""

from __future__ import annotations

from synapse_git import client, explain, policy, scope
from synapse_git.cli import output, phrase
from synapse_git.cli.verb import Argument, Verb, raw
from synapse_git.errors import EXIT_REFUSED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from synapse_git.cli.call import Call


def run(call: Call) -> int:
    """Exit 0: free. Exit 1 with the conflicts (SCOPE_CONFLICT) if others hold any of it, with NAME_OWNED if the name is
    another session's, or with UNCLAIMED if the policy wants a claim of one's own.
    """
    here = call.checkout()
    directory = call.directory()
    paths = [here.locate(path, directory) for path in call.texts("paths")]
    agent = call.agent()
    wanted = policy.of(here).unclaimed
    namespace, tree = here.namespace(), here.tree()
    if not namespace and not tree and wanted == "allow":
        # Nobody ever claimed here: no hub knows this place.
        return _free(call, paths, None)
    reply = client.judge(call.hub, agent, namespace, tree, paths, unclaimed=wanted)
    verdict = reply.document
    if verdict["verdict"] == "allow":
        return _free(call, paths, reply.raw)
    if verdict["conflicts"]:
        first = verdict["conflicts"][0]
        verdict.setdefault("fix", f"Ask {explain.said(first['owner'])} to hand it over; what it is for: {_show(first)}")
    if call.json:
        output.structure(verdict)
    else:
        output.result(explain.problem(verdict))
    return EXIT_REFUSED if verdict["verdict"] == "refuse" else 0


def _show(claim: Mapping[str, Any]) -> str:
    return f"synapse-git show {phrase.shell(claim['task_id'])}"


def _free(call: Call, paths: list[str], answer: bytes | None) -> int:
    if not call.json:
        output.result(f"free: {phrase.listed(paths)}")
    elif answer is not None:
        output.raw(answer)
    else:
        output.structure({"verdict": "allow", "conflicts": [], "unclaimed": [scope.to_wire(path) for path in paths]})
    return 0


VERBS = (
    Verb(
        "check",
        run,
        summary="Would an edit be refused?",
        help="Ask whether an edit of these paths would run into somebody else's claim, or would need one of your own "
        "where synapse.guard.unclaimed says so. Exit status 1 and the conflicts if so. Nothing changes by asking.",
        examples=(("check src/api/app.py", "one file"), ("check src docs && make format", "go on only if all is free")),
        argument=Argument("paths", "PATH", many=True, convert=raw, completes="file"),
    ),
)
