"""Signatures by RFC 9421 in whatever form they are written, read by the library that knows them all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

# It is documented there, and re-exported without saying so.
from http_message_signatures.algorithms import ED25519  # pyright: ignore[reportPrivateImportUsage]  # public by its documents
from http_message_signatures.exceptions import InvalidSignature
from http_message_signatures.resolvers import HTTPSignatureKeyResolver
from http_message_signatures.signatures import HTTPMessageVerifier

from synapse_hub.federation.form import Proof, SignedRequest, tag

_LONGEST_NONCE = 64


class Unproved(Exception):
    """The text says what is wrong with a signature."""


def proved(request: SignedRequest, recipient: str, keys: Mapping[str, Ed25519PublicKey]) -> Proof:
    """What proves ``request`` to be for ``recipient`` and from one of ``keys``. Raises: Unproved."""
    try:
        found = _Timeless(signature_algorithm=ED25519, key_resolver=_Known(keys)).verify(
            request,
            max_age=None,
            expect_tag=tag(recipient),
            require_components=request.covered(),
            body=request.body,
        )
    except InvalidSignature as error:
        raise Unproved(str(error) or "the hub that it names has joined with another key") from error
    if len(found) != 1:
        raise Unproved("it carries several signatures")
    (signed,) = found
    created, nonce, key_id = (signed.parameters.get(name) for name in ("created", "nonce", "keyid"))
    if not (isinstance(created, int) and isinstance(nonce, str) and isinstance(key_id, str)) or signed.body is None:
        raise Unproved("a signature names its time and a nonce, and covers the body's digest")
    if not 0 < len(nonce) <= _LONGEST_NONCE:
        raise Unproved(f"a nonce is 1 to {_LONGEST_NONCE} characters")
    return Proof(key_id, created, nonce)


class _Known(HTTPSignatureKeyResolver):
    def __init__(self, keys: Mapping[str, Ed25519PublicKey]) -> None:
        self._keys = keys

    def resolve_public_key(self, key_id: str) -> Ed25519PublicKey:
        if (key := self._keys.get(key_id)) is None:
            raise InvalidSignature(f"nobody here is known as {key_id}")
        return key


class _Timeless(HTTPMessageVerifier):
    """The library would look at the clock by itself, and more leniently."""

    def validate_created_and_expires(self, sig_input: Any, max_age: Any = None) -> None:
        pass
