"""hub install-service: the unit that it writes, whose files it touches, and what it has the supervisor do."""

from __future__ import annotations

import os
import plistlib
import shutil
import sys
import time
from pathlib import Path

import pytest

from synapse_git.cli import supervisor
from synapse_git.cli.unit import Unit, seal
from synapse_git.errors import CheckoutError, UsageError
from tests.box import Box

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="plays systemd's part")

# Writes down what it is asked; `restart` starts what the unit names, as systemd would.
_SYSTEMCTL = """#!/bin/sh
echo "$*" >> "$HOME/asked"
unit="$XDG_CONFIG_HOME/systemd/user/synapse-git.service"
case "$*" in
*is-active*) test -e "$HOME/active";;
*restart*)
    touch "$HOME/active"
    command=$(sed -n 's/^ExecStart=//p' "$unit")
    ( eval "exec $command" >/dev/null 2>"$HOME/hub.err" ) &;;
*disable*) rm -f "$HOME/active";;
esac
"""


@pytest.fixture
def managed(box: Box) -> Box:
    """A box whose systemd can be reached."""
    box.write("bin/systemctl", _SYSTEMCTL).chmod(0o755)
    box.env["PATH"] = f"{box.cwd}/bin:{box.env['PATH']}"
    return box


@pytest.fixture
def alone(box: Box) -> Box:
    """A box whose systemd cannot be reached, as in a container."""
    box.write("bin/systemctl", "#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n").chmod(0o755)
    box.env["PATH"] = f"{box.cwd}/bin:{box.env['PATH']}"
    return box


def _unit(box: Box) -> Path:
    return Path(box.env["XDG_CONFIG_HOME"]) / "systemd/user/synapse-git.service"


def _asked(box: Box) -> list[str]:
    return (box.home / "asked").read_text().splitlines()


def test_the_service_takes_over_from_a_hub_that_runs(managed: Box) -> None:
    """The unit is written and started; the hub that a command had started makes way, its claims stay."""
    managed.cwd = managed.init()
    managed.done("synapse-git", "claim", "-t", "login", "src", agent="ana")
    before = managed.hub_pid()
    ended = managed.synapse("hub", "install-service")
    assert ended.code == 0, ended.text
    assert ended.out == f"systemd starts the hub at every login, by {_unit(managed)}\n"
    assert managed.hub_pid() not in (0, before)
    assert [claim["task_id"] for claim in managed.synapse("status", "--json").json()["claims"]] == ["login"]
    started = [line for line in _asked(managed) if "show-environment" not in line]
    assert [line.split()[1] for line in started] == ["disable", "daemon-reload", "enable", "restart"]


def test_installing_again_changes_nothing(managed: Box) -> None:
    """The same unit, the same hub, and nobody is told to start anything."""
    managed.done("synapse-git", "hub", "install-service")
    pid, written = managed.hub_pid(), _unit(managed).stat()
    before = len(_asked(managed))
    ended = managed.synapse("hub", "install-service")
    assert ended.out == f"{_unit(managed)} was there already\n"
    assert (managed.hub_pid(), _unit(managed).stat().st_ino) == (pid, written.st_ino)
    assert not [line for line in _asked(managed)[before:] if "restart" in line]


def test_where_systemd_cannot_be_reached_the_commands_are_said(alone: Box) -> None:
    """The unit is written, and what to type stands there; exit 0."""
    ended = alone.synapse("hub", "install-service")
    assert ended.code == 0, ended.text
    assert "\n  systemctl --user daemon-reload\n  systemctl --user enable synapse-git.service\n" in ended.out
    assert _unit(alone).is_file()
    assert alone.synapse("hub", "install-service", "--json").json() == {
        "supervisor": "systemd",
        "file": str(_unit(alone)),
        "changed": False,
        "kept": "",
        "to_type": [
            "systemctl --user daemon-reload",
            "systemctl --user enable synapse-git.service",
            "systemctl --user restart synapse-git.service",
        ],
    }


def test_a_file_that_is_not_ours_is_kept_and_named(alone: Box) -> None:
    """Foreign, or ours and edited: moved aside under a name that is said, each time another."""
    unit = _unit(alone)
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/mine\n")
    first = alone.synapse("hub", "install-service", "--json").json()
    assert Path(first["kept"]).read_text() == "[Service]\nExecStart=/mine\n"
    unit.write_text(unit.read_text() + "# edited\n")
    ended = alone.synapse("hub", "install-service")
    assert f"what was there before is kept in {unit}.kept-2\n" in ended.out
    assert Path(f"{unit}.kept-2").read_text().endswith("# edited\n")


def test_an_older_unit_of_ours_is_replaced_without_a_copy(alone: Box) -> None:
    """One that an earlier version wrote, untouched since, is nobody's work."""
    unit = _unit(alone)
    unit.parent.mkdir(parents=True)
    unit.write_text(seal("# Written by synapse-git hub install-service, sha256 @SEAL@: earlier\n"))
    found = alone.synapse("hub", "install-service", "--json").json()
    assert (found["changed"], found["kept"]) == (True, "")


