"""Many files of one directory become the directory, so that a claim which grows edit by edit stays small. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from synapse_git.constants import COARSEN_ABOVE, MAX_DECLARED_PATHS
from synapse_git.scope import ROOT, covers

Free = Callable[[str], bool]


def coarsen(paths: Iterable[str], free: Free) -> tuple[str, ...]:
    """``paths`` with each directory that holds more than `COARSEN_ABOVE` of them in their place, if it is ``free``.

    More directories, deeper ones first, while over `MAX_DECLARED_PATHS` are left; that may not be enough. Never the
    root: nobody's edits add up to a claim of everything.
    """
    found, most = set(paths), COARSEN_ABOVE
    while True:
        found = _merged(found, most, free)
        if len(found) <= MAX_DECLARED_PATHS or not most:
            return tuple(sorted(found))
        most //= 2


def _merged(paths: set[str], most: int, free: Free) -> set[str]:
    """``paths`` once every free directory with more than ``most`` of them directly in it stands for its own."""
    found, refused = set(paths), set[str]()
    while True:
        groups: dict[str, int] = {}
        for path in found:
            parent = path.rpartition("/")[0]
            if parent != ROOT and parent not in refused:
                groups[parent] = groups.get(parent, 0) + 1
        full = [directory for directory, count in groups.items() if count > most]
        if not full:
            return found
        deepest = max(full, key=lambda directory: directory.count("/"))
        if free(deepest):
            found = {path for path in found if not covers(deepest, path)} | {deepest}
        else:
            refused.add(deepest)
