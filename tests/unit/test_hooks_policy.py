"""What a repository wants of its guard: read, checked, and only ever tightened by the file that it tracks."""

from __future__ import annotations

from pathlib import Path

import pytest

from synapse_git import policy
from synapse_git.checkout import Checkout
from synapse_git.errors import CheckoutError


def _of(root: Path, tracked: str | bytes = "", **settings: str) -> policy.Policy:
    """The policy under ``guard_hubdown="warn"`` and the like, with ``tracked`` in the file."""
    if tracked:
        (root / policy.FILE).write_bytes(tracked if isinstance(tracked, bytes) else tracked.encode())
    here = Checkout(str(root), str(root / ".git"), str(root / ".git"), {})
    here.settings = {f"synapse.{name.replace('_', '.')}": value for name, value in settings.items()}
    return policy.of(here)


def test_without_any_word_the_defaults_hold(tmp_path: Path) -> None:
    """Unknown is refused, unclaimed is allowed, and claims taken by name are given back by name."""
    found = _of(tmp_path)
    assert (found.unclaimed, found.hub_down, found.owner_down, found.pre_push) == ("allow", "refuse", "refuse", "warn")
    assert (found.auto_claim, found.on_conflict, found.releases) == (True, "report", False)
    assert (found.release_on("login"), found.release_on(policy.AUTOMATIC + "1")) == ("manual", "commit")


def test_gits_configuration_decides(tmp_path: Path) -> None:
    """Every key, in Git's own spellings of yes and no."""
    found = _of(
        tmp_path,
        guard_unclaimed="Warn",
        guard_hubdown="warn",
        guard_ownerdown="warn",
        guard_autoclaim="off",
        guard_releaseon="merge",
        guard_prepush="off",
        watch_onconflict="restore",
    )
    assert (found.unclaimed, found.hub_down, found.owner_down, found.pre_push) == ("warn", "warn", "warn", "off")
    assert (found.auto_claim, found.on_conflict, found.releases) == (False, "restore", True)
    assert found.release_on("login") == found.release_on(policy.AUTOMATIC + "1") == "merge"


def test_the_tracked_file_may_come_from_windows(tmp_path: Path) -> None:
    """With a mark at its beginning, and a carriage return at the end of each line."""
    assert _of(tmp_path, '\ufeff[guard]\r\nunclaimed = "refuse"\r\n').unclaimed == "refuse"


def test_the_tracked_file_tightens(tmp_path: Path) -> None:
    """What it says counts where it is stricter than what holds without it."""
    found = _of(
        tmp_path,
        '[guard]\nunclaimed = "refuse"\nhub_down = "refuse"\nauto_claim = true\npre_push = "refuse"\n'
        'release_on = "merge"\n[watch]\non_conflict = "restore"\n',
        guard_hubdown="warn",
        guard_autoclaim="false",
    )
    assert (found.unclaimed, found.hub_down, found.pre_push, found.on_conflict) == (
        "refuse",
        "refuse",
        "refuse",
        "restore",
    )
    assert (found.auto_claim, found.looser) == (True, ())
    assert (found.release_on("login"), found.release_on(policy.AUTOMATIC + "1")) == ("manual", "merge")


def test_the_tracked_file_never_loosens(tmp_path: Path) -> None:
    """What would weaken the guard does not count, and is told to whoever asks."""
    found = _of(
        tmp_path,
        '[guard]\nunclaimed = "allow"\nhub_down = "warn"\nowner_down = "warn"\nauto_claim = false\n'
        'pre_push = "off"\nrelease_on = "commit"\n',
        guard_unclaimed="refuse",
    )
    assert (found.unclaimed, found.hub_down, found.owner_down, found.pre_push) == ("refuse", "refuse", "refuse", "warn")
    assert (found.auto_claim, found.release_on("login")) == (True, "manual")
    assert set(found.looser) == {f"guard.{key.name}" for key in policy.KEYS if key.table == "guard"}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"guard_hubdown": "maybe"}, "synapse.guard.hubDown = maybe"),
        ({"guard_autoclaim": "perhaps"}, "synapse.guard.autoClaim = perhaps"),
        ({"guard_unclaimed": ""}, "synapse.guard.unclaimed = "),
        ({"guard_hubdwn": "warn"}, "synapse.guard.hubdwn"),
        ({"watch_onconflicts": "report"}, "synapse.watch.onconflicts"),
    ],
)
def test_what_is_no_policy_in_git_is_named(tmp_path: Path, settings: dict[str, str], said: str) -> None:
    """The key and its value are named, and what to type."""
    with pytest.raises(CheckoutError) as caught:
        _of(tmp_path, **settings)
    assert said in str(caught.value)
    assert "git config" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('[guard]\n\nunclaimed = "maybe"\n', 3, "guard.unclaimed = 'maybe' is none of"),
        ("[guard]\nhub_down = true\n", 2, "guard.hub_down"),
        ('[guard]\nauto_claim = "true"\n', 2, "guard.auto_claim"),
        ("[guard]\npre_push = [1]\n", 2, "guard.pre_push"),
        ('[guard]\nhubDown = "warn"\n', 2, "guard.hubDown is no policy"),
        ("# x\n[gaurd]\n", 2, "gaurd is no table"),
        ('unclaimed = "refuse"\n', 1, "unclaimed is no table"),
        ('[watch]\nunclaimed = "refuse"\n', 2, "watch.unclaimed is no policy"),
        ("[guard\n", 1, "is not TOML"),
        ("[guard]\nunclaimed =\n", 2, "is not TOML"),
        (b"[guard]\nunclaimed = '\xff'\n", 0, "not UTF-8"),
        ("#" * (policy.MAX_FILE_BYTES + 1), 0, "is over"),
    ],
)
def test_what_is_no_policy_in_the_file_is_named(tmp_path: Path, text: str | bytes, line: int, said: str) -> None:
    """File and line are named, so that it can be mended."""
    with pytest.raises(CheckoutError) as caught:
        _of(tmp_path, text)
    assert said in str(caught.value)
    assert str(tmp_path / policy.FILE) in str(caught.value)
    assert not line or f"line {line}" in str(caught.value)
