"""Time things in turns, so that a busy moment of the machine hits all of them alike."""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

Action = Callable[[], object]


class Row(NamedTuple):
    """One line of the report. ``goal``: the ratio that ``value / floor`` must not pass (``at_least``: must reach)."""

    what: str
    value: float
    floor: float
    goal: float
    unit: str = "ms"
    at_least: bool = False

    @property
    def ratio(self) -> float:
        return self.value / self.floor if self.floor else float("inf")

    @property
    def met(self) -> bool:
        return self.ratio >= self.goal if self.at_least else self.ratio <= self.goal


def medians(actions: Mapping[str, Action], rounds: int, before: Mapping[str, Action] | None = None) -> dict[str, float]:
    """The median of what `turns` measured of each action, in seconds."""
    return {name: statistics.median(seconds) for name, seconds in turns(actions, rounds, before).items()}


def turns(
    actions: Mapping[str, Action], rounds: int, before: Mapping[str, Action] | None = None
) -> dict[str, list[float]]:
    """Seconds that each action took in each of ``rounds``; ``before`` prepares it and is not timed.

    The order turns with every round, so that none profits from what its neighbour left in a cache.
    """
    taken: dict[str, list[float]] = {name: [] for name in actions}
    names = list(actions)
    gc.disable()
    try:
        for turn in range(rounds + 1):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                if before and name in before:
                    before[name]()
                start = time.perf_counter()
                actions[name]()
                if turn:  # the first round warms up
                    taken[name].append(time.perf_counter() - start)
    finally:
        gc.enable()
    return taken


def process(argv: Sequence[str | Path], env: Mapping[str, str], cwd: Path, *, stdin: Path | str = os.devnull) -> Action:
    """An action that runs a program to its end, which must be a good one."""

    quiet = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in (1, 2)]
    quiet.append((os.POSIX_SPAWN_OPEN, 0, str(stdin), os.O_RDONLY, 0))
    words = [str(word) for word in argv]

    def run() -> None:
        # Not `subprocess`: its own cost would be added to both sides of every ratio.
        os.chdir(cwd)
        child = os.posix_spawnp(words[0], words, env, file_actions=quiet)
        if status := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            raise RuntimeError(f"{words} ended with {status} in {cwd}")

    return run


def report(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = ["| what | measured | floor | ratio | goal | met |", "|---|---|---|---|---|---|"]
    for row in rows:
        sign = "≥" if row.at_least else "≤"
        met = "yes" if row.met else "**no**"
        figures = f"{_figure(row.value)} {row.unit} | {_figure(row.floor)} {row.unit} | {row.ratio:.2f}"
        lines.append(f"| {row.what} | {figures} | {sign} {row.goal:g} | {met} |")
    return "\n".join(lines)


def _figure(value: float) -> str:
    """Three digits that matter, and no exponent."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
