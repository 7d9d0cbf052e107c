"""Up to which message an agent's inbox was shown: what ``ack`` means when it is given no number."""

from __future__ import annotations

import os

from synapse_git import address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def last(env: Mapping[str, str], agent: str) -> int:
    """The number of the newest message shown to ``agent``; 0 if none was."""
    try:
        with open(_file(env, agent), "rb") as file:
            return int(file.read(32))
    except (OSError, ValueError):
        return 0


def note(env: Mapping[str, str], agent: str, seq: int) -> None:
    """Everything up to message ``seq`` was shown. Where that cannot be kept, ``ack`` needs its number."""
    if seq <= last(env, agent):
        return
    path = _file(env, agent)
    draft = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(b"%d" % seq)
        os.replace(draft, path)
    except OSError:
        pass


def _file(env: Mapping[str, str], agent: str) -> str:
    import hashlib

    return f"{address.state_dir(env)}/shown/{hashlib.sha256(agent.encode()).hexdigest()[:32]}"
