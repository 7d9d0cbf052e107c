"""What an agent reads whose edit was refused: who holds what until when, and what it can do instead."""

from __future__ import annotations

from synapse_git import explain
from synapse_git.errors import AnotherHub, HubUnreachable, Refused


def text(refused: Refused | HubUnreachable) -> str:
    """The reason, in the order in which it is needed."""
    if isinstance(refused, HubUnreachable):
        start = "" if isinstance(refused, AnotherHub) else "Start the hub: synapse-git hub start    "
        return (
            f"{refused.reason}: {refused}\n"
            "Nobody can tell whether others hold this file, so the edit is refused and nothing was changed.\n"
            f"{start}What is wrong: synapse-git doctor\n"
            "The user may allow edits without it: git config synapse.guard.hubDown warn"
        )
    lines = [explain.problem(refused.problem), "Nothing was changed."]
    if conflicts := refused.problem.get("conflicts"):
        holders = list(dict.fromkeys(str(item["owner"]) for item in conflicts))
        lines.append(
            f"Work on other files meanwhile, or ask for it: synapse-git send --to {explain.shell(holders[0])} TEXT    "
            "What is held: synapse-git status    Wait for it: synapse-git claim --wait 10m PATH"
        )
    return "\n".join(lines)
