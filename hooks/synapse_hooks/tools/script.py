"""A configuration that is a program of ours, whole: a plugin."""

from __future__ import annotations

import os

from synapse_git.errors import CheckoutError

_MARK = "// Hook of synapse-git, version "


class Script:
    """The file ``name`` beside this module. Same methods as `entries.Entries`."""

    def __init__(self, name: str) -> None:
        with open(f"{os.path.dirname(os.path.abspath(__file__))}/{name}", encoding="utf-8") as file:
            self._wanted = file.read()

    def text(self) -> str:
        """All of it."""
        return self._wanted

    def state(self, text: str) -> str:
        """``installed``, ``outdated`` or ``missing``. Raises: CheckoutError."""
        if not text.strip():
            return "missing"
        if not text.startswith(_MARK):
            raise CheckoutError("it is not ours")
        return "installed" if text == self._wanted else "outdated"

    def put(self, text: str, segments: list[str]) -> str:
        """The wanted text in the place of nothing, or of a version of ours. Raises: CheckoutError."""
        self.state(text)
        segments.append(self._wanted)
        return self._wanted

    def take(self, text: str, segments: list[str]) -> str:
        """Nothing. Raises: CheckoutError."""
        del segments
        self.state(text)
        return ""
