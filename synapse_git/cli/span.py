"""How long a lease shall be, as people type it: ``30``, ``90s``, ``90m``, ``2h``, ``1h30m``, ``1.5d``."""

from __future__ import annotations

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DIGITS = "0123456789."
_NONE = "{!r} is no length of time; give seconds, or a number with s, m, h or d: 90m"


def seconds(given: str) -> float:
    """The time in seconds; the hub brings it into its bounds.

    Raises:
        ValueError: it is no length of time, or none at all.
    """
    length, rest = 0.0, given
    while rest:
        digits = len(rest) - len(rest.lstrip(_DIGITS))
        number, unit, rest = rest[:digits], rest[digits : digits + 1] or "s", rest[digits + 1 :]
        whole, _, part = number.partition(".")
        if unit not in _SECONDS or not whole or "." in part:
            raise ValueError(_NONE.format(given))
        length += float(number) * _SECONDS[unit]
    if not given:
        raise ValueError(_NONE.format(given))
    if length > 0:
        return min(length, 1e12)
    raise ValueError("the time must be longer than nothing")
