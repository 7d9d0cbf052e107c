"""Mutual exclusion, fencing and liveness on a running hub, by invariant."""

from __future__ import annotations

from pathlib import Path

import pytest

from synapse_git.constants import DEFAULT_TTL_SECONDS, MAX_CLAIMS_PER_AGENT, MAXIMUM_TTL_SECONDS, MINIMUM_TTL_SECONDS
from synapse_hub.core.commands.claims import ExpireDue, Heartbeat
from synapse_hub.core.commands.guard import RegisterWorktree
from synapse_hub.core.lease import clamp_ttl
from tests.hub.desk import FakeClock, give, running, take


def test_inv_me_1_a_live_task_is_refused_to_another_agent(tmp_path: Path) -> None:
    """LEASE_LIVE, and the incumbent is left as it was."""
    with running(tmp_path) as rig:
        first = rig.answer(take("t1", "ana", ("a",)))
        assert rig.reason(take("t1", "ben", ("z",))) == "LEASE_LIVE"
        assert rig.hub.state.claims["", "t1"].epoch == first["epoch"]


@pytest.mark.parametrize(
    ("held", "asked"), [("src", "src"), ("src", "src/a.py"), ("src/a.py", "src"), ("", "x"), ("x", "")]
)
def test_inv_me_2_equal_ancestor_and_descendant_are_refused(tmp_path: Path, held: str, asked: str) -> None:
    """Overlap is by ancestry, and symmetric."""
    with running(tmp_path) as rig:
        rig.answer(take("t1", "ana", (held,) if held else ()))
        assert rig.reason(take("t2", "ben", (asked,) if asked else ())) == "SCOPE_CONFLICT"


@pytest.mark.parametrize(("held", "asked"), [("src/app", "src/app2"), ("src/app", "src/app-old/x"), ("a/b", "a/c")])
def test_inv_me_2_a_shared_string_prefix_is_no_overlap(tmp_path: Path, held: str, asked: str) -> None:
    """``src/app`` does not hold ``src/app2``."""
    with running(tmp_path) as rig:
        rig.answer(take("t1", "ana", (held,)))
        rig.answer(take("t2", "ben", (asked,)))


def test_inv_me_2_a_refused_claim_of_two_paths_keeps_neither(tmp_path: Path) -> None:
    """All or nothing."""
    with running(tmp_path) as rig:
        rig.answer(take("t1", "ana", ("src",)))
        assert rig.reason(take("t2", "ben", ("docs", "src/a"))) == "SCOPE_CONFLICT"
        rig.answer(take("t3", "cyd", ("docs",)))


def test_what_a_task_lets_go_is_told(tmp_path: Path) -> None:
    """Paths that replace others, and the rest of a tree that is narrowed; nothing where it is renewed or widened."""
    with running(tmp_path) as rig:
        rig.answer(take("t1", "ana", ("docs", "src/a")))
        assert "freed" not in rig.answer(take("t1", "ana", None))
        assert "freed" not in rig.answer(take("t1", "ana", ("lib",), add=True))
        assert rig.answer(take("t1", "ana", ("docs/x", "src")))["freed"] == ["docs", "lib"]
        assert "freed" not in rig.answer(take("t1", "ana", ()))
        assert rig.answer(take("t1", "ana", ("src",)))["freed"] == [""]
        rig.answer(take("t2", "ben", ("docs",)))


def test_inv_me_2_own_claims_never_block_their_owner(tmp_path: Path) -> None:
    """One agent may hold overlapping claims."""
    with running(tmp_path) as rig:
        rig.answer(take("t1", "ana", ("src/a",)))
        rig.answer(take("t2", "ana", ("src",)))


