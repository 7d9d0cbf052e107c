"""Does the hub live in the same surroundings as the command that asks? Linux only: elsewhere nothing is found."""

from __future__ import annotations

import os
import time

from synapse_git import starter
from synapse_git.cli.health.finding import Finding
from synapse_git.constants import CLIENT_DEADLINE_SECONDS
from synapse_git.errors import HubUnreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SPACES = {"mnt": "mounts", "pid": "processes", "user": "users"}


def examine(env: Mapping[str, str]) -> Iterator[Finding]:
    """A hub that sees other mounts, processes or users than this command does."""
    if not os.path.isdir("/proc/self/ns"):
        return
    try:
        line = starter.connect_running(env, deadline=time.monotonic() + CLIENT_DEADLINE_SECONDS)
    except HubUnreachable:
        return
    if line is None:
        return
    with line:
        pid = line.server_pid()
    # Out of another space for processes the kernel gives no number that means anything here.
    other = [seen for name, seen in _SPACES.items() if _differs(pid, name)] if pid else ["processes"]
    if other:
        yield Finding(
            None,
            f"the hub sees other {' and '.join(other)} than this command: one of them is in a sandbox or a container. "
            "It ends with that, and the same path may be another file there",
            "outside: synapse-git hub stop, then: synapse-git hub start    For good: synapse-git hub install-service",
        )


def _differs(pid: int, name: str) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/ns/{name}") != os.readlink(f"/proc/self/ns/{name}")
    except OSError:
        return False
