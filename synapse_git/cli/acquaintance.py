"""What is to be said where an agent was addressed that nobody has met."""

from __future__ import annotations

from synapse_git import explain
from synapse_git.cli import output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def doubt(answer: Mapping[str, Any], to: str, command: Callable[[str], str]) -> None:
    """Mention it where the ``answer`` says so; ``command``: what to type with another name instead."""
    if answer.get("known", True):
        return
    near = [str(name) for name in answer.get("near", ())]
    meant = f". Meant may be {' or '.join(map(explain.said, near))}: {command(explain.shell(near[0]))}" if near else ""
    output.message(f"note: no agent called {explain.said(to)} has done anything here yet{meant}")
