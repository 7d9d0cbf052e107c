"""Fixtures that all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.box import Box


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    """A user's account of its own; its hub is stopped at the end, whatever happened."""
    with Box(tmp_path) as made:
        yield made


@pytest.fixture
def repo(box: Box) -> Path:
    """A repository with a base commit and the guard installed. The box's commands run in it."""
    box.cwd = box.init()
    box.done("synapse-git", "install")
    return box.cwd
