"""Overrides that hooks wrote down while no hub could be asked: put on record as soon as one can."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable

from synapse_git.protocol.body import Malformed, parse
from synapse_git.protocol.guard import OverrideBody
from synapse_hub.core.commands import AnyCommand, Keyed
from synapse_hub.core.commands.guard import RecordOverride
from synapse_hub.core.outcome import Decided
from synapse_hub.hub import Answered
from synapse_hub.web.desk import Rejected, agent_name
from synapse_hub.web.overrides import command_of
from synapse_hub.web.party import of_user

log = logging.getLogger("synapse_hub")


def ingest(directory: str, transact: Callable[[AnyCommand], Answered]) -> int:
    """Record what waits in ``directory``, oldest first; how many. A file goes when it is on record, never before.

    Each goes by its name as it would by an idempotency key: what the hub was told as well, or had recorded when it was
    killed, is not recorded again. A file that cannot be understood is kept as ``….rejected``.
    """
    try:
        names = sorted(name for name in os.listdir(directory) if name.endswith(".json"))
    except FileNotFoundError:
        return 0
    recorded = 0
    for name in names:
        path = os.path.join(directory, name)
        try:
            command = _read(path)
        except (Malformed, Rejected) as error:
            log.warning("override %s cannot be read (%s); kept as %s.rejected", name, error, name)
            os.replace(path, path + ".rejected")
            continue
        if isinstance(transact(command).outcome, Decided):
            os.unlink(path)
            recorded += 1
    return recorded


def _read(path: str) -> Keyed | RecordOverride:
    """Raises: Malformed, Rejected."""
    with open(path, "rb") as file:
        body = parse(file.read(), OverrideBody)
    key = os.path.basename(path).removesuffix(".json")
    return command_of(body, agent_name(body.agent), of_user(os.geteuid()), key)
