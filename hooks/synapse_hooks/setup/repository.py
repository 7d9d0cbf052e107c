"""The files of one repository that its guard concerns."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager

from synapse_git import checkout, content, gitdir
from synapse_git.errors import CheckoutError
from synapse_git.record import FOLDER
from synapse_hooks.setup import hookspath, include, shims
from synapse_hooks.setup.beside import Hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_MANIFEST_BYTES = 1_048_576


class Repository:
    """``root``: the checkout it was found from; ``hooks_dir``: where Git looks unless ``core.hooksPath`` is set.

    ``made_mark``: a file that stands while that directory is one that we made.
    """

    __slots__ = ("common_dir", "config", "env", "hooks_dir", "made_mark", "root")

    def __init__(self, cwd: str, env: Mapping[str, str]) -> None:
        """Raises: CheckoutError, if there is none around ``cwd``."""
        found = checkout.find(cwd, env)
        self.root = found.root
        self.common_dir = found.common_dir
        self.env = env
        self.hooks_dir = found.common_dir + "/hooks"
        self.config = found.common_dir + "/config"
        self.made_mark = f"{found.common_dir}/{FOLDER}/made-hooks"

    @property
    def owns_hooks_dir(self) -> bool:
        """Through a link it belongs to others as well, who have asked for no guard."""
        return not os.path.islink(self.hooks_dir)

    @property
    def awaits_husky(self) -> bool:
        """Does the project carry husky, which sets ``core.hooksPath`` whenever the project's packages are installed?"""
        try:
            manifest = content.read(self.root + "/package.json", _MANIFEST_BYTES)
            return b'"husky"' in manifest or os.path.isdir(self.root + "/.husky")
        except OSError:
            return os.path.isdir(self.root + "/.husky")

    def git_dirs(self) -> list[str]:
        """Of the main checkout and of all linked ones."""
        return gitdir.every(self.common_dir)

    def hooks(self) -> list[Hook]:
        """In the repository's own directory, as far as we care."""
        return [Hook(self.hooks_dir, name) for name in shims.OURS] if os.path.isdir(self.hooks_dir) else []

    def displaced(self, *, everywhere: bool = False) -> str:
        """The directory that ``core.hooksPath`` names, ours aside; '' if it names none.

        ``everywhere``: what a single worktree has set for itself does not count.
        """
        ours = include.directory(self.env)
        found = [
            setting.value
            for setting in hookspath.settings(self.root, self.env)
            if setting.value != ours and not (everywhere and setting.scope == "worktree")
        ]
        return os.path.join(self.root, found[-1]) if found else ""

    def silenced(self) -> str:
        """What ``core.hooksPath`` names that can hold no hooks, so that somebody has switched them off; else ''."""
        named = self.displaced()
        return named if os.path.lexists(named) and not os.path.isdir(named) else ""

    def mode(self) -> str:
        """Where Git finds its hooks here: ``include``, ``hooks``, or '' for a directory that is not ours to fill."""
        found = hookspath.settings(self.root, self.env)
        if not found:
            return "hooks"
        return "include" if found[-1].value == include.directory(self.env) else ""

    def directory(self, mode: str) -> str:
        """The directory of hooks that belongs to a `mode`."""
        return {"hooks": self.hooks_dir, "include": include.directory(self.env)}.get(mode) or self.displaced()

    def chained(self, mode: str) -> list[str]:
        """The hooks of others that run after ours, as they are called."""
        if mode == "hooks":
            return [hook.path for hook in self.hooks() if hook.chained()]
        if mode != "include":
            return []
        displaced = self.displaced() or self.hooks_dir
        paths = [f"{displaced}/{name}" for name in shims.EVERY]
        return [path for path in paths if os.path.isfile(path) and os.access(path, os.X_OK) and not shims.read(path)]

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else installs here meanwhile.

        Raises:
            CheckoutError: for whatever cannot be written in between.
        """
        descriptor = os.open(self.common_dir, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        except OSError as error:
            raise CheckoutError(
                f"cannot write {error.filename or self.common_dir}: {error.strerror}. Make it writable"
            ) from error
        finally:
            os.close(descriptor)
