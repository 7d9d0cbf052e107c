"""Tell the hub about a worktree that it does not list, or not in the project that it belongs to by now."""

from __future__ import annotations

import os
import time

from synapse_git import binding, document, explain, gitdir, scope, starter
from synapse_git.constants import HOOK_DEADLINE_SECONDS
from synapse_git.errors import HubUnreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from synapse_git.checkout import Checkout


def enter(here: Checkout, agent: str, env: Mapping[str, str]) -> str:
    """Have the worktree listed; that it cannot be is no reason to stop anything. What follows for claims, in words."""
    outer = here.outer
    body = {
        "worktree": outer.tree(),
        "root": scope.to_wire(outer.root),
        "repository": os.fsencode(outer.common_dir).decode("utf-8", "replace"),
        "namespace": outer.namespace(),
        "branch": gitdir.branch(outer.git_dir),
        "agent": agent,
        "layers": ["guard"],
    }
    try:
        line = starter.connect_running(
            binding.under(env, outer.common_dir), deadline=time.monotonic() + HOOK_DEADLINE_SECONDS
        )
        if line:
            with line:
                headers = [("Content-Type", "application/json")]
                answer = line.ask("POST", "/v2/worktrees", headers, document.write(body).encode())
                return explain.relocation(document.read(answer.body), outer.namespace())
    except (HubUnreachable, ValueError):
        pass
    return ""
