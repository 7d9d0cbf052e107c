"""An account that many tests share, where starting a hub for each would take most of their time."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.box import Box


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """The account."""
    with Box(tmp_path_factory.mktemp("crowd")) as made:
        yield made


@pytest.fixture
def desk(crowd: Box) -> Iterator[Box]:
    """That account in a directory of its own, and nothing held afterwards."""
    home = crowd.cwd
    crowd.cwd = Path(tempfile.mkdtemp(dir=home))
    yield crowd
    crowd.done("synapse-git", "release", "--all", agent="bob")
    crowd.cwd = home
