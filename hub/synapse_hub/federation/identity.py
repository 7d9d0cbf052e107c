"""This hub's key, and the certificate it is met under: made once, kept beside the journal, exchanged when hubs join."""

from __future__ import annotations

import base64
import hashlib
import os
import ssl
from contextlib import suppress
from datetime import UTC, datetime

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.x509.oid import NameOID

KEY_FILE = "identity.pem"
CERTIFICATE_FILE = "certificate.pem"
# Peers know the one certificate that they were given; no clock decides about it.
_FROM, _UNTIL = datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)


class Identity(msgspec.Struct, frozen=True):
    """``certificate``: DER, self-signed by ``key``. ``directory``: where both are kept as PEM."""

    key: Ed25519PrivateKey
    certificate: bytes
    directory: str

    @property
    def public(self) -> str:
        """The public key as peers write it down: base64."""
        raw = self.key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        return base64.b64encode(raw).decode()

    def server_context(self) -> ssl.SSLContext:
        """For a listener that is met under this identity."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(os.path.join(self.directory, CERTIFICATE_FILE), os.path.join(self.directory, KEY_FILE))
        return context


def identity(directory: str) -> Identity:
    """The identity kept in ``directory``, made if there is none.

    Raises:
        OSError: it cannot be kept, or others can read it.
        ValueError: what is kept is no key.
    """
    path = os.path.join(directory, KEY_FILE)
    with suppress(FileExistsError):
        _write(path, _pem(Ed25519PrivateKey.generate()))
    if os.lstat(path).st_mode & 0o77:
        raise OSError(0, f"{path} is open to others. Close it: chmod 600 {path}")
    with open(path, "rb") as file:
        key = serialization.load_pem_private_key(file.read(), None)
    if not isinstance(key, Ed25519PrivateKey):
        raise ValueError(f"{path} holds no Ed25519 key")
    certificate_path = os.path.join(directory, CERTIFICATE_FILE)
    with suppress(FileExistsError):
        _write(certificate_path, _certificate(key).public_bytes(serialization.Encoding.PEM))
    with open(certificate_path, "rb") as file:
        certificate = x509.load_pem_x509_certificate(file.read()).public_bytes(serialization.Encoding.DER)
    return Identity(key, certificate, directory)


def public_key(text: str) -> Ed25519PublicKey:
    """The inverse of `Identity.public`. Raises: ValueError."""
    return Ed25519PublicKey.from_public_bytes(base64.b64decode(text, validate=True))


def client_context(certificate: str) -> ssl.SSLContext:
    """For connections to the one server that has this certificate (base64 of DER), whatever it is called.

    Raises:
        ValueError, ssl.SSLError: it is none.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.load_verify_locations(cadata=base64.b64decode(certificate, validate=True))
    return context


def fingerprint(certificate: bytes) -> bytes:
    """What tells one certificate from every other."""
    return hashlib.sha256(certificate).digest()


def _pem(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _certificate(key: Ed25519PrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "synapse hub")])
    builder = x509.CertificateBuilder(
        issuer_name=name,
        subject_name=name,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=_FROM,
        not_valid_after=_UNTIL,
    )
    return builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True).sign(key, None)


def _write(path: str, content: bytes) -> None:
    """Whole or not at all, and only where nothing is. Raises: FileExistsError, OSError."""
    draft = f"{path}.{os.getpid()}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    finally:
        os.unlink(draft)
