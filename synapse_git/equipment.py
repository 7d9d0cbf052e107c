"""Which coding agents can have hooks, where each keeps them, and whether they are there. Stdlib only: hooks use it."""

from __future__ import annotations

import os

from synapse_git import address
from synapse_git.errors import CheckoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

LAUNCHER = "agent-hook"
"""The file that every harness starts."""

LARGEST = 4 * 1024 * 1024
"""Bytes of a configuration that are looked at."""


class Place:
    """Where a harness looks: ``project``, below a project's root; ``file``, in the user's directory for it.

    That directory is ``folder`` below the home, or what ``variable`` says. ``program``: the harness on PATH.
    ``inline``: the file beside either that may list hooks as well, '' where there is none.
    """

    __slots__ = ("file", "folder", "inline", "program", "project", "variable")

    def __init__(self, program: str, project: str, variable: str, folder: str, file: str, inline: str = "") -> None:
        self.program = program
        self.project = project
        self.variable = variable
        self.folder = folder
        self.file = file
        self.inline = inline

    def users(self, env: Mapping[str, str]) -> str:
        """The user's own configuration."""
        chosen = env.get(self.variable, "") if self.variable else ""
        folder = chosen if chosen.startswith("/") else f"{address.home(env).rstrip('/')}/{self.folder}"
        return f"{folder.rstrip('/')}/{self.file}"


_PLUGIN = "plugins/synapse-git.js"
_HOOKS = "hooks/synapse-git.json"
PLACES = {
    "claude": Place("claude", ".claude/settings.json", "CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
    "codex": Place("codex", ".codex/hooks.json", "CODEX_HOME", ".codex", "hooks.json", "config.toml"),
    "gemini": Place("gemini", ".gemini/settings.json", "", ".gemini", "settings.json"),
    "cursor": Place("cursor", ".cursor/hooks.json", "", ".cursor", "hooks.json"),
    "copilot": Place("copilot", f".github/{_HOOKS}", "COPILOT_HOME", ".copilot", _HOOKS),
    "opencode": Place("opencode", f".opencode/{_PLUGIN}", "OPENCODE_CONFIG_DIR", ".config/opencode", _PLUGIN),
}


def directory(env: Mapping[str, str]) -> str:
    """Where the launcher lies: spelled alike in the configuration of every machine, and the same for every process.

    Raises:
        CheckoutError: there is no such place.
    """
    base = env.get("XDG_DATA_HOME") or address.home(env).rstrip("/") + "/.local/share"
    if not os.path.isabs(base):
        raise CheckoutError(f"XDG_DATA_HOME={base} is relative. Set it to an absolute path, or unset it")
    return f"{base.rstrip('/')}/{address.APP}"


def covering(root: str, env: Mapping[str, str]) -> list[str]:
    """The harnesses that ask before they edit in the project at ``root``, by its configuration or by the user's."""
    try:
        if not _starts(f"{directory(env)}/{LAUNCHER}"):
            return []
    except CheckoutError:
        return []
    found = []
    for name, place in PLACES.items():
        files = [f"{root}/{place.project}", place.users(env)]
        files += [f"{os.path.dirname(file)}/{place.inline}" for file in files if place.inline]
        if any(_names_us(file) for file in files):
            found.append(name)
    return found


def _starts(launcher: str) -> bool:
    """Can it be run, and is there what it runs? An environment may be gone that it belonged to."""
    found = {b"python": os.devnull, b"launch": ""}
    try:
        with open(launcher, "rb") as file:
            lines = file.read(LARGEST).split(b"\n")
    except OSError:
        return False
    for line in lines:
        name, _, value = line.partition(b"=")
        if name in found:
            found[name] = os.fsdecode(value[1:-1].replace(b"'\\''", b"'"))
    return (
        os.access(launcher, os.X_OK) and os.access(found[b"python"], os.X_OK) and os.access(found[b"launch"], os.R_OK)
    )


def _names_us(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return f"/{address.APP}/{LAUNCHER}".encode() in file.read(LARGEST)
    except OSError:
        return False
