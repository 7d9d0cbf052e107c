"""What one Git operation was let through with in spite of the guard: its later hooks have nothing to add to that.

An operation is the Git process that runs the hooks, as in `judged`: two that give the same reason are two.
"""

from __future__ import annotations

import os

from synapse_git.record import FOLDER
from synapse_hooks import judged, process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Waiver:
    """``operation``: the process that runs hooks in the checkout of ``git_dir``, '' where that cannot be told."""

    __slots__ = ("_operation", "_path")

    def __init__(self, git_dir: str, operation: str) -> None:
        self._path = f"{git_dir}/{FOLDER}/{judged.OVERRIDDEN}"
        self._operation = operation.encode()

    def covers(self, paths: bytes) -> bool:
        """Is it on record that all of the NUL-terminated ``paths`` go in?"""
        known = self._known()
        return bool(known) and known.issuperset(paths.split(b"\0"))

    def extend(self, paths: bytes) -> None:
        """Remember that ``paths`` are on record. What cannot be remembered is put on record once more."""
        if not self._operation:
            return
        known = self._known().union(paths.split(b"\0"))
        draft = f"{self._path}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "wb") as file:
                file.write(b"\0".join([self._operation, *known]))
            os.replace(draft, self._path)
        except OSError:
            pass

    def _known(self) -> frozenset[bytes]:
        try:
            with open(self._path, "rb") as file:
                operation, *paths = file.read().split(b"\0")
        except OSError:
            return frozenset()
        return frozenset(paths) if self._operation and operation == self._operation else frozenset()


def of(git_dir: str, parent: int, env: Mapping[str, str]) -> Waiver:
    """That of the operation for which a hook was started, directly or through a tool that runs hooks, by ``parent``."""
    pid = process.of_git(parent, env)
    started = process.started(pid, env)
    return Waiver(git_dir, f"{pid} {started}" if started else "")
