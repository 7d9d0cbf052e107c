"""What of Git's configuration concerns us, by Git's own word. Stdlib only: hooks use it."""

from __future__ import annotations

import os

from synapse_git import git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_KEYS = r"^(core\.(ignorecase|precomposeunicode|hookspath)|synapse\..*|remote\..*\.url)$"


def question(env: Mapping[str, str], *where: str) -> git.Question:
    """Ask, beside other questions, about the repository that ``env`` names or ``where`` (``-C``, a directory) leads to.

    `parsed` reads the answer. Its status is 1 where nothing is configured, and more where Git cannot tell.
    """
    return git.Question([*where, "config", "-z", "--get-regexp", _KEYS], env)


def parsed(output: bytes) -> dict[str, str]:
    """The last value of each key, keys in lower case; one without ``=`` is true."""
    found = {}
    for entry in output.split(b"\0")[:-1]:
        key, given, value = os.fsdecode(entry).partition("\n")
        found[key] = value if given else "true"
    return found
