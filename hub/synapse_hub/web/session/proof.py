"""Proof that a session has the private half of the key it registers with."""

from __future__ import annotations

import base64
import binascii

from synapse_hub.web.desk import Rejected

_KEY_BYTES = 32
_SIGNATURE_BYTES = 64


def public_key(text: str) -> str:
    """A key as it came, base64, in the one spelling that is compared. Raises: Rejected."""
    return base64.b64encode(_decoded(text, _KEY_BYTES, "key")).decode()


def check(key: str, signature: str, statement: bytes) -> None:
    """Did the owner of ``key`` sign ``statement``? Raises: Rejected, if not."""
    # A hub without pinned keys does without the library's weight.
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    signed = _decoded(signature, _SIGNATURE_BYTES, "signature")
    try:
        Ed25519PublicKey.from_public_bytes(base64.b64decode(key)).verify(signed, statement)
    except (InvalidSignature, ValueError):
        raise Rejected("NOT_AUTHORISED", "the signature is not of the key that was given") from None


def _decoded(text: str, size: int, field: str) -> bytes:
    try:
        raw = binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        raw = b""
    if len(raw) != size:
        raise Rejected("INVALID_REQUEST", f"{field} must be the base64 of {size} bytes")
    return raw