def test_inv_me_2_shared_trees_compare_folded_and_show_as_spelled(tmp_path: Path) -> None:
    """Hosts differ in case and composition; one file has one holder."""
    with running(tmp_path) as rig:
        claim = rig.answer(take("t1", "ana", ("Docs/Résumé.md", "docs/re\u0301sume\u0301.md"), worktree=""))
        assert "Docs/Résumé.md" in claim["paths"]
        assert rig.reason(take("t2", "ben", ("docs/résumé.MD",), worktree="")) == "SCOPE_CONFLICT"
        rig.answer(give("t1"))
        rig.answer(take("t2", "ben", ("docs/résumé.MD",), worktree=""))


def test_inv_me_3_different_trees_never_contend(tmp_path: Path) -> None:
    """Other worktree, other namespace's shared tree: other files."""
    with running(tmp_path) as rig:
        rig.answer(take("t1", "ana", (), worktree="wt:1"))
        rig.answer(take("t2", "ben", (), worktree="wt:2"))
        rig.answer(take("t3", "cyd", (), worktree="", namespace="one"))
        rig.answer(take("t3", "dee", (), worktree="", namespace="two"))


def test_inv_me_3_who_holds_the_same_in_a_tree_besides_is_told(tmp_path: Path) -> None:
    """Of a checkout and the shared tree of its project, in either order; of no other pair, nor what is over or own."""
    with running(tmp_path) as rig:
        for tree, project in (("wt:1", "one"), ("wt:2", "one"), ("wt:3", "two")):
            rig.do(RegisterWorktree(tree, f"/{tree}", "", project, "", "", ()))
            rig.answer(take(tree, "ana", ("src/a", "lib"), worktree=tree, namespace=project))
        told = rig.answer(take("s", "ben", ("src", "docs"), worktree="", namespace="one"))["besides"]
        assert [(one["task_id"], one["owner"], one["changed"]) for one in told] == [
            ("wt:1", "ana", ["src"]),
            ("wt:2", "ana", ["src"]),
        ]
        told = rig.answer(take("c", "cyd", ("Docs/x",), worktree="wt:1", namespace="one"))["besides"]
        assert [(one["task_id"], one["worktree"]) for one in told] == [("s", "")]
        for task, agent, tree in (("own", "ben", "wt:2"), ("sub", "ben/1", "wt:1"), ("far", "cyd", "wt:3")):
            project = "two" if tree == "wt:3" else "one"
            assert "besides" not in rig.answer(take(task, agent, ("docs",), worktree=tree, namespace=project))
        rig.clock.at += 3600
        assert "besides" not in rig.answer(take("late", "dee", ("docs",), worktree="wt:1", namespace="one"))


def test_inv_me_4_the_whole_tree_excludes_everything(tmp_path: Path) -> None:
    """An empty set conflicts with every other claim there, empty or not."""
    with running(tmp_path) as rig:
        rig.answer(take("t1", "ana", ()))
        assert rig.reason(take("t2", "ben", ())) == "SCOPE_CONFLICT"
        assert rig.reason(take("t2", "ben", ("deep/down/here",))) == "SCOPE_CONFLICT"


def test_inv_me_5_the_cap_counts_by_principal_not_by_name(tmp_path: Path) -> None:
    """Rotating names does not multiply the budget; another principal has its own."""
    with running(tmp_path) as rig:
        for number in range(MAX_CLAIMS_PER_AGENT):
            rig.answer(take(f"t{number}", f"agent{number}", (f"d{number}",)))
        assert rig.reason(take("more", "fresh", ("x",))) == "QUOTA_EXCEEDED"
        rig.answer(take("more", "fresh", ("x",), principal="uid:2"))


def test_inv_me_5_leases_that_are_over_do_not_count(tmp_path: Path) -> None:
    """The cap is on live claims, written down as expired or not."""
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        for number in range(MAX_CLAIMS_PER_AGENT):
            rig.answer(take(f"t{number}", "ana", (f"d{number}",), ttl_s=30.0))
        clock.at += 30.0
        rig.answer(take("more", "ana", ("x",)))


