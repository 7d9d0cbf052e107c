"""How long a lease shall be, as people type it: ``30``, ``90s``, ``90m``, ``2h``, ``1.5d``."""

from __future__ import annotations

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(given: str) -> float:
    """The time in seconds; the hub brings it into its bounds.

    Raises:
        ValueError: it is no length of time, or none at all.
    """
    number, unit = given, 1.0
    if given[-1:] in _SECONDS:
        number, unit = given[:-1], _SECONDS[given[-1]]
    whole, _, part = number.partition(".")
    if not (whole.isascii() and whole.isdigit()) or (part and not (part.isascii() and part.isdigit())):
        raise ValueError(f"{given!r} is no length of time; give seconds, or a number with s, m, h or d: 90m")
    if (length := float(number) * unit) > 0:
        return min(length, 1e12)
    raise ValueError("the time must be longer than nothing")
