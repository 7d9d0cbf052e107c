"""Submodules: their commits are judged in the superproject's tree, so the guard goes into them with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.box import Box
from tests.hooking import allowed, claim, picture, refused


@pytest.fixture
def nest(box: Box) -> Path:
    """A repository with a submodule, which has one of its own; no guard."""
    innermost, inner = box.init("innermost"), box.init("inner")
    box.cwd = box.init("outer")
    _add(box, innermost, "deep er", inner)
    box.done("git", "commit", "-qm", "deeper", cwd=inner)
    _add(box, inner, "lib", box.cwd)
    box.done("git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", "--recursive")
    box.done("git", "commit", "-qm", "lib")
    return box.cwd


def _add(box: Box, source: Path, name: str, cwd: Path) -> None:
    box.done("git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", source, name, cwd=cwd)


def test_the_guard_goes_into_submodules_and_out_of_them(box: Box, nest: Path) -> None:
    """What is held in the superproject is refused to a commit made inside, at every depth."""
    before = _hooks(nest)
    told = allowed(box.synapse("install")).out
    assert "lib" in told and "lib/deep er" in told
    claim(box, "ana", "lib/src/a.py", "lib/deep er/docs")
    for place, path in ((nest / "lib", "src/a.py"), (nest / "lib/deep er", "docs/guide.md")):
        box.write(path, cwd=place)
        refused(box.git("commit", "-qam", "x", agent="ben", cwd=place), path)
    assert "its submodules (2)" in allowed(box.synapse("doctor")).out
    assert set(allowed(box.synapse("uninstall", "--json")).json()["submodules"]) == {"lib", "lib/deep er"}
    assert _hooks(nest) == before


def _hooks(root: Path) -> dict[str, tuple[str, str]]:
    return {path: value for path, value in picture(root / ".git").items() if "hooks" in path or path.endswith("config")}


def test_a_submodule_that_came_later_is_named_and_mended(box: Box, nest: Path) -> None:
    """`status` and `doctor` say that nobody judges its commits; `doctor --fix` and `install` end it."""
    allowed(box.synapse("install"))
    claim(box, "ana", "late/src")
    _add(box, nest.parent / "innermost", "late", nest)
    told = box.synapse("status")
    assert "submodules of" in told.out and "late" in told.out.split("submodules of")[1], told.text
    assert [item["unguarded"] for item in box.synapse("status", "--json").json()["worktrees"]] == [["late"]]
    told = box.synapse("doctor")
    assert told.code == 1 and f"no guard in the submodule {nest}/late" in told.out, told.text
    assert f"{nest}/late is put back" in allowed(box.synapse("doctor", "--fix")).out
    box.write("src/a.py", cwd=nest / "late")
    refused(box.git("commit", "-qam", "x", agent="ben", cwd=nest / "late"), "src/a.py")
    assert "submodules of" not in box.synapse("status").out
