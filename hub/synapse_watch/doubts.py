"""Changes that nobody has owned up to yet, and for how long they may be. Instants are monotonic seconds."""

from __future__ import annotations

from collections.abc import Collection

# How long whoever wrote has to say so, before a change counts as nobody's.
GRACE_S = 2.0
# However often a file changes on.
_LONGEST_S = 10.0
# Most tools say so at once: asked again then, a holder's own work is known, and kept, before anybody else comes.
_SOON_S = 0.4


class Doubts:
    """By path, when it was first in doubt and when it changed last."""

    def __init__(self) -> None:
        self._found: dict[bytes, tuple[float, float]] = {}
        self._unasked: dict[bytes, float] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    def __contains__(self, path: object) -> bool:
        return path in self._found

    def add(self, path: bytes, now: float) -> None:
        """It has changed; nothing new where that is known."""
        if path not in self._found:
            self._found[path] = (now, now)
            self._unasked[path] = now + _SOON_S

    def renew(self, path: bytes, now: float) -> None:
        """If it is in doubt, it has changed again."""
        if path in self._found:
            self._found[path] = (self._found[path][0], now)
            self._unasked[path] = now + _SOON_S

    def put_off(self, path: bytes, now: float) -> None:
        """Nobody can tell yet: its time begins anew."""
        self._found[path] = (now, now)

    def drop(self, path: bytes) -> None:
        """All is known of it."""
        self._found.pop(path, None)
        self._unasked.pop(path, None)

    def soon(self, now: float) -> list[bytes]:
        """What is to be asked about once more before its time is up; each once."""
        due = [path for path, at in self._unasked.items() if at <= now]
        for path in due:
            del self._unasked[path]
        return due

    def over(self, now: float) -> list[bytes]:
        """Whose time is up."""
        return [path for path in self._found if self._end(path) <= now]

    def next(self) -> Collection[float]:
        """When there is something to do."""
        return [*self._unasked.values(), *map(self._end, self._found)]

    def _end(self, path: bytes) -> float:
        first, last = self._found[path]
        return min(first + _LONGEST_S, last + GRACE_S)
