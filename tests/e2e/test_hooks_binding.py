"""One hub grants in a repository, whatever home or state directory somebody comes with."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.box import Box, Result
from tests.hooking import allowed, claim, refused
from tests.tools.agents import agent


@pytest.fixture
def stray(box: Box, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The variables of an environment that leads to another hub, which is stopped at the end."""
    home = tmp_path / "stray"
    yield {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "GIT_CONFIG_GLOBAL": str(box.home / ".gitconfig")}
    usual, box.state = box.state, home / "state/synapse-git"
    box.stop_hub()
    box.state = usual


def _commit(box: Box, path: str, env: dict[str, str]) -> Result:
    box.write(path, f"{env}\n")
    return box.git("commit", "-qm", "x", path, agent="ben", env=env)


def test_another_home_leads_to_the_hub_that_granted(box: Box, repo: Path, stray: dict[str, str]) -> None:
    """What is held is refused to a commit whose environment names another state directory, and no other hub starts."""
    claim(box, "ana", "src/a.py")
    refused(_commit(box, "src/a.py", stray), "src/a.py")
    allowed(_commit(box, "src/b.py", stray))
    assert not (Path(stray["XDG_STATE_HOME"]) / "synapse-git/address").exists()


def test_a_claim_from_another_home_is_taken_at_the_same_hub(box: Box, repo: Path, stray: dict[str, str]) -> None:
    """It meets what is held, and is seen, from both sides."""
    claim(box, "ana", "src/a.py")
    refused(box.synapse("claim", "src/a.py", agent="ben", env=stray))
    allowed(box.synapse("claim", "-t", "t2", "src/b.py", agent="ben", env=stray))
    assert {claim["task_id"] for claim in box.synapse("status", "--json").json()["claims"]} == {"t1", "t2"}
    assert box.synapse("status", env=stray).out.count("t1") == 1
    told = box.synapse("doctor", env=stray)
    assert told.code == 0 and f"the hub of {box.state} grants in this repository" in told.out, told.text


def test_a_hub_that_is_out_of_reach_is_not_replaced(box: Box, repo: Path, stray: dict[str, str]) -> None:
    """Commits and claims are refused and say how to go on; an override lifts it, installing again ends it."""
    claim(box, "ana", "src/a.py")
    box.stop_hub()
    shutil.move(box.state, box.home / "away")
    for ended in (_commit(box, "src/a.py", stray), box.synapse("claim", "src/b.py", agent="ben", env=stray)):
        assert ended.code != 0
        assert "HUB_UNREACHABLE" in ended.err and str(box.state) in ended.err and "synapse-git install" in ended.err
    told = box.synapse("doctor", env=stray)
    assert told.code == 1 and str(box.state) in told.out, told.text
    allowed(_commit(box, "src/a.py", {**stray, "SYNAPSE_OVERRIDE": "it is gone"}))
    assert "from now on" in allowed(box.synapse("install", env=stray)).err
    allowed(_commit(box, "src/a.py", stray))


def test_a_lost_state_directory_is_not_taken_for_a_free_repository(box: Box, repo: Path) -> None:
    """Whether nothing stands in its place or a hub that began anew: commit, edit, claim, check, status and doctor say
    so. It goes on where the directory comes back, or another hub was chosen.
    """
    allowed(box.synapse("agents", "install", "claude", "--project"))
    claim(box, "ana", "src/a.py")
    box.stop_hub()
    shutil.move(box.state, box.home / "away")

    def all_refuse(why: str) -> None:
        for ended in (
            _commit(box, "src/a.py", {}),
            box.synapse("claim", "src/b.py", agent="ben"),
            box.synapse("check", "src/a.py", agent="ben"),
            box.synapse("status"),
        ):
            assert ended.code != 0 and "HUB_UNREACHABLE" in ended.err and why in ended.err, ended.text
            assert "synapse-git install" in ended.err and "hub start" not in ended.err, ended.text
        reason = agent(box, "claude", "s1", repo).edit(repo / "src/a.py")
        assert why in reason and "hub start" not in reason
        told = box.synapse("doctor")
        assert told.code == 1 and why in told.out, told.text

    all_refuse("is gone from")
    assert not (box.state / "journal.db").exists(), "a hub began anew, in the way of the directory coming back"
    allowed(box.synapse("hub", "start", cwd=box.home))
    all_refuse("is not the one that granted")
    box.stop_hub()
    shutil.rmtree(box.state)
    shutil.move(box.home / "away", box.state)
    refused(_commit(box, "src/a.py", {}), "src/a.py")
    box.stop_hub()
    shutil.rmtree(box.state)
    assert "knows nothing of what was claimed" in allowed(box.synapse("install")).err
    allowed(_commit(box, "src/a.py", {}))


@pytest.mark.parametrize("left", [b"", b"\0\0", b"nonsense", None])
def test_a_damaged_binding_leads_nobody_astray(box: Box, repo: Path, stray: dict[str, str], left: bytes | None) -> None:
    """Its second copy is read; with neither, all refuse, also towards a hub that knows nothing, until it is mended."""
    claim(box, "ana", "src/a.py")
    copies = [repo / ".git/synapse/hub", repo / ".git/synapse.hub"]
    whole = copies[0].read_bytes()
    copies[0].unlink() if left is None else copies[0].write_bytes(left)
    refused(_commit(box, "src/a.py", stray), "src/a.py")
    assert [copy.read_bytes() for copy in copies] == [whole, whole]
    if left is None:
        return
    for copy in copies:
        copy.write_bytes(left)
    for ended in (_commit(box, "src/a.py", stray), box.synapse("claim", "-t", "t2", "docs", agent="ben", env=stray)):
        assert ended.code != 0 and "which hub grants" in ended.err and "synapse-git install" in ended.err, ended.text
    if left:
        allowed(box.synapse("install"))
    else:
        assert "fixed which hub grants here" in allowed(box.synapse("doctor", "--fix")).out
    assert [copy.read_bytes() for copy in copies] == [whole, whole]
    refused(_commit(box, "src/a.py", stray), "src/a.py")


def test_a_named_hub_must_be_the_one_that_granted(box: Box, repo: Path, stray: dict[str, str]) -> None:
    """SYNAPSE_HUB may lead to it by another way, and not to another one."""
    claim(box, "ana", "src/a.py")
    socket = Path((box.state / "address").read_text().strip())
    other_way = Path(box.env["XDG_RUNTIME_DIR"]) / "way"
    other_way.symlink_to(socket.parent)
    refused(_commit(box, "src/a.py", {"SYNAPSE_HUB": str(other_way / socket.name)}), "src/a.py")
    allowed(box.synapse("hub", "start", env=stray, cwd=box.home))
    strange = (Path(stray["XDG_STATE_HOME"]) / "synapse-git/address").read_text().strip()
    ended = _commit(box, "src/a.py", {"SYNAPSE_HUB": strange})
    assert ended.code != 0 and "HUB_UNREACHABLE" in ended.err and strange in ended.err, ended.text
