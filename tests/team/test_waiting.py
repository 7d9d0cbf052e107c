"""Who waits for what is being taken away, or for what goes to another hub meanwhile."""

from __future__ import annotations

from pathlib import Path

from synapse_git.constants import REVOCATION_SECONDS
from synapse_hub.core.commands.claims import ReleaseClaim
from synapse_hub.core.commands.team import CedeNamespace, GovernNamespace
from tests.hub.desk import FakeClock, running, take
from tests.invariants.test_holding import Asker, settle
from tests.team.hosts import NAMESPACE


def test_what_is_taken_away_is_waited_for_until_its_holders_hub_knows(tmp_path: Path) -> None:
    """Or until its receipts have run out; even if its holder waits for the one who waits: it ends by itself."""
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        rig.answer(take("t1", "ana", ("docs",)))
        for path in ("given back", "run out"):
            rig.answer(take(path, "b/ben", (path,), principal="b/uid:1"))
            if path == "given back":
                assert Asker(rig, take("t2", "b/ben", ("docs",), principal="b/uid:1"), 900).word == "waiting"
            rig.answer(ReleaseClaim(agent="ana", namespace="", task_id=path, force=True, reason_text="urgent"))
            waiter = Asker(rig, take(f"{path} mine", "ana", (path,)), 900)
            assert waiter.word == "waiting"
            if path == "given back":
                rig.answer(ReleaseClaim(agent="b/ben", namespace="", task_id=path))
            else:
                clock.at += REVOCATION_SECONDS
            settle(rig)
            assert waiter.word == "granted"


def test_a_wait_ends_at_once_where_the_namespace_goes_to_another_hub(tmp_path: Path) -> None:
    """It would be woken by nobody here; whoever asked is led to the next owner."""
    with running(tmp_path) as rig:
        rig.answer(GovernNamespace(namespace=NAMESPACE, owner="a", mine=True, remotes=(), exclusion="repository"))
        rig.answer(take("t1", "ana", namespace=NAMESPACE, worktree=""))
        waiter = Asker(rig, take("t2", "ben", namespace=NAMESPACE, worktree=""), 900)
        assert waiter.word == "waiting"
        rig.answer(CedeNamespace(namespace=NAMESPACE, owner="b", term=1, deed={"deed": "d"}))
        settle(rig)
        assert waiter.word == "UNGOVERNED"
