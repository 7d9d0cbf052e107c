"""Which paths the commits change that an update of a reference brings in, by Git's own word."""

from __future__ import annotations

import os

from synapse_git import git, gitdir
from synapse_git.errors import CheckoutError
from synapse_hooks import changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from synapse_git.checkout import Checkout

_NAMES = ("-z", "--name-only", "--no-renames", "--no-relative", "--ignore-submodules=none")
BETWEEN = ("diff-tree", "-r", *_NAMES)
"""Asks for the paths that differ between two commits."""

# Git keeps no list of what it was told to fetch and may since have thrown away.
_LIST = ("rev-list", "--ignore-missing")
# A merge changes a checkout by all that it brings, in whatever order its parents stand; a shared tree only by what it
# adds to them.
_IN_TREE, _IN_SHARED = "-m", "-c"
_EACH = ("diff-tree", "--stdin", "--root", "--no-commit-id", "-r", *_NAMES)


def changed(env: Mapping[str, str], here: Checkout, ref: str, old: str, new: str) -> tuple[bytes, bytes]:
    """Paths that differ between ``old`` and ``new`` and that a commit which comes or goes with it changes.

    The first are those that count in the checkout, the second those that count in a shared tree. Both are empty where
    all commits were there already, so that nobody edits anything. ``old`` '': whatever ``ref`` is now.

    Raises:
        CheckoutError: Git cannot tell.
    """
    brought = [new, "--not", "--all", "--reflog", *_fetched(here), "--"]
    if not _any(brought, env):
        return b"", b""
    in_tree, in_shared = (_each(kind, brought, env) for kind in (_IN_TREE, _IN_SHARED))
    old = old or git.ask(["rev-parse", "--quiet", "--verify", ref + "^{commit}"], env)[1].decode("ascii").strip()
    between = git.Question([*BETWEEN, old or changes.empty_tree(env), new, "--"], env)
    dropped = _each(_IN_SHARED, [old, "--not", new, "--"], env) if old else frozenset()
    differing = _finish(between)
    return _join(differing & (in_tree | dropped)), _join(differing & (in_shared | dropped))


def leaving(env: Mapping[str, str], tips: Sequence[str], known: Sequence[str], remote: str) -> bytes:
    """Paths that commits of ``tips`` change which ``remote`` does not have, by its branches as last seen and ``known``.

    Raises:
        CheckoutError: Git cannot tell.
    """
    # A remote without a name is given by its URL, and has no branches here.
    seen = [f"--remotes={remote}"] if remote and not set(remote) & set("*?[:\\") else []
    return _join(_each(_IN_SHARED, [*tips, "--not", *seen, *known, "--"], env))


def made(env: Mapping[str, str], names: Sequence[str]) -> bytes:
    """Paths that the commits ``names`` change; of a merge what it adds to its parents.

    Raises:
        CheckoutError: Git cannot tell.
    """
    return _join(_each(_IN_SHARED, ["--no-walk=unsorted", *names, "--"], env)) if names else b""


def _fetched(here: Checkout) -> list[str]:
    """The commits that the last fetch brought: made elsewhere, even where no reference names them yet."""
    try:
        with open(f"{here.git_dir}/FETCH_HEAD", "rb") as file:
            lines = [os.fsdecode(line.rstrip(b"\n")).split("\t", 2) for line in file]
    except OSError:
        return []
    return [fields[0] for fields in lines if len(fields) == 3 and not _from_here(fields[2], here)]


def _from_here(source: str, here: Checkout) -> bool:
    """Does ``branch 'x' of URL`` name this very repository? Whoever fetches from it brings in nothing."""
    words = source.split(" of ")
    urls = [" of ".join(words[first:]) for first in range(len(words))]
    paths = [f"{here.root}/{url}" if not url.startswith("/") else url for url in urls if "://" not in url]
    paths += [_decoded(url.removeprefix("file://")) for url in urls if url.startswith("file://")]
    # Git leaves the end of the address away where it is a slash or .git.
    places = [place for path in paths for place in (path, path + ".git", gitdir.shared(path))]
    return any(_same(place, here.common_dir) for place in places)


def _decoded(url: str) -> str:
    from urllib.parse import unquote_to_bytes

    return os.fsdecode(unquote_to_bytes(os.fsencode(url)))


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False


def _any(revisions: Sequence[str], env: Mapping[str, str]) -> bool:
    """Is there any such commit?"""
    listed = git.Question([*_LIST, "--max-count=1", *revisions], env)
    status, output, complaint = listed.finish()
    if status:
        raise _unknown(complaint)
    return bool(output)


def _each(kind: str, revisions: Sequence[str], env: Mapping[str, str]) -> frozenset[bytes]:
    """The paths that commits change, by plumbing: ``git log`` stumbles over settings that are of no concern."""
    listed = git.Question([*_LIST, *revisions], env)
    found = git.Question([*_EACH, kind, "--"], env, reads=listed)
    return _finish(found, listed)


def _finish(question: git.Question, *others: git.Question) -> frozenset[bytes]:
    """The entries of its answer, which the ``others`` have led to."""
    answers = [question.finish(), *(other.finish() for other in others)]
    for status, _, complaint in reversed(answers):
        if status:
            raise _unknown(complaint)
    return frozenset(answers[0][1].split(b"\0")[:-1])


def _unknown(complaint: str) -> CheckoutError:
    return CheckoutError(f"git cannot tell what this brings in: {complaint.removeprefix('fatal: ')}")


def _join(paths: frozenset[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in sorted(paths))
