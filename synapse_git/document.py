"""JSON documents without ``import json``, whose import costs a quick command more than its whole exchange with the hub.

Reads through the scanner that ``json`` itself is built on, writes the few types that requests are made of.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BLANK = " \t\r\n"


class _Settings:
    """What the scanner asks of a decoder."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


_SETTINGS: Any = _Settings


def read(raw: bytes) -> Any:
    """The value of one JSON text.

    Raises:
        ValueError: it is none.
    """
    text = raw.decode().strip(_BLANK)
    try:
        from _json import make_scanner

        value, end = make_scanner(_SETTINGS)(text, 0)
    except (ImportError, StopIteration, SystemError):
        # Not CPython, or not JSON: the scanner cannot raise the error of a module that was not imported.
        import json

        return json.loads(text)
    if end != len(text):
        raise ValueError(f"more than one JSON text, from character {end}")
    return value


def write(value: object) -> str:
    """``value`` (dicts with text keys, lists, tuples, text, numbers, booleans, None) as one line of ASCII."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(key)}: {write(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(write, value)) + "]"
    raise TypeError(f"{type(value).__name__} has no place in a document")


def _quoted(text: str) -> str:
    try:
        from _json import encode_basestring_ascii
    except ImportError:  # not CPython
        from json.encoder import encode_basestring_ascii
    return encode_basestring_ascii(text)
