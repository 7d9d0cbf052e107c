"""The last content of files that their holders are at work on, so that it can be put back. Bounded, in the git dir."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from contextlib import suppress

from synapse_git import record
from synapse_git.quarantine import MAX_BYTES
from synapse_watch import content
from synapse_watch.picture import Mark

_TOTAL_BYTES = 64 * 1024 * 1024
_MOST = 4096


class Kept:
    """One file for each path: a line that tells whose it is, and the content."""

    def __init__(self, git_dir: str) -> None:
        self._folder = f"{git_dir}/{record.FOLDER}/kept"

    def keep(self, path: bytes, full: bytes, owner: str, seen: Mark | None = None) -> None:
        """Remember what stands at ``full`` as what ``owner`` wrote, if it looks like ``seen`` (None: whatever it looks
        like). What cannot be remembered is not.
        """
        found = content.look(full)
        fits = found is not None and seen in (None, content.mark(found))
        if found is None or not fits or not stat.S_ISREG(found.st_mode) or found.st_size > MAX_BYTES:
            self.forget(path)
            return
        try:
            with open(full, "rb") as file:
                data = file.read(MAX_BYTES + 1)
            if content.mark(content.look(full)) != content.mark(found):
                return
            self._write(path, json.dumps([owner, list(content.mark(found)), found.st_mode]).encode() + b"\n" + data)
        except OSError:
            self.forget(path)

    def last(self, path: bytes, owner: str, mark: Mark | None) -> tuple[bytes, int] | None:
        """What ``owner`` had written when the file looked like ``mark`` (None: when it was seen last), and its mode."""
        try:
            with open(self._file(path), "rb") as file:
                whose, looked, mode = json.loads(file.readline())
                known = whose == owner and mark in (None, tuple(looked))
                return (file.read(), mode) if known else None
        except (OSError, ValueError):
            return None

    def forget(self, path: bytes) -> None:
        with suppress(OSError):
            os.unlink(self._file(path))

    def prune(self) -> None:
        """Stay within the bounds: what was written longest ago goes."""
        with suppress(OSError), os.scandir(self._folder) as listed:
            entries = sorted(((entry.stat(), entry.path) for entry in listed), key=lambda pair: -pair[0].st_mtime_ns)
            total = 0
            for number, (found, path) in enumerate(entries, 1):
                total += found.st_size
                if total > _TOTAL_BYTES or number > _MOST:
                    os.unlink(path)

    def _write(self, path: bytes, text: bytes) -> None:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        draft = f"{self._file(path)}.draft"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(text)
        os.replace(draft, self._file(path))

    def _file(self, path: bytes) -> str:
        return f"{self._folder}/{hashlib.sha256(path).hexdigest()}"
