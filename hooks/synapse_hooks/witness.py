"""For whom Git has just written files in a checkout: a watcher finds them changed, and only this tells by whom."""

from __future__ import annotations

import os
import time

from synapse_git import checkout, document, identity, starter
from synapse_git.constants import HOOK_DEADLINE_SECONDS
from synapse_git.errors import HubUnreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse_hooks.run import Run


def tell(run: Run) -> None:
    """Say it to a hub that runs. Nobody waits, and a failure is nobody's concern."""
    here = checkout.around_hook(os.getcwd(), run.env)
    run.read_settings(here)
    tree = here.tree()
    if not tree:
        return  # nobody ever claimed anything here
    agent = identity.who(None, run.env, here.outer.git_dir)
    body = {"agent": agent, "namespace": here.namespace(), "worktree": tree, "edits": [], "git": True}
    headers = [("Content-Type", "application/json"), *identity.proof(run.env)]
    try:
        line = starter.connect_running(run.hub(here), deadline=time.monotonic() + HOOK_DEADLINE_SECONDS)
        if line:
            with line:
                line.ask("POST", "/v2/edits", headers, document.write(body).encode())
    except HubUnreachable:
        pass
