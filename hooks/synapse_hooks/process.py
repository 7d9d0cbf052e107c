"""The Git process that started a hook: since when it runs and what it was asked to do."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PS = "/bin/ps"
# Options of Git itself that take their value from the next word.
_VALUED = ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix")


def started(pid: int, env: Mapping[str, str]) -> str:
    """When ``pid`` started, spelled as the shims spell it; '' if that cannot be told."""
    return _status(pid, 19) or _ps("lstart=", pid, env)


def serves(pid: int, command: str, env: Mapping[str, str]) -> bool:
    """Was ``pid`` started by Git, as a step of ``command``?"""
    line = words(_parent(pid, env), env)
    return _is_git(line) and subcommand(line) == command


def of_git(pid: int, env: Mapping[str, str]) -> int:
    """The Git process nearest to ``pid``, upwards; ``pid`` itself where there is none."""
    found = pid
    while found > 1:
        if _is_git(words(found, env)):
            return found
        found = _parent(found, env)
    return pid


def _is_git(line: Sequence[str]) -> bool:
    program = os.path.basename(line[0])
    return program == "git" or program.startswith("git-")


def _parent(pid: int, env: Mapping[str, str]) -> int:
    """The process that started ``pid``; 0 if that cannot be told."""
    parent = _status(pid, 1) or _ps("ppid=", pid, env).strip()
    return int(parent) if parent.isdecimal() else 0


def _status(pid: int, field: int) -> str:
    """One of what Linux tells of ``pid``, counted from its state on; '' where it tells nothing."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name of the program stands in parentheses and may hold anything, even parentheses.
            return file.read().rpartition(b") ")[2].split()[field].decode("ascii")
    except (OSError, IndexError):
        return ""


def verb(pid: int, env: Mapping[str, str]) -> str:
    """The Git command that ``pid`` runs, ``commit`` or ``revert`` perhaps; '' if that cannot be told."""
    return subcommand(words(pid, env))


def words(pid: int, env: Mapping[str, str]) -> list[str]:
    """The command line of ``pid``."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return os.fsdecode(file.read()).split("\0")
    except OSError:
        return _ps("args=", pid, env).split(" ")


def subcommand(line: Sequence[str]) -> str:
    """The Git command in ``line``, the first of which is Git itself; '' if there is none."""
    program = os.path.basename(line[0])
    if program.startswith("git-"):
        return program.removeprefix("git-")
    rest = iter(line[1:])
    for word in rest:
        if word in _VALUED:
            next(rest, "")
        elif not word.startswith("-"):
            return word
    return ""


def _ps(column: str, pid: int, env: Mapping[str, str]) -> str:
    """One column of ``ps``, for systems without ``/proc``."""
    output, write = os.pipe()
    try:
        child = os.posix_spawn(
            _PS,
            [_PS, "-o", column, "-p", str(pid)],
            {**env, "LC_ALL": "C"},
            file_actions=[(os.POSIX_SPAWN_DUP2, write, 1), (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)],
        )
    except OSError:
        os.close(write)
        os.close(output)
        return ""
    os.close(write)
    with open(output, "rb") as file:
        text = file.read()
    os.waitpid(child, 0)
    return os.fsdecode(text.rstrip(b"\n"))
