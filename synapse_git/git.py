"""Ask Git, as a process, without a shell and without ``subprocess``, whose import costs more than Git itself.

Stdlib only: hooks use it. ``GIT_*`` variables name another repository than the one asked about whenever they are
inherited by accident, so they are dropped unless the caller is a hook of that very repository.
"""

from __future__ import annotations

import os

from synapse_git.errors import CheckoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Never ask a file-system monitor, never take a lock that a user's own command may need, never page or prompt.
_SETTINGS = ("-c", "core.fsmonitor=false", "--no-optional-locks")

# Where a user's own settings lie says nothing about which repository is meant, and hooks read them there too.
_FILES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")


def scrubbed(env: Mapping[str, str]) -> dict[str, str]:
    """``env`` without what redirects Git; messages are in English, since none is shown to a person untouched."""
    clean = {key: value for key, value in env.items() if not key.startswith("GIT_") or key in _FILES}
    clean["LC_ALL"] = "C"
    return clean


def program(env: Mapping[str, str]) -> str:
    """The absolute path of ``git``; relative entries of PATH are passed over, since a repository could plant one.

    Raises:
        CheckoutError: there is none.
    """
    for directory in env.get("PATH", os.defpath).split(":"):
        if directory.startswith("/"):
            candidate = directory + "/git"
            if os.access(candidate, os.X_OK):
                return candidate
    raise CheckoutError("git is not on PATH. Install Git 2.34 or newer, or repair PATH")


class Question:
    """A running ``git`` command. Start several, then `finish` each: they run side by side."""

    __slots__ = ("_child", "_errors", "_output")

    def __init__(
        self, arguments: Sequence[str], env: Mapping[str, str], *, loud: bool = False, reads: Question | None = None
    ) -> None:
        """``loud``: Git's complaints go to our stderr, else they are kept for `finish`.

        ``reads``: it is given what that one answers, of which `finish` then gives no output.
        """
        self._output, write = os.pipe()
        errors, write_errors = os.pipe() if not loud else (-1, -1)
        actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
            (os.POSIX_SPAWN_DUP2, reads._output, 0) if reads else (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, write, 1),
        ]
        if not loud:
            actions.append((os.POSIX_SPAWN_DUP2, write_errors, 2))
        git = program(env)
        try:
            self._child = os.posix_spawn(git, [git, *_SETTINGS, *arguments], dict(env), file_actions=actions)
        finally:
            os.close(write)
            if not loud:
                os.close(write_errors)
        if reads:
            os.close(reads._output)
            reads._output = -1
        self._errors = errors

    def finish(self) -> tuple[int, bytes, str]:
        """Exit status, output, complaints."""
        output = _drain(self._output) if self._output >= 0 else b""
        errors = _drain(self._errors).decode("utf-8", "replace").strip() if self._errors >= 0 else ""
        _, status = os.waitpid(self._child, 0)
        return os.waitstatus_to_exitcode(status), output, errors


def _drain(descriptor: int) -> bytes:
    parts = []
    while part := os.read(descriptor, 262144):
        parts.append(part)
    os.close(descriptor)
    return b"".join(parts)


def ask(arguments: Sequence[str], env: Mapping[str, str]) -> tuple[int, bytes, str]:
    """`Question` and `finish` in one."""
    return Question(arguments, env).finish()
