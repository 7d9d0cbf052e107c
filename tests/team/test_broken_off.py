"""A transfer that is broken off by killing either hub: begun again it comes to one owner, with all claims."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time

import pytest

from tests.box import PROGRAMS
from tests.faults.scale import LONG
from tests.team.hosts import NAMESPACE, Host, until
from tests.team.test_transfer import epochs, owner, three

__all__ = ["three"]

ROUNDS = 30
# A transfer takes about this long from the command's start.
LONGEST_S = 0.6

pytestmark = pytest.mark.skipif(not LONG, reason="minutes: SYNAPSE_FAULTS=long")


def broken_off(giver: Host, heir: Host, victim: Host, after_s: float) -> None:
    """Begin to transfer from ``giver`` to ``heir``, and kill the hub of ``victim``; then have both run again."""
    command: list[str | os.PathLike[str]] = [PROGRAMS / "synapse-git", "team", "transfer", NAMESPACE, heir.name]
    begun = subprocess.Popen(
        command, cwd=giver.cwd, env=giver.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(after_s)
    if pid := victim.hub_pid():
        os.kill(pid, signal.SIGKILL)
    begun.wait(60)
    for host in (giver, heir):
        host.done("synapse-git", "hub", "start")


def test_inv_mh_1_a_transfer_that_is_broken_off_anywhere_is_finished_by_typing_it_again(
    three: tuple[Host, Host, Host],
) -> None:
    """In between one hub grants or none; in the end the heir, and who held something holds it under its epoch."""
    a, b, c = three
    chance = random.Random(7)
    for host, agent in ((a, "ana"), (b, "ben"), (c, "cy")):
        assert host.synapse("claim", f"src/{host.name}.py", "-t", agent, agent=agent).code == 0
    before = epochs(a)
    giver, heir = a, b
    for _ in range(ROUNDS):
        broken_off(giver, heir, chance.choice((giver, heir)), chance.uniform(0.05, LONGEST_S))
        codes = [host.synapse("claim", "src", "-t", "all", agent="dan").code for host in (giver, heir)]
        assert 0 not in codes
        until(lambda: giver.synapse("team", "transfer", NAMESPACE, heir.name).code == 0, 30)  # noqa: B023 - called at once
        assert owner(giver) == owner(heir) == heir.name
        assert epochs(heir) == before
        giver, heir = heir, giver
    until(lambda: c.synapse("renew", "-t", "cy", agent="cy").code == 0, 30)
