"""The file that every harness starts, under a path that is spelled alike on every machine.

The command in a harness's configuration never changes, whichever version is installed wherever: a project can track
it, and a harness that asks its user to trust a command asks once.
"""

from __future__ import annotations

import os

from synapse_git import equipment
from synapse_hooks.setup import shims, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SHELL = f'"${{XDG_DATA_HOME:-$HOME/.local/share}}/synapse-git/{equipment.LAUNCHER}"'


def command(harness: str, event: str) -> str:
    """What a harness hands to its shell."""
    return f"{_SHELL} {harness} {event}"


def ours(text: object, harness: str) -> bool:
    """Is this a command of ours, of whatever version?"""
    return isinstance(text, str) and f'/synapse-git/{equipment.LAUNCHER}" {harness} ' in text


def path(env: Mapping[str, str]) -> str:
    """The file itself. Raises as `equipment.directory`."""
    return f"{equipment.directory(env)}/{equipment.LAUNCHER}"


def install(env: Mapping[str, str]) -> bool:
    """Put it in place; was that a change? Raises: OSError, and as `path`."""
    os.makedirs(equipment.directory(env), exist_ok=True)
    return whole.write(path(env), _text(), 0o755)


def uninstall(env: Mapping[str, str]) -> None:
    """Take it away. Raises: OSError, and as `path`."""
    whole.remove(path(env))


def works(env: Mapping[str, str]) -> bool:
    """Is it there, and does it start this installation?"""
    return whole.holds(path(env), _text(), 0o755)


def _text() -> bytes:
    source = os.path.dirname(os.path.abspath(__file__))
    values = {b"python=''": shims.interpreter(), b"launch=''": os.path.dirname(source) + "/launch.py"}
    with open(source + "/launcher.sh", "rb") as file:
        lines = file.read().split(b"\n")
    return b"\n".join(
        line.partition(b"=")[0] + b"=" + shims.quoted(values[line]) if line in values else line for line in lines
    )
