"""``hub install-service``: have systemd or launchd start the hub when the user logs in, outside of any sandbox."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

from synapse_git import address, ending, starter
from synapse_git.cli import output, phrase, supervisor
from synapse_git.cli.verb import Option, Verb
from synapse_git.constants import CLIENT_DEADLINE_SECONDS
from synapse_git.errors import HubUnreachable, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from synapse_git.cli.call import Call
    from synapse_git.cli.supervisor import Commands, Supervisor

_POLL_S = 0.05


def run(call: Call) -> int:
    """Exit 0: done, or what is left to type was said. ``--json``: ``{supervisor, file, changed, kept, to_type}``."""
    if address.configured(call.env):
        raise UsageError("SYNAPSE_HUB names a hub that is somebody else's to start. Unset it for this command")
    keeper = supervisor.of(sys.platform, call.env)
    if call.flag("print"):
        _print(call, keeper)
    elif call.flag("uninstall"):
        _uninstall(call, keeper)
    else:
        _install(call, keeper)
    return 0


def _print(call: Call, keeper: Supervisor) -> None:
    if call.json:
        output.structure({"supervisor": keeper.name, "file": keeper.unit.path, "text": keeper.unit.text})
    else:
        output.result(keeper.unit.text.rstrip("\n"))


def _install(call: Call, keeper: Supervisor) -> None:
    changed = keeper.unit.state() != "current"
    kept = keeper.unit.place() if changed else ""
    reachable = _succeeds(call, keeper.reachable)
    if reachable and (changed or not _succeeds(call, keeper.active)):
        _start(call, keeper)
    to_type = () if reachable else keeper.start
    if call.json:
        _tell(keeper, changed, kept, to_type)
        return
    where = keeper.unit.path
    lines = [f"{keeper.name} starts the hub at every login, by {where}" if changed else f"{where} was there already"]
    if kept:
        lines.append(f"what was there before is kept in {kept}")
    output.result("\n".join([*lines, *_left(keeper, to_type)]))


def _uninstall(call: Call, keeper: Supervisor) -> None:
    changed = keeper.unit.state() != "missing"
    reachable = changed and _succeeds(call, keeper.reachable)
    if keeper.unit.state() != "foreign" and reachable:
        for command in keeper.stop:
            _succeeds(call, command)
    keeper.unit.remove()
    to_type = keeper.stop if changed and not reachable else ()
    if call.json:
        _tell(keeper, changed, "", to_type)
        return
    done = f"{keeper.unit.path} is removed; the next command that needs a hub starts one" if changed else ""
    output.result("\n".join([done or f"there is no {keeper.unit.path}: nothing to do", *_left(keeper, to_type)]))


def _tell(keeper: Supervisor, changed: bool, kept: str, to_type: Commands) -> None:
    output.structure(
        {
            "supervisor": keeper.name,
            "file": keeper.unit.path,
            "changed": changed,
            "kept": kept,
            "to_type": [_typed(command) for command in to_type],
        }
    )


def _left(keeper: Supervisor, to_type: Commands) -> list[str]:
    """What is left to do, where the supervisor cannot be talked to from here (a container, another user's session)."""
    if not to_type:
        return []
    return [f"{keeper.name} cannot be reached from here. Type where it can:", *(f"  {_typed(one)}" for one in to_type)]


def _typed(command: Sequence[str]) -> str:
    return " ".join(map(phrase.shell, command))


def _start(call: Call, keeper: Supervisor) -> None:
    """Put the hub into the supervisor's hands; one that runs outside of them makes way. Claims stay.

    Raises:
        HubUnreachable: it does not start so.
    """
    for command in keeper.stop:
        _succeeds(call, command)
    if pid := ending.serving(call.env):
        ending.end(pid, signal.SIGTERM)
    for command in keeper.start:
        ended = _said(call, command)
        if ended.returncode:
            raise HubUnreachable(f"{_typed(command)} ended with {ended.returncode}: {ended.stdout.strip()}")
    deadline = time.monotonic() + CLIENT_DEADLINE_SECONDS
    while time.monotonic() < deadline:
        if line := starter.connect_running(call.env, deadline=deadline):
            line.close()
            return
        time.sleep(_POLL_S)
    raise HubUnreachable(f"{keeper.name} was told, but no hub answers. Look why: {_typed(keeper.active)}")


def _succeeds(call: Call, command: Sequence[str]) -> bool:
    return _said(call, command).returncode == 0


def _said(call: Call, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run ``command``; a program that is not there, or hangs, fails like any other."""
    try:
        return subprocess.run(
            command,
            env=dict(call.env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=2 * CLIENT_DEADLINE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, 127, str(error))


VERBS = (
    Verb(
        "hub install-service",
        run,
        summary="Start the hub at login, by systemd or launchd.",
        help="Write a systemd user unit (macOS: a launchd agent) that starts the hub at every login, and start it now; "
        "a hub that runs already makes way, and claims stay. So the hub never belongs to the sandbox or container of "
        "whoever needed it first. A file of that name which is not ours, or was changed, is kept beside it.",
        examples=(
            ("hub install-service", "once for this user"),
            ("hub install-service --print", "look at the file first"),
            ("hub install-service --uninstall", "and back"),
        ),
        options=(
            Option("print", "--print", help="Print the file and change nothing."),
            Option("uninstall", "--uninstall", help="Stop the service and remove its file."),
        ),
    ),
)
