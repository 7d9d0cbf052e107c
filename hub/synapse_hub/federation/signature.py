"""Signed HTTP requests between hubs: Ed25519 over RFC 9421, with the body's digest after RFC 9530.

Pure: keys, clock, start and nonces are arguments. A signature covers the method, the target, the digest of the body and
every header that means something to us, and names when, by whom, for whom and under which nonce it was made.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from synapse_git.constants import (
    DEFAULT_MESSAGE_AUTH_FUTURE_SKEW_SECONDS,
    DEFAULT_MESSAGE_AUTH_WINDOW_SECONDS,
)
from synapse_git.explain import span
from synapse_hub.core.outcome import Refusal
from synapse_hub.federation import form
from synapse_hub.federation.form import Proof, SignedRequest
from synapse_hub.federation.nonces import Nonces

__all__ = ["SignedRequest", "Signer", "verify"]

# Shorter than that, what lies behind the point says whether the limit was near.
_IN_SECONDS_S = 60.0
_STRANGER = (
    "Only hubs of its team are served. One that was removed, or lost its key, joins anew with a token of the owner's: "
    "synapse-git team join URL"
)
_CLOCKS = "Set the clocks of both machines right: timedatectl"
_AGAIN = "Send it again. If that does not help, set the clocks of both machines right: timedatectl"


class Signer(msgspec.Struct, frozen=True):
    """Who signs: ``key_id`` is the hub's id, under which the others know its key."""

    key_id: str
    key: Ed25519PrivateKey

    def sign(self, request: SignedRequest, recipient: str, *, now: float, nonce: str) -> None:
        """Add the headers that prove ``request`` to be ours and for ``recipient``; ``now``: Unix seconds.

        Raises:
            ValueError: a header holds what cannot be signed.
        """
        form.sign(request, Proof(self.key_id, int(now), f"{int(now % 1 * 1000):03}-{nonce}"), self.key, recipient)


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
    proof = form.proved(request, recipient, keys)
    if proof is None:
        # Most hubs never meet another form, and do without the library for it.
        from synapse_hub.federation import foreign

        try:
            proof = foreign.proved(request, recipient, keys)
        except foreign.Unproved as error:
            return _unproved(str(error))
    if refusal := _outside(proof, recipient, now, started):
        return refusal
    if nonces.outlived(proof.created):
        return _set_back("before others that this hub took seconds ago")
    if nonces.known(proof.key_id, proof.nonce, proof.created):
        return _unproved("it was here before")
    if not nonces.remember(proof.key_id, proof.nonce, proof.created, now):
        return Refusal("QUOTA_EXCEEDED", "too many signed requests within a few seconds", "Send it again later")
    return proof.key_id


def _outside(proof: Proof, me: str, now: float, started: float) -> Refusal | None:
    created, hub = proof.created, proof.key_id
    if proof.signed_at() < started and now < started:
        return _set_back("before this hub started")
    if created < now - DEFAULT_MESSAGE_AUTH_WINDOW_SECONDS:
        late = f"the request of {hub} was signed {_length(now - created)} ago by the clock of {me}"
        return Refusal("EXPIRED", f"{late}: it was long on its way, or the clock of {hub} is behind", _AGAIN)
    if created > now + DEFAULT_MESSAGE_AUTH_FUTURE_SKEW_SECONDS:
        ahead = f"the clock of {hub} is {_length(created - now)} ahead of that of {me}, and every request is dated"
        return Refusal("EXPIRED", ahead, _CLOCKS)
    if proof.signed_at() < started:
        return Refusal("EXPIRED", f"the request of {hub} was signed before {me}, for which it is, started", _AGAIN)
    return None


def _length(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < _IN_SECONDS_S else span(seconds)


def _set_back(when: str) -> Refusal:
    return Refusal(
        "EXPIRED",
        f"the request was signed {when}, and the clock of this hub was set back since",
        "If that clock is right now, restart the hub that refuses: synapse-git hub stop, there",
    )


def _unproved(why: str) -> Refusal:
    return Refusal("NOT_AUTHORISED", f"the request does not prove who sent it: {why}", _STRANGER)
