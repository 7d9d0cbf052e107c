"""Work that nobody waits for."""

from __future__ import annotations

import os


def detach() -> bool:
    """Go on in a process of its own, which nobody waits for: true there, false in the one that goes on at once."""
    if os.fork():
        return False
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    return True
