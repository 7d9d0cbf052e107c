"""The breakages fit the sources, and the search for survivors tells one when it sees it."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

from tests.faults import mutants, mutations, tree
from tests.faults.tree import Breakage, breakage


def test_there_are_enough_breakages_and_each_has_a_name_of_its_own() -> None:
    """At least forty."""
    names = tree.names(mutations.BREAKAGES)
    assert len(names) >= 40 and len(set(names)) == len(names)


@pytest.mark.parametrize("one", mutations.BREAKAGES, ids=lambda one: one.name)
def test_a_breakage_fits_the_source(one: Breakage, tmp_path: Path) -> None:
    """Its text stands there exactly once, and what comes out is Python, or what a shell can read."""
    for edit in one.edits:
        target = tmp_path / edit.file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text((tree.ROOT / edit.file).read_text())
    tree.apply(one, tmp_path)
    for edit in one.edits:
        text = (tmp_path / edit.file).read_text()
        if edit.file.endswith(".py"):
            ast.parse(text)
        else:
            subprocess.run(["sh", "-n"], input=text, text=True, check=True)


def test_the_search_tells_what_is_noticed_from_what_is_not() -> None:
    """A rule taken out is found by a test that names it; another comment is a survivor."""
    tests = ("tests/invariants/test_claims.py",)
    (dead,) = (one for one in mutations.BREAKAGES if one.name == "a live task is given away")
    assert "inv_me_1" in mutants.noticed_by(dead, tests)
    harmless = breakage("harmless", (mutations.core.CLAIM, '"""A claim and its keys."""', '"""Claims."""'))
    assert mutants.noticed_by(harmless, tests) == ""
