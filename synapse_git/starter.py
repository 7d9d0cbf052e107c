"""Find the hub, or start it: exactly one, however many clients race.

Stdlib only: hooks use it. Started is ``python -I -m synapse_hub run --detach``; the hub itself holds an OS lock on
its journal, the lock here only keeps a hundred clients from starting a hundred interpreters.
"""

from __future__ import annotations

import os
import sys
import time

from synapse_git import address
from synapse_git.errors import AnotherHub, HubUnreachable
from synapse_git.exchange import Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_POLL_S = 0.02
# What a hub keeps of its starter's environment. Git's variables, proxies and Python's own stay out of it.
_KEPT = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "PATH", "SHELL", "TMPDIR", "TZ", "USER")


def connect(env: Mapping[str, str], *, deadline: float, start_deadline: float) -> Line:
    """A line to the user's hub; both deadlines are instants of `time.monotonic`.

    ``deadline`` holds for a hub that runs, ``start_deadline`` where one had to be started first.

    Raises:
        HubUnreachable: with the reason and what to type.
        AnotherHub: the one that is expected has lost its journal.
    """
    if line := connect_running(env, deadline=deadline):
        return line
    state = address.state_dir(env)
    if address.expected(env) and not any(os.path.lexists(f"{state}/journal.{kind}") for kind in ("db", "mark")):
        raise AnotherHub(
            f"the journal of the hub that grants in this repository, with all that is held, is gone from {state}. "
            "Put the directory back as it was. If it is gone for good, begin anew: synapse-git install"
        )
    return _expecting(_start(state, env, start_deadline), env)


def connect_running(env: Mapping[str, str], *, deadline: float) -> Line | None:
    """A line to a hub that runs already, or None. Starts nothing."""
    if chosen := address.configured(env):
        return _expecting(_connect_configured(chosen, env, deadline), env)
    line = _try(address.recorded(address.state_dir(env)), deadline)
    return line and _expecting(line, env)


def _expecting(line: Line, env: Mapping[str, str]) -> Line:
    if hub_id := address.expected(env):
        line.expect(hub_id)
    return line


def _connect_configured(chosen: str, env: Mapping[str, str], deadline: float) -> Line:
    try:
        if "://" in chosen:
            from synapse_git.loopback import LoopbackLine

            return LoopbackLine(chosen, address.token_file(address.state_dir(env)), deadline)
        return Line(chosen, deadline)
    except OSError as error:
        raise HubUnreachable(
            f"no hub answers at SYNAPSE_HUB={chosen} ({error.strerror or error}). Start it there, or unset SYNAPSE_HUB"
        ) from error


def _try(path: str, deadline: float) -> Line | None:
    if not path:
        return None
    try:
        return Line(path, deadline)
    except PermissionError as error:
        raise HubUnreachable(f"{path} belongs to somebody else, who lets nobody use it; not using it") from error
    except OSError:
        return None


def _start(state: str, env: Mapping[str, str], deadline: float) -> Line:
    """Start a hub unless somebody does, and wait until it answers."""
    import fcntl

    lock = _open_lock(state)
    child = 0
    try:
        while True:
            if not child:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    # Between our first look and this lock another starter may have finished.
                    child = -1 if _answers(state) else _spawn(state, env)
                except BlockingIOError:
                    pass
            if line := _try(address.recorded(state), deadline):
                return line
            if child > 0 and os.waitpid(child, os.WNOHANG)[0]:
                raise HubUnreachable(_why(state))
            if time.monotonic() > deadline:
                raise HubUnreachable(f"the hub did not start in time. See {log_file(state)}, then: synapse-git hub run")
            time.sleep(_POLL_S)
    finally:
        os.close(lock)


def _answers(state: str) -> bool:
    line = _try(address.recorded(state), time.monotonic() + 1)
    if line:
        line.close()
    return line is not None


def _open_lock(state: str) -> int:
    try:
        os.makedirs(state, mode=0o700, exist_ok=True)
        return os.open(state + "/start.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise HubUnreachable(
            f"cannot write to {state} ({error.strerror}), where the hub keeps its journal. "
            "Make it writable, or name another place for all your shells: XDG_STATE_HOME"
        ) from error


def log_file(state: str) -> str:
    return state + "/hub.log"


def _spawn(state: str, env: Mapping[str, str]) -> int:
    """The pid of a new hub process. It detaches itself and writes to the log from its first line on."""
    log = log_file(state)
    kept = {key: value for key, value in env.items() if key in _KEPT or key.startswith("XDG_")}
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-I", "-m", "synapse_hub", "run", "--detach"],
        kept,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
    )


def _why(state: str) -> str:
    """The last thing that a hub which gave up wrote to its log."""
    try:
        with open(log_file(state), "rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - 4096))
            lines = log.read().decode("utf-8", "replace").strip().splitlines()
    except OSError:
        lines = []
    last = lines[-1].rpartition(" ERROR ")[2] if lines else "no reason given"
    return f"the hub ended at once: {last} (whole log: {log_file(state)})"