def test_inv_ll_4_renewal_is_free_at_the_cap_and_makes_no_second_hold(tmp_path: Path) -> None:
    """Fresh epoch, later end, same single entry."""
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        claims = [rig.answer(take(f"t{n}", "ana", (f"d{n}",))) for n in range(MAX_CLAIMS_PER_AGENT)]
        first = claims[-1]
        clock.at += 10
        again = rig.answer(take(first["task_id"], "ana", None))
        assert again["epoch"] > first["epoch"] and again["lease_expires_at"] == clock.at + 3600
        assert again["paths"] == first["paths"] and len(rig.hub.state.claims) == MAX_CLAIMS_PER_AGENT


def test_inv_ef_1_epochs_rise_over_claims_renewals_and_takeovers(tmp_path: Path) -> None:
    """Strictly, whoever claims what."""
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        epochs = [rig.answer(take("t1"))["epoch"], rig.answer(take("t1"))["epoch"], rig.answer(take("t2"))["epoch"]]
        clock.at += 3600
        epochs.append(rig.answer(take("t1", "ben"))["epoch"])
        assert epochs == sorted(set(epochs))


def test_inv_ef_2_a_stale_epoch_releases_nothing(tmp_path: Path) -> None:
    """Whoever acts on an older lease is told that it moved on."""
    with running(tmp_path) as rig:
        old = rig.answer(take("t1"))["epoch"]
        new = rig.answer(take("t1"))["epoch"]
        assert rig.reason(give("t1", epoch=old)) == "STALE_EPOCH"
        rig.answer(give("t1", epoch=new))


def test_only_the_owner_releases(tmp_path: Path) -> None:
    """NOT_OWNER for another agent, NOT_HELD for what nobody holds."""
    with running(tmp_path) as rig:
        rig.answer(take("t1", "ana"))
        assert rig.reason(give("t1", "ben")) == "NOT_OWNER"
        rig.answer(give("t1", "ana"))
        assert rig.reason(give("t1", "ana")) == "NOT_HELD"


def test_inv_ll_1_a_lease_at_its_end_is_over(tmp_path: Path) -> None:
    """``lease_expires_at <= now`` is not live, to the instant."""
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        end = rig.answer(take("t1", "ana", ttl_s=30.0))["lease_expires_at"]
        clock.at = end - 0.001
        assert rig.reason(take("t2", "ben")) == "SCOPE_CONFLICT"
        clock.at = end
        assert rig.hub.state.live(("", "t1"), clock.at) is None
        rig.answer(take("t2", "ben"))


def test_inv_ll_2_expiry_frees_the_task_and_is_on_record(tmp_path: Path) -> None:
    """Another agent takes the task over; the journal says that the lease ended."""
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        rig.answer(take("t1", "ana", ttl_s=30.0))
        clock.at += 30
        rig.answer(take("t1", "ben"))
    with running(tmp_path, clock) as rig:
        kinds = [record.kind for record in rig.journal._store.replay(0)]
        assert kinds == ["claim_granted", "lease_expired", "claim_granted", "message_sent"]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf"), "90", True, None, 10**400, [1]])
def test_inv_ll_3_what_is_no_finite_number_means_the_default(bad: object) -> None:
    """A lease is never unbounded."""
    assert clamp_ttl(bad) == DEFAULT_TTL_SECONDS


@pytest.mark.parametrize(
    ("asked", "given"), [(1, MINIMUM_TTL_SECONDS), (-5, MINIMUM_TTL_SECONDS), (1e12, MAXIMUM_TTL_SECONDS), (90, 90.0)]
)
def test_inv_ll_3_every_ttl_is_clamped(asked: float, given: float) -> None:
    """Into the window of the contract."""
    assert clamp_ttl(asked) == given


def test_widening_unites_and_the_root_swallows(tmp_path: Path) -> None:
    """``add`` keeps what is held; adding the whole tree claims the whole tree."""
    with running(tmp_path) as rig:
        rig.answer(take("t1", "ana", ("a",)))
        assert rig.answer(take("t1", "ana", ("b",), add=True))["paths"] == ["a", "b"]
        assert rig.answer(take("t1", "ana", (), add=True))["paths"] == []
        assert rig.answer(take("t1", "ana", ("b",), add=True))["paths"] == []


