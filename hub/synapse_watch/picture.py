"""What was known of a checkout's files when somebody last looked, so that a look at all of it tells what was missed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Set

Mark = tuple[int, ...]
# The clock that the kernel stamps files with is coarser than ours.
_COARSE_S = 0.1


def above(path: bytes) -> Iterator[bytes]:
    """The directories that ``path`` is in, innermost first."""
    while path := os.path.dirname(path):
        yield path


class Picture:
    """``marks``: of each file that is not as Git has it, or was seen changing; () where it was gone.

    ``at``: Unix seconds at which all was looked at.
    """

    def __init__(self, marks: Mapping[bytes, Mark], at: float) -> None:
        self._marks = dict(marks)
        self.at = at

    def note(self, path: bytes, mark: Mark) -> None:
        """It was seen so and is being dealt with."""
        self._marks[path] = mark

    def clear(self, path: bytes) -> None:
        """It is as Git has it."""
        self._marks.pop(path, None)

    def mark(self, path: bytes) -> Mark | None:
        """How it was when it was last seen; None: as Git has it."""
        return self._marks.get(path)

    def beneath(self, directories: Set[bytes]) -> list[bytes]:
        """The known ones in any of ``directories``."""
        return [path for path in self._marks if any(one in directories for one in above(path))]

    def missed(
        self, dirty: Iterable[bytes], look: Callable[[bytes], tuple[Mark, float]], at: float
    ) -> tuple[list[bytes], Picture]:
        """What has changed without being noted, and the picture as it is at ``at``.

        ``dirty``: all that is not as Git has it now; ``look`` gives a path's mark and when it changed (Unix seconds).
        A file that has not changed since the last look is no news, although Git may look at it otherwise now.
        """
        found, marks = [], dict[bytes, Mark]()
        listed = set(dirty)
        for path in listed | self._marks.keys():
            mark, changed_at = look(path)
            if path in listed:
                marks[path] = mark
            if mark == self._marks.get(path):
                continue
            if mark and changed_at < self.at - _COARSE_S:
                continue
            found.append(path)
        return sorted(found), Picture(marks, at)
