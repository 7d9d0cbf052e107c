"""``synapse-git claim`` as a whole process, beside an interpreter that does nothing."""

from __future__ import annotations

import itertools
import sys

from tests.bench.measure import Row, medians, process
from tests.box import PROGRAMS, Box

ROUNDS = 40
GOAL = 4.0


def rows(box: Box) -> list[Row]:
    """One row: a new claim on a free path, the hub running."""
    box.cwd = box.init("command")
    env = box.env | {"SYNAPSE_AGENT": "ana"}
    box.done("synapse-git", "claim", "-t", "warm", "warm", agent="ana")
    numbers = itertools.count()
    current = [0]

    def claim() -> None:
        current[0] = number = next(numbers)
        process([PROGRAMS / "synapse-git", "claim", "-t", f"t{number}", f"src/{number}"], env, box.cwd)()

    def settle() -> None:
        if current[0]:
            box.synapse("release", "-t", f"t{current[0]}", agent="ana")

    found = medians(
        {"claim": claim, "floor": process([sys.executable, "-c", "pass"], env, box.cwd)}, ROUNDS, {"claim": settle}
    )
    return [Row("`synapse-git claim`, whole process", found["claim"] * 1e3, found["floor"] * 1e3, GOAL)]
