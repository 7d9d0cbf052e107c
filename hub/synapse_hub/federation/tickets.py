"""Tokens that let a hub in: each for one namespace, once, for ten minutes. Kept in memory: a restart voids them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets

from synapse_git.constants import JOIN_TOKEN_SECONDS

_SECRET_BYTES = 16
_FINGERPRINT_BYTES = 32


class Tickets:
    """Those that this hub has given out, by the digest of their secrets."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[str, float]] = {}

    def issue(self, namespace: str, fingerprint: bytes, now: float) -> str:
        """A token for ``namespace``. It tells as well under which certificate this hub is met."""
        self._known = {digest: entry for digest, entry in self._known.items() if entry[1] > now}
        secret = secrets.token_bytes(_SECRET_BYTES)
        self._known[_digest(secret)] = (namespace, now + JOIN_TOKEN_SECONDS)
        return base64.urlsafe_b64encode(fingerprint + secret).decode().rstrip("=")

    def look(self, secret: bytes, now: float) -> str:
        """The namespace that the secret opens, '' if none."""
        namespace, until = self._known.get(_digest(secret), ("", 0.0))
        return namespace if until > now else ""

    def redeem(self, secret: bytes, now: float) -> str:
        """As `look`; it opens it no more."""
        namespace = self.look(secret, now)
        self._known.pop(_digest(secret), None)
        return namespace


def read(token: str) -> tuple[bytes, bytes]:
    """The fingerprint of the certificate to expect, and the secret. Raises: ValueError."""
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except binascii.Error as error:
        raise ValueError("a letter of it is missing, or one too many") from error
    if len(raw) != _FINGERPRINT_BYTES + _SECRET_BYTES:
        raise ValueError("it is not as long as a token is")
    return raw[:_FINGERPRINT_BYTES], raw[_FINGERPRINT_BYTES:]


def _digest(secret: bytes) -> bytes:
    return hashlib.sha256(secret).digest()
