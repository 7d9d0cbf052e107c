"""What all commands have in common."""

from __future__ import annotations

import msgspec


class Command(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Base of all."""


class Acting(Command, frozen=True, kw_only=True):
    """Base of what is done under an agent's name. ``session``: the SHA-256 of the session secret given, '' for none.

    A name that is bound to another session refuses it before anything else is looked at.
    """

    agent: str
    session: str = ""
