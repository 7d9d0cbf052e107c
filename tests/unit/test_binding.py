"""Which hub a repository is bound to, and what an environment that leads elsewhere is turned into."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from synapse_git import address, binding, record, starter
from synapse_git.errors import AnotherHub, CheckoutError


@pytest.fixture
def bound(tmp_path: Path) -> tuple[str, dict[str, str], dict[str, str]]:
    """A common dir that is bound to the hub of the first environment, and a second environment."""
    usual, stray = ({"HOME": str(tmp_path / home)} for home in ("usual", "stray"))
    state = Path(address.state_dir(usual))
    state.mkdir(parents=True)
    (state / "address").write_text("/run/hub.sock\n")
    binding.confirm(usual, str(tmp_path / "git"), "1f")
    return str(tmp_path / "git"), usual, stray


def test_the_usual_environment_leads_to_that_hub_and_no_other(
    bound: tuple[str, dict[str, str], dict[str, str]],
) -> None:
    """Its state directory may have been lost, and be another hub's by now; where nobody granted, any hub will do."""
    common_dir, usual, stray = bound
    assert binding.under(usual, common_dir) == {**usual, "SYNAPSE_HUB_ID": "1f"}
    assert binding.under(stray, common_dir + "/none") is stray


def test_another_environment_leads_to_the_bound_hub(bound: tuple[str, dict[str, str], dict[str, str]]) -> None:
    """Whatever its home is."""
    common_dir, usual, stray = bound
    led = binding.under(stray, common_dir)
    assert address.state_dir(led) == address.state_dir(usual) and address.expected(led) == "1f"


def test_a_hub_that_cannot_be_asked_is_not_replaced(bound: tuple[str, dict[str, str], dict[str, str]]) -> None:
    """Its state directory is gone, or another user's."""
    common_dir, usual, stray = bound
    binding.write(common_dir, binding.Binding("/nowhere/synapse-git", "1f", ""))
    with pytest.raises(AnotherHub, match="/nowhere/synapse-git, which cannot be reached"):
        binding.under(usual, common_dir)
    with pytest.raises(AnotherHub, match="cannot be reached"):
        binding.under(stray, common_dir)


def test_no_hub_begins_anew_in_the_place_of_a_bound_one(bound: tuple[str, dict[str, str], dict[str, str]]) -> None:
    """Its journal is gone, and may come back."""
    common_dir, usual, _ = bound
    now = time.monotonic()
    with pytest.raises(AnotherHub, match="is gone from"):
        starter.connect(binding.under(usual, common_dir), deadline=now, start_deadline=now)
    assert os.listdir(address.state_dir(usual)) == ["address"]


def test_a_hub_that_was_named_is_found_without_its_name(bound: tuple[str, dict[str, str], dict[str, str]]) -> None:
    """What SYNAPSE_HUB led to when it granted is asked from then on."""
    common_dir, usual, stray = bound
    binding.forget(common_dir)
    socket = common_dir + "/hub.sock"
    binding.confirm({**stray, "SYNAPSE_HUB": socket}, common_dir, "2e")
    Path(socket).touch()
    assert binding.under(usual, common_dir)["SYNAPSE_HUB"] == socket
    named = {**usual, "SYNAPSE_HUB": socket}
    assert binding.under(named, common_dir) == {**named, "SYNAPSE_HUB_ID": "2e"}


def test_the_same_hub_is_written_down_once(bound: tuple[str, dict[str, str], dict[str, str]]) -> None:
    """Reached another way it is still the same; one with another id is another."""
    common_dir, usual, stray = bound
    for hub_id, state in (("1f", usual), ("2e", stray)):
        binding.confirm(stray, common_dir, hub_id)
        found = binding.read(common_dir)
        assert found and found.state == address.state_dir(state)


@pytest.mark.parametrize("left", [b"", b"nonsense", b"\0\0", b"/state\0\0/socket", b"\x001f\0"])
def test_what_names_no_hub_is_no_binding(bound: tuple[str, dict[str, str], dict[str, str]], left: bytes) -> None:
    """Without an id or a place the second copy is read, and without that nobody guesses."""
    common_dir, usual, stray = bound
    first, second = (Path(copy) for copy in record.copies(common_dir, binding.NAME))
    first.write_bytes(left)
    assert address.state_dir(binding.under(stray, common_dir)) == address.state_dir(usual)
    for copy in (first, second):
        copy.write_bytes(left)
    with pytest.raises(CheckoutError):
        binding.under(stray, common_dir)
