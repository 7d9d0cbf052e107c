"""What in a coding agent's own settings keeps hooks from running, in whichever of its files that stands."""

from __future__ import annotations

import os
import sys

from synapse_git import equipment, jsonc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_ADMINISTRATORS = {
    "claude": (
        "/Library/Application Support/ClaudeCode/managed-settings.json"
        if sys.platform == "darwin"
        else "/etc/claude-code/managed-settings.json"
    ),
    "gemini": (
        "/Library/Application Support/GeminiCli/settings.json"
        if sys.platform == "darwin"
        else "/etc/gemini-cli/settings.json"
    ),
}
# Relative to the file that our hooks go to, in the project and in the user's directory: the first that decides counts.
_PROJECT = {
    "claude": ("settings.local.json", "settings.json"),
    "codex": ("config.toml",),
    "gemini": ("settings.json",),
    "copilot": ("synapse-git.json", "../copilot/settings.local.json", "../copilot/settings.json"),
}
_USER = {
    "claude": ("settings.json",),
    "codex": ("config.toml",),
    "gemini": ("settings.json",),
    "copilot": ("synapse-git.json", "../settings.json", "../config.json"),
}
# The members that decide, each with the value by which no hook runs.
_MEMBERS = {
    "claude": (("disableAllHooks", True),),
    "codex": (("features.hooks", False), ("features.codex_hooks", False)),
    "gemini": (("hooksConfig.enabled", False),),
    "copilot": (("disableAllHooks", True),),
}
_MANAGED_ONLY = "allowManagedHooksOnly"
# Single hooks by the names that ours have, a list that grows from file to file.
_BY_NAME = "hooksConfig.disabled"
_OURS = "synapse-git BeforeTool"


def off(harness: str, root: str, env: Mapping[str, str]) -> str:
    """By what the harness runs no hooks in the project at ``root`` ('': in any), as ``NAME = VALUE in FILE``; '' if it
    runs them. What cannot be read or understood says nothing.
    """
    settled = False
    for path in _files(harness, root, env):
        settings = _settings(path)
        if path == _ADMINISTRATORS.get(harness) and settings.get(_MANAGED_ONLY) is True:
            return f"{_MANAGED_ONLY} = true in {path}"
        listed = _member(settings, _BY_NAME)
        if harness == "gemini" and isinstance(listed, list) and _OURS in listed:
            return f'{_BY_NAME} = ["{_OURS}"] in {path}'
        for name, silencing in _MEMBERS[harness]:
            found = _member(settings, name)
            if found is silencing and not settled:
                return f"{name} = {str(found).lower()} in {path}"
            settled = settled or isinstance(found, bool)
    return ""


def _files(harness: str, root: str, env: Mapping[str, str]) -> list[str]:
    """Where it may stand, what counts first at the beginning."""
    if harness not in _MEMBERS:
        return []
    place = equipment.PLACES[harness]
    project = os.path.dirname(f"{root}/{place.project}")
    user = os.path.dirname(place.users(env))
    found = [f"{project}/{name}" for name in _PROJECT[harness]] if root else []
    found += [f"{user}/{name}" for name in _USER[harness]]
    administrators = _ADMINISTRATORS.get(harness, "")
    return [*([administrators] if administrators else []), *map(os.path.normpath, found)]


def _settings(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            text = file.read(equipment.LARGEST).decode()
        found = _toml(text) if path.endswith(".toml") else jsonc.parse(text).value
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _toml(text: str) -> dict[str, Any]:
    import tomllib  # wanted for one harness only

    return tomllib.loads(text)


def _member(settings: dict[str, Any], name: str) -> Any:
    found: Any = settings
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found
