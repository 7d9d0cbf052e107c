"""Settings that keep hooks from running: found wherever the harness looks, in the order in which it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from synapse_git import switches

LOCAL, PROJECT, USER = ".claude/settings.local.json", ".claude/settings.json", "home/.claude/settings.json"
OFF, ON = '{"disableAllHooks": true}', '{"disableAllHooks": false}'
NAMED = 'hooksConfig.disabled = ["synapse-git BeforeTool"]'
BY_NAME = '{"hooksConfig": {"disabled": ["synapse-git BeforeTool"]}}'

CODEX, CODEX_USER = ".codex/config.toml", "home/.codex/config.toml"
GEMINI, GEMINI_USER = ".gemini/settings.json", "home/.gemini/settings.json"
COPILOT = (".github/hooks/synapse-git.json", ".github/copilot/settings.json", "home/.copilot/settings.json")

# Harness, its files, what decides and in which of them.
SWITCHED = [
    ("claude", {LOCAL: OFF}, "disableAllHooks = true", LOCAL),
    ("claude", {USER: "{ // mine\n" + OFF[1:]}, "disableAllHooks = true", USER),
    ("claude", {LOCAL: ON, PROJECT: OFF}, "", ""),
    ("claude", {PROJECT: OFF, USER: ON}, "disableAllHooks = true", PROJECT),
    ("claude", {PROJECT: '{"disableAllHooks": "yes"}', USER: "{", LOCAL: "[]"}, "", ""),
    ("codex", {CODEX_USER: "[features]\nhooks = false"}, "features.hooks = false", CODEX_USER),
    ("codex", {CODEX: "features.codex_hooks = false"}, "features.codex_hooks = false", CODEX),
    ("codex", {CODEX: "features = 1", CODEX_USER: "[features"}, "", ""),
    ("gemini", {GEMINI: '{"hooksConfig": {"enabled": false}}'}, "hooksConfig.enabled = false", GEMINI),
    ("gemini", {GEMINI: '{"hooksConfig": {"enabled": true}}', GEMINI_USER: BY_NAME}, NAMED, GEMINI_USER),
    *(("copilot", {path: OFF}, "disableAllHooks = true", path) for path in COPILOT),
    ("cursor", {".cursor/hooks.json": OFF}, "", ""),
    ("opencode", {".opencode/opencode.json": OFF}, "", ""),
]


@pytest.mark.parametrize(("harness", "files", "named", "where"), SWITCHED)
def test_what_keeps_hooks_from_running_is_named_with_its_file(
    harness: str, files: dict[str, str], named: str, where: str, tmp_path: Path
) -> None:
    """The first file that says something decides; what is broken, or of another type, says nothing."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    env = {"HOME": str(tmp_path / "home")}
    assert switches.off(harness, str(tmp_path), env) == (named and f"{named} in {tmp_path}/{where}")
    assert bool(switches.off(harness, "", env)) == where.startswith("home/")
