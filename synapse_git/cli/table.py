"""Rows for people: drawn by rich on a terminal, plain aligned text everywhere else."""

from __future__ import annotations

import os
import sys

from synapse_git.cli import output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Row = Sequence[str]


_USUAL = 80


def show(headings: Row, rows: Sequence[Row], env: Mapping[str, str]) -> None:
    """Print ``rows`` under ``headings``. Colour on a terminal only, and never against NO_COLOR."""
    if output.terminal(sys.stdout, env):
        _draw(headings, rows)
    else:
        output.result(aligned(headings, rows))


def aligned(headings: Row, rows: Sequence[Row]) -> str:
    """Columns two blanks apart, without blanks at the end of a line. A very long cell pushes its own row only."""
    columns = zip(headings, *rows, strict=True)
    widths = [max((len(cell) for cell in column if len(cell) <= _USUAL), default=0) for column in columns]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (headings, *rows)
    ]
    return "\n".join(lines)


def _draw(headings: Row, rows: Sequence[Row]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    # NO_COLOR keeps rich from colours, but not from bold type.
    Console(color_system=None if os.environ.get("NO_COLOR") else "auto").print(table)
