"""After an edit: tell the hub what was written, so that a change which nobody announced can be told from it.

Its answer says whether messages wait for whoever wrote it.
"""

from __future__ import annotations

import os
import select
import stat
import time

from synapse_git import binding, document, identity, scope, starter
from synapse_git.constants import HOOK_DEADLINE_SECONDS
from synapse_git.errors import HubUnreachable
from synapse_hooks import background
from synapse_hooks.tools import place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from synapse_git.checkout import Checkout
    from synapse_hooks.tools.occasion import Occasion

# What is larger is told without its digest being worth the reading.
_LARGEST = 64 * 1024 * 1024
# The harness waits no longer than that to hear of messages.
_PATIENCE_S = 0.25


def send(found: Occasion, env: Mapping[str, str]) -> int:
    """Report it from a process of its own, which the harness does not wait for; failures are nobody's concern.

    How many messages wait of which nobody has told the agent yet, as far as that is known at once.
    """
    reading, writing = os.pipe()
    if background.detach():
        os.close(reading)
        os.write(writing, str(_report(found, env)).encode())
        return 0
    os.close(writing)
    answered = select.select([reading], [], [], _PATIENCE_S)[0]
    told = os.read(reading, 16) if answered else b""
    os.close(reading)
    return int(told or 0)


def _report(found: Occasion, env: Mapping[str, str]) -> int:
    """As `send`."""
    waiting = 0
    for here, paths in place.guarded(found.paths, found.cwd, env):
        agent = identity.of_session(found.harness, found.session, found.subagent, env, here.outer.git_dir)
        if not agent:
            continue
        said = document.write(body(agent, here, paths)).encode()
        try:
            where = binding.under(env, here.outer.common_dir)
            line = starter.connect_running(where, deadline=time.monotonic() + HOOK_DEADLINE_SECONDS)
            if line:
                with line:
                    headers = [("Content-Type", "application/json"), *identity.proof(env)]
                    answer = line.ask("POST", "/v2/edits", headers, said)
                waiting = waiting or (document.read(answer.body).get("waiting", 0) if answer.status == 200 else 0)
        except HubUnreachable:
            break
    return waiting


def body(agent: str, here: Checkout, paths: Sequence[str]) -> dict[str, object]:
    """What is sent: each path with the digest of what stands there now, null where nothing does."""
    edits = [{"path": scope.to_wire(path), "sha256": _digest(here, path)} for path in paths]
    return {"agent": agent, "namespace": here.namespace(), "worktree": here.tree(), "edits": edits}


def _digest(here: Checkout, path: str) -> str | None:
    """Of the file's content; None where there is no file any more."""
    try:
        descriptor = os.open(f"{here.outer.root}/{path}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            return None
        with open(descriptor, "rb", closefd=False) as file:
            return identity.sha256(file.read())
    except OSError:
        return None
    finally:
        os.close(descriptor)
