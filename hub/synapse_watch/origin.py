"""Which changes Git itself may have made: told by what it has of the files, since it does not tell who it works for."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from synapse_git import checkout
from synapse_git.checkout import Checkout
from synapse_git.errors import CheckoutError
from synapse_watch.truth import Truth

MOVED = "moved"
"""Nobody's edit: ignored, moved along with HEAD, or left by an operation under way, the commit of which is judged."""
BACK = "back"
"""As HEAD has it."""
GIVEN = "given"
"""As the index or a stash has it, so that Git may have put it there."""

# Stashes that were seen lately, each of which may come back after it was dropped.
_MOST_STASHES = 16


class Origin:
    """``settle`` is called with how many files Git moved along with HEAD, once for each move."""

    def __init__(self, here: Checkout, env: Mapping[str, str], truth: Truth, settle: Callable[[int], None]) -> None:
        self._here = here
        self._env = env
        self._truth = truth
        self._settle = settle
        self._head = ""
        self._mark: tuple[object, ...] = ()
        self._settled = ("", "")
        self._stashes: dict[str, None] = {}

    def look(self) -> tuple[tuple[object, ...], str]:
        """Where HEAD is: what `stand` takes."""
        if stash := self._truth.commit("refs/stash"):
            self._stashes.pop(stash, None)
            self._stashes[stash] = None
            while len(self._stashes) > _MOST_STASHES:
                del self._stashes[next(iter(self._stashes))]
        return self._truth.head_mark(), self._truth.commit("HEAD")

    def stand(self, seen: tuple[tuple[object, ...], str]) -> None:
        """All that changed until ``seen`` is dealt with: moves of HEAD count from there on."""
        self._mark, self._head = seen

    def moved(self, paths: Sequence[bytes]) -> set[bytes]:
        """Those of ``paths`` that Git ignores, or moved along with HEAD and nobody changed since: quickly told."""
        found = self._truth.ignored(paths)
        if len(found) == len(paths) or self._truth.head_mark() == self._mark:
            return found
        head = self._truth.commit("HEAD")
        if head == self._head:
            return found
        along = self._truth.between(self._head, head) - self._truth.dirty().keys()
        if self._settled != (self._head, head):
            self._settled = (self._head, head)
            self._settle(len(along))
        return found | along.intersection(paths)

    def of(self, paths: Sequence[bytes]) -> dict[bytes, str] | None:
        """What Git has to do with each of ``paths``; those are missing that it has nothing to do with. None: it is at
        work in a submodule that one of them is in, so that nobody can tell yet.
        """
        found = dict.fromkeys(self.moved(paths), MOVED)
        groups: dict[str, list[bytes]] = {}
        for path in paths:
            if path not in found:
                groups.setdefault(self._inner(path), []).append(path)
        for inner, members in groups.items():
            told = self._in_submodule(inner, members) if inner else self._told(self._truth, members)
            if told is None:
                return None
            found |= told
        return found

    def _told(self, truth: Truth, paths: Sequence[bytes]) -> dict[bytes, str]:
        letters = truth.dirty(paths)
        found = {path: BACK for path in paths if path not in letters}
        staged = [path for path, two in letters.items() if two[1:] == b" "]
        # A stash that comes back leaves what a merge does, and is no operation that goes on to a commit.
        ours = MOVED if truth.interrupted() else GIVEN
        found |= dict.fromkeys(staged, ours)
        left = [path for path in paths if path not in found]
        for tree, meaning in (("AUTO_MERGE", ours), *((stash, GIVEN) for stash in reversed(self._stashes))):
            if left:
                same = truth.same(tree, left)
                found |= dict.fromkeys(same, meaning)
                left = [path for path in left if path not in same]
        return found

    def _in_submodule(self, root: str, paths: Sequence[bytes]) -> dict[bytes, str] | None:
        """The same asked of the repository that they are in."""
        try:
            truth = Truth(checkout.find(root, self._env), self._env)
        except CheckoutError:
            return {}
        start = len(os.fsencode(os.path.relpath(root, self._here.root))) + 1
        moment = truth.moment()
        told = self._told(truth, [path[start:] for path in paths])
        if truth.busy() or truth.moment() != moment:
            return None
        return {path: told[path[start:]] for path in paths if path[start:] in told}

    def _inner(self, path: bytes) -> str:
        """The root of the submodule that ``path`` lies in; '' for none."""
        directory = os.path.dirname(path)
        while directory:
            full = os.fsencode(self._here.root) + b"/" + directory
            if os.path.lexists(full + b"/.git"):
                return os.fsdecode(full)
            directory = os.path.dirname(directory)
        return ""
