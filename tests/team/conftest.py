"""Teams that tests start from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.box import Box
from tests.team.hosts import Host, found, join, origin


@pytest.fixture
def team(box: Box, tmp_path: Path) -> Iterator[tuple[Host, Host]]:
    """Host a, whose hub owns the namespace, and host b, which has joined; each with a clone of one repository."""
    upstream = origin(box)
    with Host(tmp_path, "a") as a, Host(tmp_path, "b") as b:
        a.clone(upstream)
        b.clone(upstream)
        joined = join(b, *found(a))
        assert joined.code == 0, joined.text
        yield a, b
