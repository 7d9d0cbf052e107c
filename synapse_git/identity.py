"""Under which name a command acts, and what proves it; the same for command line and hooks. Stdlib only."""

from __future__ import annotations

import os

from synapse_git import record
from synapse_git.constants import MAX_NAME_BYTES, MAX_SECRET_CHARACTERS
from synapse_git.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Variables in which coding agents hand their session's id to the commands they run.
_SESSIONS = (
    ("CLAUDE_CODE_SESSION_ID", "claude"),
    ("CODEX_SESSION_ID", "codex"),
    ("CODEX_THREAD_ID", "codex"),
    ("GEMINI_SESSION_ID", "gemini"),
    ("OPENCODE_SESSION_ID", "opencode"),
)
_DEFAULT = "agent"
_LOST = (
    "the name under which this worktree acts cannot be read from {}, so nobody can tell whose work this is. "
    "Say it again: synapse-git install --agent NAME"
)
AGENTS = (
    *("CLAUDECODE", "CODEX_SANDBOX", "CURSOR_AGENT", "GEMINI_CLI", "OPENCODE"),
    *(variable for variable, _ in _SESSIONS),
)
"""Any of these says that a coding agent runs the command; the shims know them too."""
SUBAGENT = "/"
"""Stands in a name between an agent and one that works for it."""


def who(explicit: str | None, env: Mapping[str, str], git_dir: str = "") -> str:
    """``--agent``, else SYNAPSE_AGENT, else the harness's session, else the worktree's default, else user@host.

    Raises:
        UsageError: the name given cannot be used.
        CheckoutError: the worktree has a default that cannot be read.
    """
    if explicit is not None:
        return checked(explicit, "--agent")
    if chosen := env.get("SYNAPSE_AGENT"):
        return checked(chosen, "SYNAPSE_AGENT")
    for variable, harness in _SESSIONS:
        if session := env.get(variable, "").strip():
            return alias(harness, session)
    from synapse_git import ancestry  # what most hooks run in says it without

    return ancestry.session(env) or (git_dir and default_agent(git_dir)) or person()


def of_session(harness: str, session: str, subagent: str, env: Mapping[str, str], git_dir: str) -> str:
    """Who a coding agent's tool acts for, so that its shell (see `who`) is the same agent; '' where that is unknown.

    ``session``, ``subagent``: as the harness gives them. An empty one tells nobody from anybody.

    Raises:
        UsageError: SYNAPSE_AGENT cannot be used.
        CheckoutError: as `who`.
    """
    if chosen := env.get("SYNAPSE_AGENT"):
        return checked(chosen, "SYNAPSE_AGENT")
    given = [session, *(env.get(variable, "") for variable, name in _SESSIONS if name == harness)]
    known = next((one.strip() for one in given if one.strip()), "")
    return alias(harness, known, subagent.strip()) if known else git_dir and default_agent(git_dir)


def by_agent(env: Mapping[str, str]) -> bool:
    """Is it a coding agent that runs this, as far as its surroundings tell, and no person?"""
    if any(env.get(variable, "").strip() for variable in AGENTS):
        return True
    from synapse_git import ancestry

    return bool(ancestry.session(env))


def acts_for(agent: str, other: str) -> bool:
    """Is ``other`` a subagent of ``agent``?"""
    return other.startswith(agent + SUBAGENT)


def proof(env: Mapping[str, str]) -> list[tuple[str, str]]:
    """The header by which a request shows that it belongs to the session its name may be bound to; none without one.

    What cannot be a secret is not sent: it would prove nothing.
    """
    secret = env.get("SYNAPSE_SESSION", "")
    fits = secret.isascii() and secret.isprintable() and len(secret) <= MAX_SECRET_CHARACTERS
    return [("Synapse-Session", secret)] if secret and fits else []


def checked(name: str, source: str) -> str:
    """``name`` if an agent may be called so.

    Raises:
        UsageError: blank, too long, or holding what cannot be shown.
    """
    if not _fits(name):
        raise UsageError(
            f"{source}: an agent's name is 1 to {MAX_NAME_BYTES} bytes of printable text", "INVALID_REQUEST"
        )
    return name


def _fits(name: str) -> bool:
    return bool(name.strip()) and name.isprintable() and len(name.encode("utf-8", "replace")) <= MAX_NAME_BYTES


def alias(harness: str, session: str, subagent: str = "") -> str:
    """A short stable name for one session of a harness (and one subagent in it)."""
    name = f"{harness}-{_digest(session + chr(0))[:8]}"
    return f"{name}{SUBAGENT}{_digest(subagent)[:6]}" if subagent else name


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogateescape"))


def sha256(content: bytes) -> str:
    """The digest in hexadecimal. Without ``hashlib``, whose import takes as long as the interpreter's whole start."""
    for module in ("_sha2", "_sha256"):  # since Python 3.12, and before
        try:
            return str(__import__(module).sha256(content).hexdigest())
        except ImportError:
            pass
    import hashlib

    return hashlib.sha256(content).hexdigest()


def default_agent(git_dir: str) -> str:
    """The worktree's default, set by ``install --agent``; '' if none.

    Raises:
        CheckoutError: one was set and cannot be read: under another name, what is held for this one would be free.
    """
    return record.recall(git_dir, _DEFAULT, _read_name, _LOST) or ""


def set_default_agent(git_dir: str, name: str) -> None:
    """Have the worktree's default be ``name``. Raises: CheckoutError, where the git dir cannot be written."""
    record.keep(git_dir, _DEFAULT, f"{name}\n".encode())


def forget_default_agent(git_dir: str) -> None:
    """Have no default in the worktree. Raises: CheckoutError, where the git dir cannot be written."""
    record.drop(git_dir, _DEFAULT)


def _read_name(raw: bytes) -> str | None:
    """A line; one that was cut short may be somebody else's name."""
    try:
        name, end, _ = raw.decode().partition("\n")
    except UnicodeDecodeError:
        return None
    return name if end and _fits(name) else None


def person() -> str:
    """``user@host``: people are never blocked for lack of an identity."""
    import pwd

    try:
        user = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a container that runs under a uid without an entry
        user = f"uid{os.geteuid()}"
    return f"{user}@{os.uname().nodename}"
