"""The edge of the command-line process: what a command raises becomes a message and an exit status here.

Exit statuses: 0 done, 1 refused, 2 usage, 3 no hub, 4 no usable checkout, 70 a bug (whose log is named),
74 the answer could not be written.
"""

from __future__ import annotations

import os
import sys

from synapse_git import client, explain
from synapse_git.cli import express, output, phrase
from synapse_git.cli.call import Call
from synapse_git.errors import EXIT_BUG, EXIT_OUTPUT, Refused, SynapseError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from synapse_git.cli.verb import Verb

_INTERRUPTED = 130
# Verbs whose user is looking at the messages.
_READING = ("inbox", "ack")


def run(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Carry out a command line, program name first. Never raises."""
    json = "--json" in argv
    output.stand_in()
    try:
        try:
            status = _dispatch(argv, env)
        except SynapseError as error:
            status = _failed(error, json=json)
        output.settle()
    except KeyboardInterrupt:
        status = _INTERRUPTED
    except BrokenPipeError:
        output.abandon(sys.stdout)
        status = 0
    except output.Unwritable as error:
        output.message(f"synapse-git: {error}. What was asked for may have been done: synapse-git status tells")
        status = EXIT_OUTPUT
    except Exception as bug:  # noqa: BLE001 - the process ends here
        status = _bug(bug, env, json=json)
    return status


def _dispatch(argv: Sequence[str], env: Mapping[str, str]) -> int:
    found = None if _completing(env) else express.parse(argv[1:])
    if found is None:
        from synapse_git.cli import menu

        answered = menu.parse(argv, env)
        if isinstance(answered, int):
            return answered
        found = answered
    verb, values = found
    return _carry_out(verb, Call(values, env))


def _carry_out(verb: Verb, call: Call) -> int:
    try:
        status = verb.run(call)
    except SynapseError as error:
        status = _failed(error, json=call.json)
        if isinstance(error, Refused) and not call.json:
            for line in explain.takeovers(error.problem, call.env):
                output.message(line)
    if verb.name not in _READING and not call.json:
        _mention_messages(call)
    return status


def _failed(error: SynapseError, *, json: bool) -> int:
    output.failure(error, json=json)
    return error.exit_status


def _mention_messages(call: Call) -> None:
    """A quiet line where something waits for the agent, as the hub said beside its last answer."""
    if (waiting := client.ASKER.pending) and client.ASKER.agent:
        output.settle()  # the answer comes first
        count = "1 message waits" if waiting == 1 else f"{waiting} messages wait"
        output.message(f"{count} for {client.ASKER.agent}: {phrase.command(call, 'inbox')}")


def _completing(env: Mapping[str, str]) -> bool:
    """Is this a shell that asks what could be typed next?"""
    return "_SYNAPSE_GIT_COMPLETE" in env or "_GIT_SYNAPSE_COMPLETE" in env


def _bug(bug: Exception, env: Mapping[str, str], *, json: bool) -> int:
    """One line for the person, everything else into a log."""
    where = _log(bug, env)
    try:
        text = f"unexpected {type(bug).__name__}: {bug}. Details: {where}"
        output.message(f"synapse-git: {text}")
        if json:
            output.structure(output.failed("", text))
        output.settle()
    except (OSError, output.Unwritable):
        pass  # nobody can be told
    return EXIT_BUG


def _log(bug: Exception, env: Mapping[str, str]) -> str:
    import time
    import traceback

    from synapse_git import address

    try:
        state = address.state_dir(env)
        os.makedirs(state, mode=0o700, exist_ok=True)
        path = state + "/cli.log"
        text = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {sys.argv[1:]!r}\n{''.join(traceback.format_exception(bug))}\n"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except (OSError, KeyError) as error:
        return f"could not be logged ({error})"
    return path
