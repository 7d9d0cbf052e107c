"""What agents' tools said of edits lately: volatile, bounded, and of the event loop alone.

Nothing is granted or refused by it. It is lost with the hub, and then nobody is accused of anything for a while.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from synapse_git.constants import EDIT_MEMORY_SECONDS, MAX_REMEMBERED_EDITS, PRESENCE_SECONDS
from synapse_hub.core.attribution import Announced
from synapse_hub.core.claim import TreeKey

# Of one file no more is kept than could matter.
_PER_PATH = 16
_MAX_PRESENT = 4096
_MAX_RUNS = 4096


class Announcements:
    """By tree and path, in the spelling that the tree compares in."""

    def __init__(self) -> None:
        self._said: dict[tuple[TreeKey, str], deque[Announced]] = {}
        self._order: deque[tuple[float, tuple[TreeKey, str]]] = deque()
        self._present: dict[tuple[TreeKey, str], float] = {}
        self._runs: deque[tuple[TreeKey, str, float]] = deque(maxlen=_MAX_RUNS)

    def add(self, tree: TreeKey, entries: Iterable[tuple[str, Announced]]) -> None:
        """Take note of what was said of each path."""
        for path, one in entries:
            key = (tree, path)
            self._said.setdefault(key, deque(maxlen=_PER_PATH)).append(one)
            # What was judged first may be said last, and is looked for from the end.
            self._order.append((max(one.at, self._order[-1][0]) if self._order else one.at, key))
            self.enter(tree, one.agent, one.at)
        self._forget(self._order[-1][0] if self._order else 0.0)

    def of(self, tree: TreeKey, path: str, now: float) -> list[Announced]:
        """What was said of a path and is remembered, oldest first."""
        said = self._said.get((tree, path), ())
        return [one for one in said if one.at > now - EDIT_MEMORY_SECONDS]

    def intended(self, since: float) -> Iterator[tuple[TreeKey, str]]:
        """What was about to be edited after that instant; a path may come more than once."""
        for at, (tree, path) in reversed(self._order):
            if at <= since:
                return
            if any(one.at > since and not one.written for one in self._said.get((tree, path), ())):
                yield tree, path

    def run(self, tree: TreeKey, agent: str, now: float) -> None:
        """Git has just written files in ``tree`` for ``agent``."""
        self._runs.append((tree, agent, now))
        self.enter(tree, agent, now)

    def ran(self, tree: TreeKey, now: float) -> tuple[tuple[str, float], ...]:
        """For whom Git wrote files in ``tree``, and when, as far as it is remembered."""
        return tuple((agent, at) for where, agent, at in self._runs if where == tree and at > now - EDIT_MEMORY_SECONDS)

    def enter(self, tree: TreeKey, agent: str, now: float) -> None:
        """``agent`` does something in ``tree``."""
        self._present.pop((tree, agent), None)
        self._present[tree, agent] = now
        while len(self._present) > _MAX_PRESENT:
            del self._present[next(iter(self._present))]

    def present(self, tree: TreeKey, now: float) -> set[str]:
        """Who did something in ``tree`` lately."""
        return {agent for (where, agent), at in self._present.items() if where == tree and at > now - PRESENCE_SECONDS}

    def everyone(self) -> set[str]:
        """Who did something anywhere, as far as it is remembered."""
        return {agent for _, agent in self._present}

    def _forget(self, now: float) -> None:
        while self._order and (
            self._order[0][0] <= now - EDIT_MEMORY_SECONDS or len(self._order) > MAX_REMEMBERED_EDITS
        ):
            at, key = self._order.popleft()
            said = self._said.get(key)
            if said and said[0].at <= at:
                said.popleft()
                if not said:
                    del self._said[key]