def test_a_task_has_one_tree_at_a_time(tmp_path: Path) -> None:
    """Another tree for a held task is INVALID_SCOPE; none given keeps it; none held needs paths."""
    with running(tmp_path) as rig:
        rig.answer(take("t1", "ana", ("a",)))
        assert rig.reason(take("t1", "ana", ("a",), worktree="wt:2")) == "INVALID_SCOPE"
        assert rig.answer(take("t1", "ana", ("a",), worktree=None))["worktree"] == "wt:1"
        assert rig.reason(take("t9", "ana", None)) == "INVALID_SCOPE"


def test_activity_extends_only_when_a_quarter_is_used(tmp_path: Path) -> None:
    """The end moves; epoch and version stay; a fresh lease writes no event."""
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        granted = rig.answer(take("t1", "ana", ttl_s=100.0))
        seq = rig.hub.state.seq
        clock.at += 25
        rig.answer(Heartbeat(agent="ana"))
        assert rig.hub.state.seq == seq
        clock.at += 1
        (claim,) = rig.answer(Heartbeat(agent="ana"))["claims"]
        assert claim["lease_expires_at"] == clock.at + 100
        assert (claim["epoch"], claim["version"]) == (granted["epoch"], granted["version"])


def test_expiry_is_a_fact_that_only_a_due_lease_becomes(tmp_path: Path) -> None:
    """A sweep proposes; what was extended meanwhile stays."""
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        rig.answer(take("t1", "ana", ttl_s=3600.0))
        rig.answer(ExpireDue(tasks=(("", "t1"), ("", "no such"))))
        assert rig.hub.state.live(("", "t1"), clock.at)


def test_inv_ll_4_a_renewal_keeps_the_length_of_its_lease(tmp_path: Path) -> None:
    """Without a length of its own it never shortens one."""
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        long = rig.answer(take("t1", ttl_s=90_000.0))
        clock.at += 5
        again = rig.answer(take("t1", paths=("more",), add=True, ttl_s=None))
        assert again["lease_expires_at"] == long["lease_expires_at"] + 5


def test_inv_ef_2_a_renewal_can_be_fenced(tmp_path: Path) -> None:
    """With an epoch it renews that very lease or nothing."""
    with running(tmp_path) as rig:
        assert rig.reason(take("t1", epoch=3)) == "NOT_HELD"
        epoch = rig.answer(take("t1"))["epoch"]
        assert rig.reason(take("t1", epoch=epoch + 1)) == "STALE_EPOCH"
        rig.answer(take("t1", paths=None, epoch=epoch))


def test_inv_me_5_a_renewal_is_charged_to_who_renews(tmp_path: Path) -> None:
    """The same name through another account: from then on that one's budget, and no longer the other's."""
    with running(tmp_path) as rig:
        rig.answer(take("t1"))
        rig.answer(take("t1", principal="uid:2", paths=("other",)))
        assert {name: list(held) for name, held in rig.hub.state.by_principal.items()} == {"uid:2": [("", "t1")]}


def test_leases_of_a_clock_gone_wild_keep_what_was_left_of_them(tmp_path: Path) -> None:
    """A machine that once stood decades ahead must not hold paths for decades, nor let go of what is held."""
    wild, right = FakeClock(4_000_000_000.0), FakeClock(1_800_000_000.0)
    with running(tmp_path, wild) as rig:
        rig.answer(take("old", "ana", ("a",), ttl_s=600.0))
        wild.at += 100.0
        rig.answer(take("new", "ana", ("b",), ttl_s=600.0))
    with running(tmp_path, right) as rig:
        right.at += 499.0
        assert rig.reason(take("t", "ben", ("a",))) == "SCOPE_CONFLICT"
        right.at += 1.0
        rig.answer(take("t", "ben", ("a",)))
        assert rig.reason(take("u", "ben", ("b",))) == "SCOPE_CONFLICT"
        right.at += 100.0
        rig.answer(take("u", "ben", ("b",)))
