"""Where the tests of the shell part run its hooks."""

from __future__ import annotations

from pathlib import Path

import pytest

from synapse_hooks.setup import shims
from tests.unit.shim.place import Place


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    made = Place(tmp_path)
    monkeypatch.setattr(shims, "interpreter", lambda: str(made.python))
    return made
