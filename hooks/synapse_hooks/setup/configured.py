"""From 2.54 on, Git also looks for hooks in its configuration: there ours stand too, whatever leads past the others.

They judge and run nothing else. Each costs an operation one more `sh`, so there are only those that Git starts however
a commit is made.
"""

from __future__ import annotations

import os

from synapse_git import address, git
from synapse_git.errors import CheckoutError
from synapse_hooks.setup import configfile, shims, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

EVENTS = ("prepare-commit-msg", "pre-applypatch")
_SINCE = (2, 54)


def directory(env: Mapping[str, str]) -> str:
    """The user's own hooks that only judge."""
    return address.data_dir(env) + "/configured"


def config(env: Mapping[str, str]) -> str:
    """The file to include."""
    return address.data_dir(env) + "/configured.gitconfig"


def understood(env: Mapping[str, str]) -> bool:
    """Does the Git that is found here look for hooks in its configuration?"""
    said = git.ask(["version"], git.scrubbed(env))[1].decode("ascii", "replace")
    numbers = said.removeprefix("git version ").split(".")[:2]
    return len(numbers) == 2 and all(map(str.isdigit, numbers)) and tuple(map(int, numbers)) >= _SINCE


def write(env: Mapping[str, str]) -> list[str]:
    """Make the hooks and the file to include, or bring them up to date; what was written.

    Raises:
        CheckoutError: they cannot be written.
    """
    here = directory(env)
    try:
        os.makedirs(here, mode=0o755, exist_ok=True)
        names = [name for name in EVENTS if whole.write(f"{here}/{name}", shims.text(name), 0o755)]
        return names + ([config(env)] if whole.write(config(env), _settings(here), 0o644) else [])
    except OSError as error:
        raise CheckoutError(f"cannot write {error.filename or here}: {error.strerror}") from error


def _settings(here: str) -> bytes:
    # The shell that Git may start for it must not stand between: the hook asks for its parent.
    return b"".join(
        b'[hook "synapse-git-%s"]\n\tevent = %s\n\tcommand = %s\n'
        % (name.encode(), name.encode(), configfile.value(b'exec %s "$@"' % shims.quoted(f"{here}/{name}")))
        for name in EVENTS
    )
