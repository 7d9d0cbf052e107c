"""``session run``: a command that has its agent's name to itself."""

from __future__ import annotations

import signal
import subprocess
import sys

from synapse_git.cli import output
from synapse_git.cli.verb import Argument, Verb
from synapse_git.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from synapse_git.cli.call import Call

_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
# A terminal sends these to everyone in the foreground, the command included.
_LEFT_ALONE = (signal.SIGINT, signal.SIGQUIT)


def run(call: Call) -> int:
    """The exit status of the command; 128 and the signal's number where one ended it."""
    from synapse_git.session import Session

    agent = call.agent()
    # Within a session of the same name this is a part of it, not a second one.
    inherited = call.env.get("SYNAPSE_SESSION", "") if call.env.get("SYNAPSE_AGENT") == agent else ""
    session = Session(call.env, agent, inherited, on_lost=lambda why: _tell_lost(agent, why))
    session.open()
    try:
        output.settle()
        env = {**call.env, "SYNAPSE_AGENT": agent, "SYNAPSE_SESSION": session.secret}
        return _run(call.texts("command"), env, call.directory() if call.text("directory") else None)
    finally:
        session.close(release=not inherited)


def _run(command: Sequence[str], env: Mapping[str, str], cwd: str | None) -> int:
    """Run it to its end, whatever signals come."""
    try:
        child = subprocess.Popen(command, env=dict(env), cwd=cwd)
    except OSError as error:
        raise UsageError(f"{command[0]}: {error.strerror}") from error
    for number in _FORWARDED:
        signal.signal(number, lambda got, _: child.send_signal(got))
    for number in _LEFT_ALONE:
        signal.signal(number, lambda *_: None)
    status = child.wait()
    return status if status >= 0 else 128 - status


def _tell_lost(agent: str, why: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"synapse-git: the name {agent} is no longer this session's ({why}). What runs here goes on\n")


VERBS = (
    Verb(
        "session run",
        run,
        summary="Run a command that has its agent's name to itself.",
        help="Run a command as an agent whose name nobody else can use meanwhile: claims, releases and commits under "
        "it from elsewhere are refused with NAME_OWNED. The command and all it starts find the name in SYNAPSE_AGENT "
        "and the secret that proves it in SYNAPSE_SESSION. Leases of the agent are extended as long as it runs, and "
        "the name is free again when it ends; were it killed, after an hour. Exits with the command's status.",
        examples=(
            ("session run --agent ana -- my-agent --task 7", "my-agent is ana, and nobody else is"),
            ("session run --agent ana -- bash", "a shell for ana"),
        ),
        argument=Argument("command", "CMD", many=True, convert=str),
    ),
)
