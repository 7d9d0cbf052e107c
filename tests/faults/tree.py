"""A copy of the product's sources that may be broken on purpose, and how to run it instead of the checkout's."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
"""The tree that this module lies in."""

_PARTS = ("synapse_git", "hub", "hooks", "tests", "pyproject.toml")


class Edit(NamedTuple):
    """Text that stands exactly once in ``file`` (relative to the tree), and what is put in its place."""

    file: str
    old: str
    new: str


class Breakage(NamedTuple):
    """A guard taken out. ``name`` says what the hub then does."""

    name: str
    edits: tuple[Edit, ...]


def breakage(name: str, *edits: tuple[str, str, str]) -> Breakage:
    """One, from bare texts."""
    return Breakage(name, tuple(Edit(*edit) for edit in edits))


def apply(broken: Breakage, root: Path) -> None:
    """Break the tree at ``root``. Raises: ValueError, where a text is not there exactly once."""
    for edit in broken.edits:
        path = root / edit.file
        text = path.read_text()
        if text.count(edit.old) != 1:
            raise ValueError(f"{broken.name}: the text stands {text.count(edit.old)} times in {edit.file}")
        path.write_text(text.replace(edit.old, edit.new))


@contextmanager
def copy(*broken: Breakage, source: Path = ROOT) -> Iterator[Path]:
    """The root of a scratch copy with each of ``broken`` applied. Bytecode stays behind: it could be of other text."""
    with TemporaryDirectory(prefix="tree-", ignore_cleanup_errors=True) as scratch:
        root = Path(scratch)
        for part in _PARTS:
            if (source / part).is_dir():
                shutil.copytree(source / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source / part, root / part)
        for one in broken:
            apply(one, root)
        yield root


def python_path(root: Path = ROOT) -> str:
    """``PYTHONPATH`` under which the tree at ``root`` comes before any other. Not for ``python -I``."""
    return os.pathsep.join(str(root / part) for part in (".", "hub", "hooks"))


def names(breakages: Sequence[Breakage]) -> list[str]:
    return [one.name for one in breakages]
