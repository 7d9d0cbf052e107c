"""Which paths the commits change that an update of a reference brings in, by Git's own word."""

from __future__ import annotations

import os

from synapse_git import git
from synapse_git.errors import CheckoutError
from synapse_hooks import changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NAMES = ("-z", "--name-only", "--no-renames", "--no-relative", "--ignore-submodules=none")
BETWEEN = ("diff-tree", "-r", *_NAMES)
"""Asks for the paths that differ between two commits."""

# Git keeps no list of what it was told to fetch and may since have thrown away: hence --ignore-missing.
_LOG = ("log", "--no-show-signature", "--format=", "--root", "--ignore-missing", *_NAMES)
# A merge changes a checkout by what it brings, a shared tree only by what it adds to its parents.
_IN_TREE, _IN_SHARED = "--diff-merges=first-parent", "--diff-merges=combined"


def changed(env: Mapping[str, str], git_dir: str, ref: str, old: str, new: str) -> tuple[bytes, bytes]:
    """Paths that differ between ``old`` and ``new`` and that a commit which comes or goes with it changes.

    The first are those that count in the checkout, the second those that count in a shared tree. Both are empty where
    all commits were there already, so that nobody edits anything. ``old`` '': whatever ``ref`` is now.

    Raises:
        CheckoutError: Git cannot tell.
    """
    brought = [new, "--not", "--all", "--reflog", *_fetched(git_dir), "--"]
    if not _ask(["rev-list", "--max-count=1", "--ignore-missing", *brought], env, separator=b"\n"):
        return b"", b""
    questions = [git.Question([*_LOG, kind, *brought], env) for kind in (_IN_TREE, _IN_SHARED)]
    in_tree, in_shared = (_finish(question) for question in questions)
    old = old or git.ask(["rev-parse", "--quiet", "--verify", ref + "^{commit}"], env)[1].decode("ascii").strip()
    between = git.Question([*BETWEEN, old or changes.empty_tree(env), new, "--"], env)
    dropped = _ask([*_LOG, _IN_SHARED, old, "--not", new, "--"], env) if old else frozenset()
    differing = _finish(between)
    return _join(differing & (in_tree | dropped)), _join(differing & (in_shared | dropped))


def leaving(env: Mapping[str, str], tips: Sequence[str], known: Sequence[str], remote: str) -> bytes:
    """Paths that commits of ``tips`` change which ``remote`` does not have, by its branches as last seen and ``known``.

    Raises:
        CheckoutError: Git cannot tell.
    """
    # A remote without a name is given by its URL, and has no branches here.
    seen = [f"--remotes={remote}"] if remote and not set(remote) & set("*?[:\\") else []
    return _join(_ask([*_LOG, _IN_SHARED, *tips, "--not", *seen, *known, "--"], env))


def made(env: Mapping[str, str], names: Sequence[str], *, in_merges: bool = False) -> bytes:
    """Paths that the commits ``names`` change; of a merge what it adds to its parents, ``in_merges``: what it brings.

    Raises:
        CheckoutError: Git cannot tell.
    """
    kind = _IN_TREE if in_merges else _IN_SHARED
    return _join(_ask([*_LOG, kind, "--no-walk=unsorted", *names, "--"], env)) if names else b""


def _fetched(git_dir: str) -> list[str]:
    """The commits that the last fetch brought: made elsewhere, even where no reference names them yet."""
    try:
        with open(f"{git_dir}/FETCH_HEAD", "rb") as file:
            return [os.fsdecode(line.split(b"\t", 1)[0]) for line in file if b"\t" in line]
    except OSError:
        return []


def _ask(arguments: Sequence[str], env: Mapping[str, str], separator: bytes = b"\0") -> frozenset[bytes]:
    return _finish(git.Question(arguments, env), separator)


def _finish(question: git.Question, separator: bytes = b"\0") -> frozenset[bytes]:
    status, output, complaint = question.finish()
    if status:
        raise CheckoutError(f"git cannot tell what this brings in: {complaint.removeprefix('fatal: ')}")
    return frozenset(output.split(separator)[:-1])


def _join(paths: frozenset[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in sorted(paths))
