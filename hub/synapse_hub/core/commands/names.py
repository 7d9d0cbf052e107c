"""Commands of names: which session an agent's name belongs to."""

from __future__ import annotations

from synapse_hub.core.commands.base import Acting, Command


class BindName(Command, frozen=True):
    """Let a session have a name. ``key``: the Ed25519 key (base64) that it has proven to have, '' for none."""

    agent: str
    principal: str
    secret_sha256: str
    key: str = ""


class EndSessions(Command, frozen=True):
    """These sessions are no longer connected, each as (name, digest of its secret)."""

    sessions: tuple[tuple[str, str], ...]


class ReleaseName(Acting, frozen=True):
    """A session gives its name up."""


class ReclaimName(Command, frozen=True):
    """The user ``principal`` takes a name back from whatever session owns it."""

    agent: str
    principal: str


NameCommand = BindName | EndSessions | ReleaseName | ReclaimName
