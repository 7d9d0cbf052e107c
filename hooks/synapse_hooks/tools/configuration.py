"""A harness's configuration file: our entries in it, put there and taken out without touching what else it holds."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from synapse_git import equipment
from synapse_git.errors import CheckoutError
from synapse_hooks.setup import whole
from synapse_hooks.tools import hook, inline, launcher
from synapse_hooks.tools.entries import Entries
from synapse_hooks.tools.inline import Inline
from synapse_hooks.tools.script import Script

_MODE = 0o644


def content(harness: str, path: str = "") -> Entries | Inline | Script:
    """What is ours in the configuration of ``harness`` at ``path``."""
    speaks = hook.dialect(harness)
    if path.endswith(".toml"):
        return Inline(harness, speaks)
    return Script(speaks.script) if speaks.script else Entries(harness, speaks)


def chosen(harness: str, path: str) -> str:
    """Where hooks go: to ``path``, or to the file beside it where its user keeps hooks, since two would be too many."""
    beside = equipment.PLACES[harness].inline
    if not beside:
        return path
    other = f"{os.path.dirname(path)}/{beside}"
    try:
        with open(other, "rb") as file:
            text = file.read().decode()
    except (OSError, UnicodeDecodeError):
        return path
    ours = f"/{equipment.LAUNCHER}" in text
    return other if inline.used(text) and (ours or not os.path.lexists(path)) else path


class Configuration:
    """The file at ``path``, which may be missing, of ``harness``."""

    def __init__(self, harness: str, path: str, env: Mapping[str, str]) -> None:
        self.path = path
        self._content = content(harness, path)
        self._target = os.path.realpath(path)  # a link stays a link
        self._env = env
        mark = hashlib.sha256(os.fsencode(self._target)).hexdigest()[:16]
        kept = equipment.directory(env) + "/agents"
        self._record = f"{kept}/{mark}.record"
        self._copies = f"{kept}/{mark}-{os.path.basename(path)}"

    def state(self) -> tuple[str, str]:
        """How it stands: ``installed``, ``outdated``, ``missing`` or ``broken``, and what is amiss, in words."""
        try:
            found = self._understood(self._content.state, self._read())
        except CheckoutError as error:
            return "broken", str(error)
        if found == "installed" and not launcher.works(self._env):
            return "outdated", f"{launcher.path(self._env)} is missing or of another installation"
        return found, "it is of another version" if found == "outdated" else ""

    def install(self) -> dict[str, Any]:
        """Have our entries in it; what was done: ``changed``, ``copy`` (of what was there before, '' if nothing was).

        Raises:
            CheckoutError: the file is no JSON, cannot be written, or would be made where a link leads that leads
                nowhere; nothing was changed.
        """
        self._check_links()
        self._check_writable()
        with self._alone():
            launched = launcher.install(self._env)
            before = self._read()
            if self.state()[0] == "installed":
                self._remember(self._recall())
                return {"changed": launched, "copy": ""}
            made = {"existed": os.path.lexists(self._target), **self._recall()}
            text = self._understood(self._content.take, before, made.get("segments", []))
            made["segments"] = []
            after = self._understood(self._content.put, text, made["segments"])
            made["dirs"] = made.get("dirs") or self._missing()
            self._remember(made)
            os.makedirs(os.path.dirname(self._target), exist_ok=True)
            return {"changed": True, "copy": self._write(before, after)}

    def uninstall(self) -> dict[str, Any]:
        """Have it as if we had never been there, and gone if we made it; what was done, as `install`.

        Raises: CheckoutError, as `install`.
        """
        self._check_writable()
        with self._alone():
            before, made = self._read(), self._recall()
            after = self._understood(self._content.take, before, made.get("segments", []))
            copy = self._write(before, after, empty=made.get("existed", False)) if after != before else ""
            whole.remove(self._target + whole.DRAFT)
            for directory in reversed(made.get("dirs", [])):
                if os.path.isdir(directory) and not os.listdir(directory):
                    os.rmdir(directory)
            whole.remove(self._record)
            if not any(name.endswith(".record") for name in os.listdir(os.path.dirname(self._record))):
                launcher.uninstall(self._env)
            return {"changed": after != before, "copy": copy}

    def _understood(self, read: Callable[..., str], *arguments: Any) -> str:
        """What ``read`` makes of the content. Raises: CheckoutError, naming the file."""
        try:
            return read(*arguments)
        except CheckoutError as error:
            raise CheckoutError(f"{self.path}: {error}. Mend it; nothing was changed") from None

    def _read(self) -> str:
        try:
            with open(self._target, "rb") as file:
                return file.read().decode()
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise CheckoutError(f"cannot read {self.path}: {error.strerror}. Make it readable") from error
        except UnicodeDecodeError:
            raise CheckoutError(f"{self.path} is not UTF-8. Mend it; nothing was changed") from None

    def _check_links(self) -> None:
        """Raises: CheckoutError, where a link on the way leads nowhere: what is there is not for us to make."""
        path = self.path
        while path != os.path.dirname(path):
            if os.path.islink(path) and not os.path.exists(path):
                raise CheckoutError(f"{path} is a link to {os.readlink(path)}, which is not there. Make that first")
            path = os.path.dirname(path)

    def _check_writable(self) -> None:
        """Raises: CheckoutError. Whoever made it read-only meant it, also where a rename would go past that."""
        there = [self._target] if os.path.lexists(self._target) else []
        directory = os.path.dirname(self._target)
        while not os.path.lexists(directory):
            directory = os.path.dirname(directory)
        for path in (*there, directory):
            if not os.access(path, os.W_OK):
                raise CheckoutError(f"cannot write {path}: it is read-only. Make it writable; nothing was changed")

    def _write(self, before: str, after: str, *, empty: bool = False) -> str:
        """Replace the content; where a copy of it is, '' if it was new. ``empty``: nothing may be left in it, else the
        file is removed then.
        """
        existed = os.path.lexists(self._target)
        if self._read() != before:
            raise CheckoutError(f"{self.path} was changed by somebody else just now. Try again")
        copy = self._keep(before.encode()) if existed else ""
        if after or empty:
            mode = os.stat(self._target).st_mode & 0o7777 if existed else _MODE
            whole.write(self._target, after.encode(), mode)
        elif existed:
            os.unlink(self._target)
        return copy

    def _keep(self, content: bytes) -> str:
        """Where a copy with this content is. None that was made before is lost."""
        number, name = 1, self._copies
        while os.path.lexists(name) and not whole.holds(name, content, 0o600):
            number += 1
            name = f"{self._copies}.{number}"
        whole.write(name, content, 0o600)
        return name

    def _missing(self) -> list[str]:
        """The directories that have to be made for the file, outermost first."""
        missing, directory = list[str](), os.path.dirname(self._target)
        while not os.path.isdir(directory):
            missing.insert(0, directory)
            directory = os.path.dirname(directory)
        return missing

    def _recall(self) -> dict[str, Any]:
        """What was inserted, as the last installation wrote it down."""
        try:
            with open(self._record, "rb") as file:
                found = json.load(file)
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _remember(self, made: Mapping[str, Any]) -> None:
        text = json.dumps({**made, "file": os.fsencode(self._target).decode("utf-8", "replace")})
        whole.write(self._record, text.encode(), 0o600)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """None of us edits a configuration meanwhile.

        Raises:
            CheckoutError: for whatever cannot be written in between.
        """
        folder = os.path.dirname(self._record)
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                yield
            finally:
                os.close(descriptor)
        except OSError as error:
            raise CheckoutError(
                f"cannot write {error.filename or folder}: {error.strerror}. Make it writable"
            ) from error
