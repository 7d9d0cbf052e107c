"""What is to be said where an agent was addressed that nobody has met."""

from __future__ import annotations

from synapse_git import explain
from synapse_git.cli import output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from synapse_git.client import Reply

_NOBODY_NEAR = "*"


def doubt(reply: Reply, to: str, command: Callable[[str], str]) -> None:
    """Mention it where the answer says so; ``command``: what to type with another name instead."""
    told = reply.headers.get("synapse-unmet")
    if told is None:
        return
    from urllib.parse import unquote

    near = [] if told == _NOBODY_NEAR else list(map(unquote, told.split(",")))
    meant = f". Meant may be {' or '.join(map(explain.said, near))}: {command(explain.shell(near[0]))}" if near else ""
    output.message(f"note: no agent called {explain.said(to)} has done anything here yet{meant}")
