"""What a shell may offer where a task id is typed. Never starts a hub, never fails."""

from __future__ import annotations

import time

from synapse_git import client, starter
from synapse_git.errors import SynapseError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_PATIENCE_S = 1.0


def tasks(env: Mapping[str, str], start: str) -> list[tuple[str, str]]:
    """Live tasks whose id begins with ``start``, each with its owner."""
    try:
        line = starter.connect_running(env, deadline=time.monotonic() + _PATIENCE_S)
        if line is None:
            return []
        line.close()
        found = client.claims(env)
    except SynapseError:
        return []
    return sorted((claim["task_id"], claim["owner"]) for claim in found if claim["task_id"].startswith(start))
