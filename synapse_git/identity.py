"""Under which name a command acts, worked out the same way by command line and hooks. Stdlib only."""

from __future__ import annotations

import os

from synapse_git.constants import MAX_NAME_BYTES
from synapse_git.errors import UsageError
from synapse_git.record import FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Variables in which coding agents hand their session's id to the commands they run.
_SESSIONS = (
    ("CLAUDE_CODE_SESSION_ID", "claude"),
    ("CODEX_SESSION_ID", "codex"),
    ("GEMINI_SESSION_ID", "gemini"),
)


def who(explicit: str | None, env: Mapping[str, str], git_dir: str = "") -> str:
    """``--agent``, else SYNAPSE_AGENT, else the harness's session, else the worktree's default, else user@host.

    Raises:
        UsageError: the name given cannot be used.
    """
    if explicit is not None:
        return checked(explicit, "--agent")
    if chosen := env.get("SYNAPSE_AGENT"):
        return checked(chosen, "SYNAPSE_AGENT")
    for variable, harness in _SESSIONS:
        if session := env.get(variable, "").strip():
            return alias(harness, session)
    return (git_dir and default_agent(git_dir)) or person()


def checked(name: str, source: str) -> str:
    """``name`` if an agent may be called so.

    Raises:
        UsageError: blank, too long, or holding what cannot be shown.
    """
    if not name.strip() or not name.isprintable() or len(name.encode("utf-8", "replace")) > MAX_NAME_BYTES:
        raise UsageError(
            f"{source}: an agent's name is 1 to {MAX_NAME_BYTES} bytes of printable text", "INVALID_REQUEST"
        )
    return name


def alias(harness: str, session: str, subagent: str = "") -> str:
    """A short stable name for one session of a harness (and one subagent in it)."""
    import hashlib

    digest = hashlib.sha256(f"{session}\0{subagent}".encode("utf-8", "surrogateescape")).hexdigest()
    return f"{harness}-{digest[:8]}"


def default_agent(git_dir: str) -> str:
    """The worktree's default, set by ``install --agent``; '' if none."""
    try:
        with open(f"{git_dir}/{FOLDER}/agent", encoding="utf-8") as file:
            return file.read(MAX_NAME_BYTES).strip()
    except (OSError, UnicodeDecodeError):
        return ""


def person() -> str:
    """``user@host``: people are never blocked for lack of an identity."""
    import pwd

    try:
        user = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a container that runs under a uid without an entry
        user = f"uid{os.geteuid()}"
    return f"{user}@{os.uname().nodename}"
