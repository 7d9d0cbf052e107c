"""Results go to stdout, messages to stderr; both in whatever the terminal can show."""

from __future__ import annotations

import os
import sys

from synapse_git import document, explain
from synapse_git.errors import EXIT_USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

    from synapse_git.errors import SynapseError


class Unwritable(Exception):
    """Standard output takes nothing more."""


def result(text: str) -> None:
    """Lines of the answer."""
    _write(sys.stdout, text)


def message(text: str) -> None:
    """Lines for the person beside the answer: what is wrong, what goes on."""
    _write(sys.stderr, text)


def raw(answer: bytes) -> None:
    """The hub's own document, untouched."""
    _write(sys.stdout, answer.decode().rstrip("\n"))


def structure(value: object) -> None:
    """``value`` as one JSON document on a line."""
    _write(sys.stdout, document.write(value))


def failure(error: SynapseError, *, json: bool) -> None:
    """Why it was not done: with ``json`` as the one document on stdout, else in words on stderr."""
    problem: Mapping[str, object] | None = getattr(error, "problem", None)
    if json:
        # What the client sees first has the hub's code for it.
        reason = error.reason or ("INVALID_REQUEST" if error.exit_status == EXIT_USAGE else "")
        structure(problem or failed(reason, str(error)))
    elif problem:
        message(explain.problem(problem))
    else:
        message(f"{error.reason or 'synapse-git'}: {error}")


def failed(reason: str, detail: str) -> dict[str, object]:
    """A problem document, as the hub writes them, for what no hub was asked; its ``reason`` is null without a code."""
    kind = f"urn:synapse-git:reason:{reason}" if reason else "about:blank"
    title = reason.replace("_", " ").capitalize() or "Not possible"
    return {"type": kind, "title": title, "reason": reason or None, "detail": detail}


def terminal(stream: TextIO | None, env: Mapping[str, str]) -> bool:
    """Does a person look at ``stream`` through something that can draw?"""
    return stream is not None and stream.isatty() and env.get("TERM") != "dumb"


def stand_in() -> None:
    """Where the process was started with standard output closed, have what is written there fail as it comes to be
    written out, so that work is done to its end; what is opened later does not take its place.
    """
    if sys.stdout is None:
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")  # noqa: SIM115 - for good


def settle() -> None:
    """Push out what is buffered. A reader that left has seen enough; that is no error.

    Raises:
        Unwritable: the answer can go nowhere.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is None:
            continue
        try:
            stream.flush()
        except BrokenPipeError:
            abandon(stream)
        except OSError as error:
            lose(stream, error)


def lose(stream: TextIO, error: OSError) -> None:
    """What was to be written cannot be. Raises: Unwritable, where it was the answer."""
    abandon(stream)
    if stream is sys.stdout:
        raise Unwritable(f"the answer cannot be written: {error.strerror}") from error


def abandon(stream: TextIO | None) -> None:
    """Let what is still buffered for a reader that left go nowhere, so that the interpreter's exit says nothing."""
    if stream is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _write(stream: TextIO | None, text: str) -> None:
    if stream is None:  # started with the descriptor closed
        return
    try:
        stream.write(text + "\n")
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write((text + "\n").encode(encoding, "backslashreplace").decode(encoding))
    except BrokenPipeError:
        raise
    except OSError as error:
        lose(stream, error)
