"""What the author of a refused change reads: who holds what until when, and what to type next."""

from __future__ import annotations

from synapse_git import explain, identity
from synapse_git.errors import AnotherHub
from synapse_hooks.verdict import OVERRIDE, overriding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from synapse_git.errors import HubUnreachable
    from synapse_hooks.operation import Operation


class Circumstances:
    """What a refusal has to know about the change beyond the verdict.

    ``operation``: what is interrupted; ``index``: the index file that was judged, '' if none was; ``unborn``: this
    would be the first commit; ``root``: what names are relative to, '' where its author is there; ``listed``,
    ``spelled``: the paths as Git and as claims call them, in the same order.
    """

    __slots__ = ("index", "listed", "operation", "root", "spelled", "unborn")

    def __init__(self, operation: Operation, listed: bytes, spelled: bytes, index: str = "") -> None:
        self.operation = operation
        self.listed = listed
        self.spelled = spelled
        self.index = index
        self.unborn = False
        self.root = ""


def denied(document: Mapping[str, Any], around: Circumstances, env: Mapping[str, str]) -> str:
    """The text for a change that the hub refused. ``env``: tells whose change it is, an agent's or a person's."""
    lines = [explain.problem(document)]
    conflicts = document.get("conflicts") or []
    if around.operation.way_out:
        lines.append(f"Give up the {around.operation.name}:  {around.operation.way_out}")
    elif conflicts and around.index:
        from synapse_hooks import omission

        lines.append(omission.advice(conflicts, document.get("changed_total", 0), around))
    if holders := list(dict.fromkeys(explain.said(item["owner"]) for item in conflicts)):
        lines.append(f"Or ask {', '.join(holders)} to hand over or release, or wait until the lease has run out.")
    lines += explain.takeovers(document, env)
    lines += _on_record(around.operation, env)
    if pending := document.get("pending"):
        lines.append(f"Messages wait for you ({pending}): synapse-git inbox")
    return "\n".join(lines)


def unknown(error: HubUnreachable, around: Circumstances, env: Mapping[str, str]) -> str:
    """The text for a change that nobody could judge; as `denied`."""
    lines = [
        f"{error.reason}: {error}",
        "Nobody can tell whether others hold what this changes, so it is refused.",
    ]
    if not isinstance(error, AnotherHub):
        lines.append(
            "If it hangs: synapse-git hub stop    Start it: synapse-git hub start    What is wrong: synapse-git doctor"
        )
    if around.operation.way_out:
        lines.append(f"Give up the {around.operation.name}:  {around.operation.way_out}")
    return "\n".join([*lines, *_on_record(around.operation, env)])


def _on_record(operation: Operation, env: Mapping[str, str]) -> list[str]:
    """The last resort, of people: not for an agent to try, and not once more where it did not count a moment ago."""
    if overriding(env):
        return []
    if identity.by_agent(env):
        return ["Or ask the person you work for, who may let it through, on record."]
    return [f'Or go ahead, on record:  {OVERRIDE}="why" {operation.again}']
