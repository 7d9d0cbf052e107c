"""What ``core.hooksPath`` says, and in which of Git's configuration files."""

from __future__ import annotations

import os

from synapse_git import git
from synapse_git.errors import CheckoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KEY = "core.hooksPath"
# Where the user keeps Git's configuration is the user's to say; which repository is meant is ours.
_USERS = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")


class Setting:
    """One value: a directory, ``~`` expanded. ``scope``: ``system``, ``global``, ``local`` or ``worktree``."""

    __slots__ = ("scope", "value")

    def __init__(self, scope: str, value: str) -> None:
        self.scope = scope
        self.value = value


def environment(env: Mapping[str, str]) -> dict[str, str]:
    """``env`` for questions about a repository in which no hook runs, under the user's own configuration."""
    return {**git.scrubbed(env), **{name: env[name] for name in _USERS if name in env}}


def settings(cwd: str, env: Mapping[str, str]) -> list[Setting]:
    """All values that hold in ``cwd``, weakest first; the last one counts.

    Raises:
        CheckoutError: Git cannot read its configuration.
    """
    fields = _ask(["-C", cwd, "config", "--show-scope", "--type=path", "-z", "--get-all", KEY], env)
    return [Setting(scope, value) for scope, value in zip(fields[::2], fields[1::2], strict=True)]


def in_file(path: str, env: Mapping[str, str]) -> list[str]:
    """All values that the configuration file ``path`` brings, with what it includes."""
    if not os.path.exists(path):
        return []
    return _ask(["config", "--file", path, "--includes", "--type=path", "-z", "--get-all", KEY], env)


def _ask(arguments: Sequence[str], env: Mapping[str, str]) -> list[str]:
    status, output, complaint = git.ask(arguments, environment(env))
    if status > 1:
        raise CheckoutError(f"git cannot read its configuration: {complaint.removeprefix('fatal: ')}")
    return [os.fsdecode(field) for field in output.split(b"\0")[:-1]]
