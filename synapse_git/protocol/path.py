"""Paths on the wire: text, or ``{"b64": …}`` where their bytes are not UTF-8."""

from __future__ import annotations

import binascii
from collections.abc import Iterable

from synapse_git import scope
from synapse_git.errors import InvalidScope

PATHS_TYPE = "application/x-synapse-paths"
WirePath = str | dict[str, str]


def from_wire(path: WirePath) -> str:
    """A path of a document, as text with surrogates (PEP 383).

    Raises:
        InvalidScope: neither text nor a well-formed ``{"b64": …}``.
    """
    if isinstance(path, str):
        # A lone surrogate cannot come out of the parser; a NUL can and is caught where paths are normalised.
        return path
    if set(path) != {"b64"}:
        raise InvalidScope('a path is text, or {"b64": …} where its bytes are not UTF-8')
    try:
        return scope.from_bytes(binascii.a2b_base64(path["b64"], strict_mode=True))
    except ValueError as error:
        raise InvalidScope(f"b64: {error}") from None


def to_wire(path: str) -> WirePath:
    """The inverse of `from_wire`."""
    return scope.to_wire(path)


def paths_to_wire(paths: Iterable[str]) -> list[WirePath]:
    return [to_wire(path) for path in paths]
