"""The file that tells a service supervisor about the hub, and whose it is.

It carries a digest of itself, so that one which somebody changed, or wrote, is told from one of ours.
"""

from __future__ import annotations

import hashlib
import os
import re

from synapse_git.errors import CheckoutError

_SEAL = "@SEAL@"
_SEALED = re.compile(r"(?<=install-service, sha256 )[0-9a-f]{64}\b")


def seal(text: str) -> str:
    """``text`` with the digest of itself where it says ``@SEAL@``."""
    return text.replace(_SEAL, _digest(text))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _ours(text: str) -> bool:
    """Was this text written by `seal`, and left as it was?"""
    found = _SEALED.search(text)
    return found is not None and found[0] == _digest(_SEALED.sub(_SEAL, text, count=1))


class Unit:
    """The file at ``path``; ``text`` is what it should hold."""

    __slots__ = ("path", "text")

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text

    def state(self) -> str:
        """``missing``; ``current``; ``outdated``: ours, with another text; ``foreign``: somebody had a hand in it."""
        if not os.path.lexists(self.path):
            return "missing"
        found = self._read()
        if found == self.text:
            return "current"
        return "outdated" if _ours(found) else "foreign"

    def _read(self) -> str:
        """'' for what is no file of its own: a link (masked units are links to nowhere), a directory."""
        try:
            if not os.path.islink(self.path):
                with open(self.path, encoding="utf-8", errors="surrogateescape") as file:
                    return file.read()
        except OSError:
            pass
        return ""

    def place(self) -> str:
        """Write it, whole or not at all; a foreign file is moved aside first, to the path that is returned, else ''.

        Raises:
            CheckoutError: it cannot be written.
        """
        draft = f"{self.path}.{os.getpid()}.draft"
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            with open(draft, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(self.text)
            kept = self._keep() if self.state() == "foreign" else ""
            os.replace(draft, self.path)
        except OSError as error:
            raise CheckoutError(f"cannot write {self.path}: {error.strerror}. Make it writable") from error
        return kept

    def _keep(self) -> str:
        kept, number = f"{self.path}.kept", 1
        while os.path.lexists(kept):
            number += 1
            kept = f"{self.path}.kept-{number}"
        os.rename(self.path, kept)
        return kept

    def remove(self) -> None:
        """Take it away.

        Raises:
            CheckoutError: it is not as we wrote it, or cannot be removed.
        """
        if self.state() == "foreign":
            raise CheckoutError(f"{self.path} was changed or made by somebody else, so it stays. Remove it by hand")
        try:
            os.unlink(self.path)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise CheckoutError(f"cannot remove {self.path}: {error.strerror}. Make it writable") from error
