"""Who is there: a fact of the transport, for the moment it was asked in."""

from __future__ import annotations

from typing import Protocol


class Presence(Protocol):
    """Open sessions."""

    def reaches(self, to: str | None, sender: str) -> bool:
        """Is a session of ``to`` open, or, with None, one of anyone but ``sender``?"""
        ...


class Nobody:
    """No sessions at all."""

    def reaches(self, to: str | None, sender: str) -> bool:  # noqa: ARG002 - the protocol's signature
        return False


NOBODY = Nobody()
