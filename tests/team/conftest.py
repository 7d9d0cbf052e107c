"""Teams that tests start from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.box import Box
from tests.team.hosts import Host, pair


@pytest.fixture
def team(box: Box, tmp_path: Path) -> Iterator[tuple[Host, Host]]:
    """As `pair`."""
    with pair(box, tmp_path) as hosts:
        yield hosts
