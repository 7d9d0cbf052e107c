"""Where the two checkouts of the machine lie: each way that a repository can have two."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.box import Box

FILES = ("f/a", "f/b", "g/c", 'g/"d\n é', "top")


class Layout(NamedTuple):
    """``roots``: the top of each checkout, both on the same commit and on branches called as they are; the guard is in.

    ``prefix``: what the paths of ``main`` begin with where they are claimed.
    """

    roots: dict[str, Path]
    prefix: str = ""


def _seed(box: Box, name: str) -> Path:
    root = box.init(name)
    for path in FILES:
        box.write(path, "base\n", cwd=root)
    box.done("git", "add", ".", cwd=root)
    box.done("git", "commit", "-q", "--amend", "-m", "files", cwd=root)
    # The root stays common to both branches: it is never on top, where it could be amended.
    box.done("git", "commit", "-q", "--allow-empty", "-m", "start", cwd=root)
    return root


def _with_side(box: Box, root: Path, side: Path) -> dict[str, Path]:
    box.done("git", "config", "uploadpack.allowAnySHA1InWant", "true", cwd=root)
    box.done("git", "worktree", "add", "-q", side, "-b", "side", cwd=root)
    box.done("synapse-git", "install", cwd=root)
    return {"main": root, "side": side}


def _linked(box: Box, name: str) -> Layout:
    root = _seed(box, name)
    return Layout(_with_side(box, root, root / ".git/side"))


def _of_bare(box: Box, name: str) -> Layout:
    bare, root = box.cwd / f"{name}.git", box.cwd / f"{name}-main"
    box.done("git", "clone", "-q", "--bare", _seed(box, name), bare)
    box.done("git", "worktree", "add", "-q", root, "main", cwd=bare)
    return Layout(_with_side(box, root, bare / "side"))


def _sparse(box: Box, name: str) -> Layout:
    root = _seed(box, name)
    roots = _with_side(box, root, root / ".git/side")
    box.done("git", "sparse-checkout", "set", "--cone", "f", cwd=roots["main"])
    box.done("git", "sparse-checkout", "set", "--cone", "--sparse-index", "g", cwd=roots["side"])
    return Layout(roots)


def _submodule(box: Box, name: str) -> Layout:
    """The one is a submodule, the other a worktree of its repository, which is in no superproject."""
    seed, outer = _seed(box, f"{name}-seed"), box.init(name)
    box.done("git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", seed, "lib", cwd=outer)
    box.done("git", "commit", "-qm", "lib", cwd=outer)
    box.done("synapse-git", "install", cwd=outer)
    return Layout(_with_side(box, outer / "lib", box.cwd / f"{name}-side"), "lib/")


LAYOUTS: dict[str, Callable[[Box, str], Layout]] = {
    "linked": _linked,
    "of a bare repository": _of_bare,
    "sparse": _sparse,
    "submodule": _submodule,
}
"""By name, what makes one below the working directory."""
