"""Put the guard into a repository, and take it out again.

Two ways, so that it lives beside every other tool for hooks: `beside` where Git looks into the repository's own
directory of hooks, `include` where ``core.hooksPath`` sends it elsewhere, or is about to.
"""

from __future__ import annotations

import os
from contextlib import suppress

from synapse_git.errors import CheckoutError
from synapse_git.record import FOLDER
from synapse_hooks import judged
from synapse_hooks.setup import beside, configfile, configured, hookspath, include, shims
from synapse_hooks.setup.repository import Repository

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

# No other tool writes this one, so it also stands where Git finds it should core.hooksPath be unset one day.
_BACKSTOP = ("reference-transaction",)


def install(cwd: str, env: Mapping[str, str]) -> dict[str, Any]:
    """Guard the repository around ``cwd`` in all its worktrees; what was done, as a JSON document.

    ``mode`` (`Repository.mode`), ``hooks_dir``, ``written`` (files), ``chained`` (hooks of others), ``changed``,
    ``silenced`` (`Repository.silenced`).

    Raises:
        CheckoutError: it cannot be guarded; the text says what to do.
    """
    repository = Repository(cwd, env)
    if "\n" in repository.displaced():
        raise CheckoutError(
            "core.hooksPath names a directory with a line break in its name, which no hook can find. Rename it and "
            "set it anew: git config core.hooksPath DIR"
        )
    with repository.alone():
        _recover(repository)
        # The include is there before husky sets the key, and then counts for more.
        elsewhere = repository.displaced(everywhere=True) or repository.awaits_husky
        if elsewhere or not repository.owns_hooks_dir:
            written = _include(repository, repository.config)
            written += _put_beside(repository, _BACKSTOP if repository.owns_hooks_dir else ())
        else:
            written = _put_beside(repository, shims.OURS)
            written += _configure(repository)
        for git_dir in repository.git_dirs():
            written += _guard_worktree(repository, git_dir + "/config.worktree")
    mode = repository.mode()
    if not mode:
        raise CheckoutError(
            f"core.hooksPath still leads to {repository.displaced()}. "
            "See where it is set: git config --show-origin --get-all core.hooksPath"
        )
    return _report(repository, mode, written)


def uninstall(cwd: str, env: Mapping[str, str]) -> dict[str, Any]:
    """Leave the repository around ``cwd`` as if it had never been guarded; what was done, as `install` says it.

    The user's own directory of hooks stays: other repositories may use it. So do ids, which claims go by.

    Raises:
        CheckoutError: something cannot be written.
    """
    repository = Repository(cwd, env)
    mode = repository.mode()
    with repository.alone():
        written = [config for config in _recover(repository) if include.switch_off(config)]
        written += _put_beside(repository, ())
        if os.path.exists(repository.made_mark):
            if os.path.isdir(repository.hooks_dir) and not os.listdir(repository.hooks_dir):
                os.rmdir(repository.hooks_dir)
            os.unlink(repository.made_mark)
        for git_dir in repository.git_dirs():
            judged.forget(git_dir)
            with suppress(OSError):  # unless it holds something
                os.rmdir(f"{git_dir}/{FOLDER}")
    return {**_report(repository, mode, written), "chained": []}


def _recover(repository: Repository) -> list[str]:
    """The configuration files that may be ours to change, rid of what a run left that was killed."""
    configs = [repository.config, *(git_dir + "/config.worktree" for git_dir in repository.git_dirs())]
    for config in configs:
        configfile.recover(config)
    return configs


def _report(repository: Repository, mode: str, written: list[str]) -> dict[str, Any]:
    return {
        "mode": mode,
        "hooks_dir": repository.directory(mode),
        "written": written,
        "chained": repository.chained(mode),
        "silenced": repository.silenced(),
        "changed": bool(written),
    }


def _put_beside(repository: Repository, names: Sequence[str]) -> list[str]:
    """Have ``names`` and no other of our hooks in the repository's own directory; what was written."""
    if names and not os.path.isdir(repository.hooks_dir):
        os.makedirs(os.path.dirname(repository.made_mark), exist_ok=True)
        os.close(os.open(repository.made_mark, os.O_WRONLY | os.O_CREAT, 0o644))
        os.mkdir(repository.hooks_dir)
    hooks = repository.hooks()
    written = [hook.path for hook in hooks if (hook.install() if hook.name in names else hook.uninstall())]
    beside.furnish(repository.hooks_dir)
    return written


def _guard_worktree(repository: Repository, config: str) -> list[str]:
    """A worktree whose own configuration sets ``core.hooksPath`` needs an include of its own."""
    ours = include.directory(repository.env)
    if any(value != ours for value in hookspath.in_file(config, repository.env)):
        return _include(repository, config)
    return [config] if include.switch_off(config) else []


def _configure(repository: Repository) -> list[str]:
    """Have the repository's configuration name hooks where Git looks for them there too; what was written."""
    wanted, env = configured.config(repository.env), repository.env
    if include.switched_on(repository.config, wanted):
        return configured.write(env)
    if configured.understood(env):
        return configured.write(env) + [repository.config] * include.switch_on(repository.config, wanted)
    return [repository.config] if include.switch_off(repository.config) else []


def _include(repository: Repository, config: str) -> list[str]:
    """Have ``config`` end with the include, unless what it says amounts to that; what was written."""
    written = include.write_hooks(repository.env)
    values = hookspath.in_file(config, repository.env)
    if not values or values[-1] != include.directory(repository.env):
        written += [config] if include.switch_on(config, include.config(repository.env)) else []
    return written
