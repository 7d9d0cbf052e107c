"""Signed HTTP requests between hubs: Ed25519 over RFC 9421, with the body's digest after RFC 9530.

Pure: keys, clock, start and nonces are arguments. A signature covers the method, the target, the digest of the body and
every header that means something to us, and names when, by whom, for whom and under which nonce it was made.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from http_message_signatures.algorithms import ED25519  # pyright: ignore[reportPrivateImportUsage]
from http_message_signatures.exceptions import InvalidSignature
from http_message_signatures.resolvers import HTTPSignatureKeyResolver
from http_message_signatures.signatures import HTTPMessageSigner, HTTPMessageVerifier

from synapse_git.constants import (
    DEFAULT_MESSAGE_AUTH_FUTURE_SKEW_SECONDS,
    DEFAULT_MESSAGE_AUTH_WINDOW_SECONDS,
)
from synapse_hub.core.outcome import Refusal
from synapse_hub.federation.nonces import Nonces

_ALWAYS = ("@method", "@request-target")
_MEANINGFUL = ("content-type", "idempotency-key", "last-event-id")
_LONGEST_NONCE = 64


class SignedRequest(msgspec.Struct):
    """A request to be signed or verified. ``headers``: lower-case names; ``target``: path and query."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def url(self) -> str:
        """The library wants one. Which host name led here is not covered: for whom it is, the signature says."""
        return f"https://hub{self.target}"

    def covered(self) -> tuple[str, ...]:
        """What a signature has to cover, beside the body's digest."""
        named = sorted(name for name in self.headers if name in _MEANINGFUL or name.startswith("synapse-"))
        return (*_ALWAYS, *named)


class Signer(msgspec.Struct, frozen=True):
    """Who signs: ``key_id`` is the hub's id, under which the others know its key."""

    key_id: str
    key: Ed25519PrivateKey

    def sign(self, request: SignedRequest, recipient: str, *, now: float, nonce: str) -> None:
        """Add the headers that prove ``request`` to be ours and for ``recipient``; ``now``: Unix seconds."""
        signer = HTTPMessageSigner(signature_algorithm=ED25519, key_resolver=_Own(self.key))
        signer.sign(
            request,
            key_id=self.key_id,
            created=datetime.fromtimestamp(int(now), UTC),
            nonce=nonce,
            label="hub",
            tag=_tag(recipient),
            covered_component_ids=request.covered(),
            body=request.body,
        )


def verify(
    request: SignedRequest,
    *,
    recipient: str,
    keys: Mapping[str, Ed25519PublicKey],
    now: float,
    started: float,
    nonces: Nonces,
) -> str | Refusal:
    """The key id of whoever signed ``request`` for ``recipient``; its nonce is used up by that.

    ``now`` and ``started``, the instant since which nonces are remembered, are Unix seconds of this hub's wall clock.

    Refuses with NOT_AUTHORISED: unsigned, altered, by a stranger, for somebody else, or here before; EXPIRED: too old,
    too far ahead, or from before this hub's start; QUOTA_EXCEEDED: more requests than can be told apart.

    Spec: INV-CK-2
    """
    try:
        found = _Timeless(signature_algorithm=ED25519, key_resolver=_Known(keys)).verify(
            request, max_age=None, expect_tag=_tag(recipient), require_components=request.covered(), body=request.body
        )
    except InvalidSignature as error:
        return _unproved(str(error))
    if len(found) != 1:
        return _unproved("it carries several signatures")
    (signed,) = found
    created, nonce, key_id = (signed.parameters.get(name) for name in ("created", "nonce", "keyid"))
    if not (isinstance(created, int) and isinstance(nonce, str) and isinstance(key_id, str)) or signed.body is None:
        return _unproved("a signature names its time and a nonce, and covers the body's digest")
    if not 0 < len(nonce) <= _LONGEST_NONCE:
        return _unproved(f"a nonce is 1 to {_LONGEST_NONCE} characters")
    if refusal := _outside(created, now, started):
        return refusal
    if nonces.outlived(created):
        return Refusal(
            "EXPIRED",
            "the request was signed before others that this hub took seconds ago, and its clock was set back since",
            "Send it again; if that does not help, restart this hub",
        )
    if nonces.known(key_id, nonce, created):
        return _unproved("it was here before")
    if not nonces.remember(key_id, nonce, created, now):
        return Refusal("QUOTA_EXCEEDED", "too many signed requests within a few seconds", "Send it again later")
    return key_id


def _outside(created: int, now: float, started: float) -> Refusal | None:
    if created < started:
        what = "was signed before this hub started"
    elif created < now - DEFAULT_MESSAGE_AUTH_WINDOW_SECONDS:
        what = f"was signed {now - created:.1f} s ago, and {DEFAULT_MESSAGE_AUTH_WINDOW_SECONDS:g} s is the limit"
    elif created > now + DEFAULT_MESSAGE_AUTH_FUTURE_SKEW_SECONDS:
        what = f"is from {created - now:.1f} s ahead of this hub's clock"
    else:
        return None
    return Refusal("EXPIRED", f"the request {what}", "Send it again; set the clocks of both machines right")


def _unproved(why: str) -> Refusal:
    return Refusal(
        "NOT_AUTHORISED", f"the request does not prove who sent it: {why}", "Only hubs that joined this one are served"
    )


def _tag(recipient: str) -> str:
    return f"synapse for {recipient}"


class _Own(HTTPSignatureKeyResolver):
    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    def resolve_private_key(self, key_id: str) -> Ed25519PrivateKey:  # noqa: ARG002 - the library's signature
        return self._key


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