def test_a_masked_unit_is_moved_aside(alone: Box) -> None:
    """A link to nowhere, as `systemctl mask` makes it, is somebody's decision: kept, and /dev/null stays what it is."""
    unit = _unit(alone)
    unit.parent.mkdir(parents=True)
    unit.symlink_to("/dev/null")
    kept = Path(alone.synapse("hub", "install-service", "--json").json()["kept"])
    assert os.readlink(kept) == "/dev/null"
    assert not unit.is_symlink()


def test_print_shows_the_unit_and_changes_nothing(managed: Box) -> None:
    """What would be written, and no file, no hub, no question to systemd."""
    ended = managed.synapse("hub", "install-service", "--print")
    assert "-I -m synapse_hub run" in ended.out
    assert f'Environment="XDG_STATE_HOME={managed.env["XDG_STATE_HOME"]}"' in ended.out
    assert not _unit(managed).exists()
    assert not (managed.home / "asked").exists()
    assert managed.synapse("hub", "install-service", "--print", "--json").json()["text"].rstrip() == ended.out.rstrip()


def test_uninstall_stops_the_service_and_removes_its_file(managed: Box) -> None:
    """Disabled and gone; again is no error; a file that is not ours stays, exit 4."""
    managed.done("synapse-git", "hub", "install-service")
    ended = managed.synapse("hub", "install-service", "--uninstall")
    assert ended.code == 0, ended.text
    assert not _unit(managed).exists()
    assert _asked(managed)[-1] == "--user disable --now synapse-git.service"
    assert "nothing to do" in managed.synapse("hub", "install-service", "--uninstall").out
    _unit(managed).write_text("mine\n")
    ended = managed.synapse("hub", "install-service", "--uninstall")
    assert ended.code == 4
    assert _unit(managed).read_text() == "mine\n"


def test_a_service_that_does_not_start_is_exit_3(managed: Box) -> None:
    """What the supervisor said is passed on."""
    managed.write("bin/systemctl", '#!/bin/sh\ncase "$*" in *enable*) echo "no such thing"; exit 5;; esac\n')
    ended = managed.synapse("hub", "install-service")
    assert ended.code == 3
    assert "enable synapse-git.service ended with 5: no such thing" in ended.err


def test_a_hub_named_by_the_environment_has_no_service(managed: Box) -> None:
    """SYNAPSE_HUB is somebody else's business: exit 2."""
    assert managed.synapse("hub", "install-service", env={"SYNAPSE_HUB": "/tmp/x.sock"}).code == 2


def test_the_unit_starts_a_hub_on_the_state_directory_of_its_user(managed: Box) -> None:
    """Its first word is this interpreter, and the hub it starts grants."""
    managed.done("synapse-git", "hub", "install-service")
    patience = time.monotonic() + 10
    while not managed.hub_pid() and time.monotonic() < patience:
        time.sleep(0.02)
    assert Path(managed.synapse("hub", "status", "--json").json()["journal"]).is_relative_to(managed.state)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_finds_nothing_wrong_with_the_unit(alone: Box) -> None:
    """systemd's own judgement of the file; a path with blanks and per cent signs is one word."""
    odd = alone.home / "a b 100%"
    odd.mkdir()
    (odd / "python").symlink_to(sys.executable)
    env = {"HOME": str(alone.home), "XDG_STATE_HOME": f"{odd}/state"}
    unit = alone.home / "synapse-git.service"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "executable", f"{odd}/python")
        unit.write_text(supervisor.of("linux", env).unit.text)
    ended = alone.run("systemd-analyze", "verify", "--user", unit)
    assert "synapse-git.service:" not in ended.text, ended.text


def test_the_launchd_agent_is_a_property_list() -> None:
    """Label, program, environment and log, each with whatever characters a path may hold."""
    env = {"HOME": "/Users/a & b", "XDG_STATE_HOME": "/state <x>"}
    keeper = supervisor.of("darwin", env)
    assert keeper.unit.path == "/Users/a & b/Library/LaunchAgents/synapse-git.hub.plist"
    found = plistlib.loads(keeper.unit.text.encode())
    assert found["Label"] == "synapse-git.hub"
    assert found["ProgramArguments"] == [sys.executable, "-I", "-m", "synapse_hub", "run"]
    assert found["EnvironmentVariables"] == {"XDG_STATE_HOME": "/state <x>"}
    assert found["StandardErrorPath"] == "/state <x>/synapse-git/hub.log"
    assert plistlib.loads(supervisor.of("darwin", {"HOME": "/h"}).unit.text.encode())["EnvironmentVariables"] == {}


def test_a_platform_without_a_known_supervisor_says_so() -> None:
    """What to run under one's own is named."""
    with pytest.raises(UsageError, match="synapse-git hub run"):
        supervisor.of("freebsd14", {"HOME": "/h"})


def test_a_unit_that_cannot_be_written_or_removed_is_an_error(tmp_path: Path) -> None:
    """The path and the reason are named, and no draft is taken for it."""
    (tmp_path / "file").write_text("")
    unit = Unit(f"{tmp_path}/file/unit", seal("install-service, sha256 @SEAL@\n"))
    with pytest.raises(CheckoutError, match="cannot write"):
        unit.place()
    (tmp_path / "directory").mkdir()
    with pytest.raises(CheckoutError, match="by hand"):
        Unit(f"{tmp_path}/directory", "x").remove()
