"""How long the fault suites run: a short form with the other tests, a long one by ``nox -s faults``."""

from __future__ import annotations

import os

LONG = os.environ.get("SYNAPSE_FAULTS", "") == "long"


def times(short: int, long: int) -> int:
    """How often to cause a fault."""
    return long if LONG else short
