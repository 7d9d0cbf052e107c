"""Where each harness keeps its hooks, and what we put there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from synapse_git import address
from synapse_hooks.tools import hook, launcher

PROJECT, USER = "project", "user"


class Wiring:
    """The hooks of one harness. ``root``: other members that its file must have."""

    def __init__(self, harness: str) -> None:
        self.harness = harness
        self._speaks = hook.dialect(harness)
        self.root = self._speaks.root

    @property
    def program(self) -> str:
        """What the harness is called on PATH."""
        return self._speaks.program

    def file(self, scope: str, root: str, env: Mapping[str, str]) -> str:
        """The configuration of the project at ``root``, or of the user."""
        if scope == PROJECT:
            return f"{root}/{self._speaks.project_file}"
        variable, folder, name = self._speaks.user_file
        chosen = env.get(variable, "") if variable else ""
        return f"{chosen if os.path.isabs(chosen) else f'{address.home(env)}/{folder}'}/{name}"

    def entries(self) -> dict[str, Any]:
        """What each event is to start."""
        return {
            event: self._speaks.entry(event, launcher.command(self.harness, event)) for event in self._speaks.moments
        }

    def owns(self, entry: Any) -> bool:
        """Is this an entry of ours, of whatever version?"""
        if isinstance(entry, dict):
            return any(self.owns(value) for value in entry.values())
        if isinstance(entry, list):
            return len(entry) == 1 and self.owns(entry[0])
        return launcher.ours(entry, self.harness)
