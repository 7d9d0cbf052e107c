"""Where ``core.hooksPath`` is set: hooks of the user's own, switched on by an include at the end of a config file.

The directory is per user and knows no repository, so that moving one does not switch its guard off. Its hooks run
what they displaced. Files that belong to the user or the machine are never written.
"""

from __future__ import annotations

import os
import re

from synapse_git import address
from synapse_git.errors import CheckoutError
from synapse_hooks.setup import configfile, configured, shims, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_NOTE = b"# synapse-git 1: its guard. `synapse-git uninstall` takes these lines out."
# Said of a block that had to end the line before it first.
_JOINED = b" (And the end of the line before.)"
_BLOCK = re.compile(
    rb"(\n?)(" + re.escape(_NOTE) + rb"(" + re.escape(_JOINED) + rb")?\n)(\[include\]\n)(\tpath = [^\n]*\n)"
)
# The next thing that Git would read in the section: anything but blank lines, comments and the end.
_MORE = re.compile(rb"(?:[ \t]*(?:[#;][^\n]*)?\n)*[ \t]*[^\[\s#;]")


def directory(env: Mapping[str, str]) -> str:
    """The hooks that stand in for those of any repository of this user."""
    return address.data_dir(env) + "/hooks"


def config(env: Mapping[str, str]) -> str:
    """The file to include."""
    return address.data_dir(env) + "/hooks.gitconfig"


def write_hooks(env: Mapping[str, str]) -> list[str]:
    """Make the directory and the file to include, or bring them up to date; what was written.

    Raises:
        CheckoutError: they cannot be written.
    """
    here = directory(env)
    try:
        os.makedirs(here, mode=0o755, exist_ok=True)
        names = [name for name in shims.EVERY if whole.write(f"{here}/{name}", shims.text(name, here=here), 0o755)]
        settings = b"[core]\n\thooksPath = " + configfile.value(os.fsencode(here)) + b"\n"
        settings += b"[include]\n" + _line(configured.config(env))
        names += configured.write(env)
        return names + ([config(env)] if whole.write(config(env), settings, 0o644) else [])
    except OSError as error:
        raise CheckoutError(f"cannot write {error.filename or here}: {error.strerror}") from error


def switch_on(path: str, included: str) -> bool:
    """Have the config file ``path`` end with an include of the file ``included``; was that a change?"""

    def append(content: bytes) -> bytes:
        content = _cut(content)
        joined = bool(content) and not content.endswith(b"\n")
        note = (b"\n" if joined else b"") + _NOTE + (_JOINED if joined else b"")
        return content + note + b"\n[include]\n" + _line(included)

    return configfile.edit(path, append)


def switched_on(path: str, included: str) -> bool:
    """Does the config file ``path`` have that include?"""
    try:
        with open(path, "rb") as file:
            return _line(included) in [line for *_, line in _BLOCK.findall(file.read())]
    except FileNotFoundError:
        return False


def switch_off(path: str) -> bool:
    """Take exactly those bytes out of ``path`` that `switch_on` added; were there any?"""
    try:
        with open(path, "rb") as file:
            if _NOTE not in file.read():
                return False
    except FileNotFoundError:
        return False
    return configfile.edit(path, _cut)


def _cut(content: bytes) -> bytes:
    while found := _BLOCK.search(content):
        newline, _, joined, section, _ = found.groups()
        rest = content[found.end() :]
        # What Git or a person has since put into this section keeps its heading.
        kept = (b"" if joined else newline) + (section if _MORE.match(rest) else b"")
        content = content[: found.start()] + kept + rest
    return content


def _line(included: str) -> bytes:
    return b"\tpath = " + configfile.value(os.fsencode(included)) + b"\n"
