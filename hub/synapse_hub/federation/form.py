"""A signed request, and the one form of RFC 9421 in which hubs write signatures: one label, one order, one algorithm.

Written and read here without the library for the general form, which takes ten times as long over it. What is said here
to be proved, that library holds to be proved as well; of anything else nothing is said.
"""

from __future__ import annotations

import base64
import hashlib
import re
from binascii import Error
from collections.abc import Mapping

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

_ALWAYS = ("@method", "@request-target")
_MEANINGFUL = ("content-type", "idempotency-key", "last-event-id")
_DIGEST = "content-digest"
# A hub's id and a nonce of ours need no escapes.
_SAID = re.compile(r';created=([1-9]\d{0,11});keyid="([\w.-]+)";alg="ed25519";nonce="([\w-]{1,64})"', re.ASCII)


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


class Proof(msgspec.Struct, frozen=True):
    """Who signed a request, in which Unix second, under which nonce. Whether that counts is another question."""

    key_id: str
    created: int
    nonce: str

    def signed_at(self) -> float:
        """To the millisecond where the nonce begins with it, as those of hubs do; else to the second."""
        fraction, _, rest = self.nonce.partition("-")
        known = bool(rest) and len(fraction) == 3 and fraction.isascii() and fraction.isdigit()
        return self.created + int(fraction) / 1000 if known else float(self.created)


def tag(recipient: str) -> str:
    """For whom a signature is."""
    return f"synapse for {recipient}"


def sign(request: SignedRequest, proof: Proof, key: Ed25519PrivateKey, recipient: str) -> None:
    """Add the headers that prove ``request`` to be for ``recipient``, and from ``proof.key_id``, whose key ``key`` is.

    Raises:
        ValueError: a header holds what cannot be signed.
    """
    covered = request.covered()
    said = f';created={proof.created};keyid="{proof.key_id}";alg="ed25519";nonce="{proof.nonce}"'
    parameters = _parameters(covered, said, recipient)
    request.headers[_DIGEST] = _digest(request.body)
    signature = key.sign(_base(request, covered, parameters))
    request.headers["signature-input"] = "hub=" + parameters
    request.headers["signature"] = f"hub=:{base64.b64encode(signature).decode()}:"


def proved(request: SignedRequest, recipient: str, keys: Mapping[str, Ed25519PublicKey]) -> Proof | None:
    """What proves ``request`` to be for ``recipient`` and from one of ``keys``, if it is signed in this form."""
    headers, covered = request.headers, request.covered()
    start, end = _parameters(covered, "\n", recipient).split("\n")
    given = headers.get("signature-input", "")
    if not (given.startswith("hub=" + start) and given.endswith(end)):
        return None
    said = _SAID.fullmatch(given, len("hub=" + start), len(given) - len(end))
    if said is None or headers.get(_DIGEST) != _digest(request.body):
        return None
    key = keys.get(said[2])
    try:
        signature = base64.b64decode(headers["signature"].removeprefix("hub=:").removesuffix(":"), validate=True)
        if key is None or headers["signature"] != f"hub=:{base64.b64encode(signature).decode()}:":
            return None
        key.verify(signature, _base(request, covered, given.removeprefix("hub=")))
    except (KeyError, ValueError, Error, InvalidSignature):
        return None
    return Proof(said[2], int(said[1]), said[3])


def _parameters(covered: tuple[str, ...], said: str, recipient: str) -> str:
    names = " ".join(f'"{name}"' for name in (*covered, _DIGEST))
    return f'({names}){said};tag="{tag(recipient)}"'


def _base(request: SignedRequest, covered: tuple[str, ...], parameters: str) -> bytes:
    """What is signed. Raises: ValueError, where a header cannot be."""
    derived = {"@method": request.method, "@request-target": request.target}
    lines = [(name, derived.get(name) or request.headers[name]) for name in (*covered, _DIGEST)]
    if not all(value.isascii() and value.isprintable() and value == value.strip() for _, value in lines):
        raise ValueError("a header holds what cannot be signed")
    lines.append(("@signature-params", parameters))
    return "\n".join(f'"{name}": {value}' for name, value in lines).encode("ascii")


def _digest(body: bytes) -> str:
    return f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"
