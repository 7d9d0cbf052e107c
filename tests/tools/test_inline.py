"""Hooks in a Codex configuration that is TOML: put in where the user keeps hooks, taken out to the byte."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from synapse_git import equipment
from synapse_git.errors import CheckoutError
from synapse_hooks.tools import agents, hook
from synapse_hooks.tools.configuration import Configuration, chosen
from synapse_hooks.tools.entries import Entries
from synapse_hooks.tools.inline import Inline

OWN = '[[hooks.Stop]] # mine\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "./done"\n'
FOREIGN = {
    "hooks in the middle": f'model = "x" # the best\n\n{OWN}\n[features]\nhooks = true\n',
    "trust beside": f'{OWN}[hooks.state."a"]\ntrusted_hash = "sha256:1"\n',
    "crlf": OWN.replace("\n", "\r\n"),
    "no newline at the end": OWN.rstrip("\n"),
    "same event": OWN.replace("Stop", "PreToolUse"),
    "text like ours": OWN + 'note = """\n[[hooks.PreToolUse]]\n"""\n',
}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """The two files of a project in which Codex looks."""
    (tmp_path / ".codex").mkdir()
    return tmp_path / ".codex/hooks.json", tmp_path / ".codex/config.toml"


def put(file: Path, text: str) -> Path:
    file.write_bytes(text.encode())
    return file


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN.keys())
def test_it_goes_in_beside_the_users_hooks_and_comes_out_to_the_byte(
    files: tuple[Path, Path], tmp_path: Path, text: str, recorded: bool
) -> None:
    """Comments and order stay; what is there is read by Codex as the same entries that the JSON would hold."""
    plain, toml = files[0], put(files[1], text)
    assert chosen("codex", str(plain)) == str(toml)
    made = Configuration("codex", str(toml), {"HOME": str(tmp_path)})
    assert made.state()[0] == "missing"
    made.install()
    assert made.state() == ("installed", "")
    assert toml.read_bytes().decode().startswith(text)
    wanted = json.loads(Entries("codex", hook.dialect("codex")).text())["hooks"]
    found = tomllib.loads(toml.read_text())["hooks"]
    assert all(found[event][-1] == entries[0] for event, entries in wanted.items())
    assert not made.install()["changed"]
    if not recorded:
        for record in (tmp_path / ".local/share/synapse-git/agents").glob("*.record"):
            record.unlink()
    made.uninstall()
    assert toml.read_bytes().decode().rstrip("\r\n") == text.rstrip("\r\n")
    assert not recorded or toml.read_bytes().decode() == text


def test_a_project_has_its_hooks_in_one_place(files: tuple[Path, Path], tmp_path: Path) -> None:
    """Where no hooks are inline, or the JSON is there, the JSON it is; trust alone is no hook."""
    plain, toml = files
    assert chosen("codex", str(plain)) == str(plain)
    put(toml, 'model = "x"\n[hooks.state."a"]\ntrusted_hash = "sha256:1"\n')
    assert chosen("codex", str(plain)) == str(plain)
    put(toml, OWN)
    put(plain, "{}")
    assert chosen("codex", str(plain)) == str(plain)
    assert chosen("claude", str(plain)) == str(plain)
    put(toml, OWN + Inline("codex", hook.dialect("codex")).text())
    assert chosen("codex", str(plain)) == str(toml)


def test_what_cannot_be_added_to_is_refused_and_untouched(files: tuple[Path, Path], tmp_path: Path) -> None:
    """Arrays written inline have no room for tables, and what is no TOML is mended first."""
    for text in ("hooks = { Stop = [] }\nx = 1\n", "[hooks]\nPreToolUse = []\n", "hooks = [\n", "hooks = 1\n"):
        toml = put(files[1], text)
        with pytest.raises(CheckoutError, match=r"config\.toml"):
            Configuration("codex", str(toml), {"HOME": str(tmp_path)}).install()
        assert toml.read_text() == text


def test_status_sees_it_there(files: tuple[Path, Path], tmp_path: Path) -> None:
    """Codex counts as one that asks, whichever of the files says so."""
    env = {"HOME": str(tmp_path)}
    put(files[1], OWN)
    Configuration("codex", str(files[1]), env).install()
    assert equipment.covering(str(tmp_path), env) == ["codex"]
    (found,) = agents.act(["status", "codex", "--scope", "user"], {"HOME": str(tmp_path)})["agents"]
    assert (found["file"], found["state"]) == (str(files[1]), "installed")


def test_the_definition_that_a_user_has_trusted_does_not_change() -> None:
    """Codex hashes it and asks anew when that differs: whatever changes here makes every user trust it again."""
    said = json.loads(Entries("codex", hook.dialect("codex")).text())["hooks"]
    command = '"${XDG_DATA_HOME:-$HOME/.local/share}/synapse-git/agent-hook" codex '
    plain = {event: [{"type": "command", "command": command + event, "timeout": 10}] for event in said}
    assert {event: entries[0]["hooks"] for event, entries in said.items()} == plain
    assert {event: entries[0].get("matcher") for event, entries in said.items()} == {
        "PreToolUse": "apply_patch|Edit|Write|Bash",
        "PostToolUse": "apply_patch|Edit|Write",
        "SessionStart": None,
        "Stop": None,
    }
