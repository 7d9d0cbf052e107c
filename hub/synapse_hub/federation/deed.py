"""The title of a namespace's next owner: signed by the one before, shown to whoever still asks that one."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import msgspec
from cryptography.exceptions import InvalidSignature

from synapse_hub.core.team.state import Governed
from synapse_hub.federation.identity import Identity, public_key
from synapse_hub.hubfile import HubFile, Peer


class Deed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``giver`` made ``heir``, which is met as ``peer`` says, the owner of ``namespace`` in its term ``term``."""

    namespace: str
    giver: str
    heir: str
    term: int
    peer: Peer


def signed(deed: Deed, identity: Identity) -> dict[str, str]:
    """As it travels and is kept: the text and a signature over it."""
    text = msgspec.json.encode(deed)
    signature = identity.key.sign(_purpose(text))
    return {"deed": text.decode(), "signature": base64.b64encode(signature).decode()}


def read(document: object) -> Deed:
    """What ``document`` says, whoever signed it. Raises: ValueError."""
    try:
        return msgspec.json.decode(msgspec.convert(document, dict[str, str])["deed"], type=Deed)
    except (KeyError, msgspec.MsgspecError) as error:
        raise ValueError(f"that is no deed: {error}") from error


def proves(document: object, key: str) -> bool:
    """Was it signed with the private half of ``key``?"""
    try:
        document = msgspec.convert(document, dict[str, str])
        signature = base64.b64decode(document["signature"], validate=True)
        public_key(key).verify(signature, _purpose(document["deed"].encode()))
    except (KeyError, ValueError, msgspec.ValidationError, InvalidSignature):
        return False
    return True


def followed(file: HubFile, governed: Mapping[str, Governed], document: object) -> HubFile | None:
    """``file`` as it is once this hub asks the heir; None where that deed is none, not the owner's, or an old one."""
    try:
        deed = read(document)
    except ValueError:
        return None
    entry, known = file.namespaces.get(deed.namespace), governed.get(deed.namespace)
    giver, heir = file.peers.get(deed.giver), file.peers.get(deed.heir, deed.peer)
    if entry is None or known is None or giver is None or known.owner != deed.giver or known.term >= deed.term:
        return None
    if deed.heir == file.id or heir.key != deed.peer.key or not proves(document, giver.key):
        return None
    entry = msgspec.structs.replace(entry, owner=deed.heir, term=deed.term)
    return msgspec.structs.replace(
        file,
        peers={**file.peers, deed.heir: deed.peer},
        namespaces={**file.namespaces, deed.namespace: entry},
    )


def _purpose(text: bytes) -> bytes:
    """So that no signature made for anything else counts for this."""
    return b"synapse deed\n" + text
