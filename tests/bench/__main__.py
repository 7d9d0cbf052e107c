"""Run the measures named as arguments, or all, and print one table."""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path

from tests.bench.measure import Row, report
from tests.box import Box

MEASURES = (
    "commit",
    "command",
    "tools",
    "load",
    "sessions",
    "core",
    "scale",
    "watch",
    "team",
    "observation",
    "references",
)


def main(chosen: list[str]) -> int:
    """0, whatever the figures are: a busy machine is not a mistake."""
    if unknown := set(chosen) - set(MEASURES):
        print(f"no such measure: {', '.join(sorted(unknown))}. There are: {', '.join(MEASURES)}", file=sys.stderr)
        return 2
    rows: list[Row] = []
    for name in chosen or MEASURES:
        print(f"measuring {name} …", file=sys.stderr)
        with tempfile.TemporaryDirectory(prefix="bench-") as root, Box(Path(root)) as box:
            rows += importlib.import_module(f"tests.bench.{name}").rows(box)
    print(report(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
