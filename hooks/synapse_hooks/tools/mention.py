"""That messages wait, in one line for an agent."""

from __future__ import annotations


def text(waiting: int) -> str:
    """For ``waiting`` of them, at least one."""
    return f"{'1 message waits' if waiting == 1 else f'{waiting} messages wait'} for you: synapse-git inbox"
