"""``SYNAPSE_OVERRIDE="reason"``: a change goes in although it was refused, and that is put on record durably.

With the hub away the record waits as a file in the state directory, which the hub takes in when it is back.
"""

from __future__ import annotations

import os
import time

from synapse_git import address, scope, starter
from synapse_git.constants import HOOK_DEADLINE_SECONDS, MAX_BODY_BYTES, MAX_NOTE_BYTES
from synapse_git.errors import HubUnreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from synapse_hooks.verdict import Change


def record(change: Change, reason: str, env: Mapping[str, str], *, away: bool = False) -> str:
    """Put on record that ``change`` goes in because of ``reason``; where it was written, in words.

    ``away``: no hub is tried, since one was just now, in vain.

    Raises:
        OSError: it can be written nowhere.
    """
    import json

    # Under one name on every way, so that a hub that hangs now and goes on later has it on record once.
    name = f"{time.time_ns()}-{os.urandom(8).hex()}"
    document = _document(change, reason)
    cut = "" if document["reason_text"] == reason else f" with the first {MAX_NOTE_BYTES} bytes of its reason"
    if not away and _tell(name, json.dumps(document, ensure_ascii=False).encode(), env):
        return f"it is on record{cut}"
    document["spooled_at"] = time.time()
    path = _spool(name, json.dumps(document, ensure_ascii=False).encode(), env)
    return f"it is recorded{cut} in {path} until the hub is back"


def _tell(name: str, body: bytes, env: Mapping[str, str]) -> bool:
    """Did the hub take it?"""
    deadline = time.monotonic() + HOOK_DEADLINE_SECONDS
    try:
        line = starter.connect_running(env, deadline=deadline)
        if line is None:
            return False
        with line:
            headers = [("Content-Type", "application/json"), ("Idempotency-Key", name)]
            return line.ask("POST", "/v2/overrides", headers, body).status == 200
    except HubUnreachable:
        return False


def _spool(name: str, body: bytes, env: Mapping[str, str]) -> str:
    """Write ``body`` so that it survives a crash of the machine; its path."""
    state = address.state_dir(env)
    directory = state + "/overrides"
    for needed in (state, directory):
        os.makedirs(needed, mode=0o700, exist_ok=True)
    path = f"{directory}/{name}.json"
    descriptor = os.open(path + ".draft", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
    os.rename(path + ".draft", path)
    folder = os.open(directory, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
    return path


def _document(change: Change, reason: str) -> dict[str, Any]:
    return {
        "agent": change.agent,
        "namespace": change.namespace,
        "worktree": change.tree,
        "paths": [scope.to_wire(path) for path in _fitting(scope.from_bytes(change.paths[:-1]).split("\0"))],
        "action": change.action,
        "reason_text": reason.encode("utf-8", "replace")[:MAX_NOTE_BYTES].decode("utf-8", "ignore"),
    }


def _fitting(paths: list[str]) -> list[str]:
    """``paths``, or directories above them if there are too many for one request."""
    while sum(map(len, paths)) + 8 * len(paths) > MAX_BODY_BYTES // 4:
        paths = sorted({path.rpartition("/")[0] for path in paths})
    return paths
