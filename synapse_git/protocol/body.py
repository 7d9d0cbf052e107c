"""What all bodies share, and how they become values: validated here, once."""

from __future__ import annotations

import json
import math
from typing import Any, TypeVar

import msgspec

from synapse_git.constants import MAX_BODY_BYTES, MAX_JSON_DEPTH

PROBLEM_TYPE = "application/problem+json"
UncheckedNumber = Any  # a number that falls back to a default instead of failing (Spec: INV-LL-3)


T = TypeVar("T")


class Malformed(ValueError):
    """A body that is not what the route takes; the text says where."""


class TooDeep(Malformed):
    """Nesting over `MAX_JSON_DEPTH`."""


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of all requests."""


def parse(raw: bytes | bytearray, kind: type[T]) -> T:
    """``raw`` as a request of ``kind``.

    Raises:
        Malformed: not JSON, not an object, an unknown or ill-typed field.
        TooDeep: nested deeper than `MAX_JSON_DEPTH`.
    """
    _check_depth(raw)
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _parse_leniently(raw, kind)


def _parse_leniently(raw: bytes | bytearray, kind: type[T]) -> T:
    """The fast parser refuses NaN, Infinity and 1e999, which a ``ttl_s`` may be (Spec: INV-LL-3)."""
    try:
        document = json.loads(raw)
        # It lets lone surrogates through, which no later writer of this document could put down.
        json.dumps(document, ensure_ascii=False).encode()
        return msgspec.convert(document, kind)
    except (ValueError, msgspec.ValidationError, RecursionError) as error:
        raise Malformed(str(error)) from None


def _check_depth(raw: bytes | bytearray) -> None:
    if raw.count(b"[") + raw.count(b"{") <= MAX_JSON_DEPTH:
        return
    depth, quoted, escaped = 0, False, False
    for byte in raw[:MAX_BODY_BYTES]:
        if quoted:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                quoted = False
        elif byte == 0x22:
            quoted = True
        elif byte in b"[{":
            depth += 1
            if depth > MAX_JSON_DEPTH:
                raise TooDeep(f"nested deeper than {MAX_JSON_DEPTH}")
        elif byte in b"]}":
            depth -= 1


def finite(value: object, default: float) -> float:
    """``value`` as a finite number, else ``default``: text, booleans, null, NaN and infinities are no numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    try:
        number = float(value)
    except OverflowError:
        return default
    return number if math.isfinite(number) else default
