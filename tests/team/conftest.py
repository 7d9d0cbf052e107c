"""Teams that tests start from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from tests.box import Box
from tests.team import network
from tests.team.hosts import Host, found, join, origin, pair
from tests.team.network import Network, Wired

missing = cache(network.missing)


@pytest.fixture
def team(box: Box, tmp_path: Path) -> Iterator[tuple[Host, Host]]:
    """As `pair`."""
    with pair(box, tmp_path) as hosts:
        yield hosts


@pytest.fixture
def wired(box: Box, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Wired]:
    """Host a, which owns the namespace, and host b, or those that the test names; each listens to the others."""
    if why := missing():
        pytest.skip(why)
    upstream = origin(box)
    with ExitStack() as stack:
        net = stack.enter_context(Network())
        hosts = [stack.enter_context(net.host(tmp_path, name)) for name in getattr(request, "param", "ab")]
        for host in hosts:
            host.clone(upstream)
        for host in hosts[1:]:
            joined = join(host, *found(hosts[0], at=net.address("a")), "--listen", f"{net.address(host.name)}:0")
            assert joined.code == 0, joined.text
        yield Wired(net, tuple(hosts))
