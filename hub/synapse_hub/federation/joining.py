"""How two hubs come to know each other: the file of either before and after, and the one exchange in between."""

from __future__ import annotations

import asyncio
import base64
import re
import secrets
import socket
import ssl
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from synapse_git.constants import OWNER_DEADLINE_SECONDS
from synapse_git.explain import span
from synapse_git.protocol.team import TeamAdmitBody
from synapse_hub.federation.identity import client_context, fingerprint
from synapse_hub.federation.line import Broken, Line, NotConnected, why
from synapse_hub.federation.link import Reply, Unreachable, read
from synapse_hub.hubfile import HubFile, Namespace, Peer

# Less than what makes a signed request too old, and more than an exchange takes.
_CLOCKS_APART_S = OWNER_DEADLINE_SECONDS
_INVALID, _AWAY = "INVALID_REQUEST", "OWNER_UNREACHABLE"


class Admission(msgspec.Struct, frozen=True):
    """What it is told in return: who let it in, and into what.

    ``wall``: what its clock shows, in Unix seconds; ``term``: rises with each change of owner.
    """

    id: str
    key: str
    namespace: str
    remotes: tuple[str, ...]
    exclusion: Literal["repository", "worktree"]
    # Not told by the first versions.
    wall: float | None = None
    term: int = 0


class CannotJoin(Exception):
    """The text says why, and what to do; ``reason`` is its code."""

    def __init__(self, text: str, reason: str = "NOT_AUTHORISED") -> None:
        super().__init__(text)
        self.reason = reason


def own_name(hub_id: str) -> str:
    """A name for this hub that no other has by chance: the machine's, and a few characters of the journal's id."""
    host = re.sub(r"[^A-Za-z0-9-]+", "-", socket.gethostname().partition(".")[0]).strip("-") or "hub"
    return f"{host[:40]}-{hub_id[:4]}"


def admitted(file: HubFile, namespace: str, peer: str, entry: Peer) -> HubFile:
    """``file`` with ``peer`` in the team of ``namespace``. Raises: CannotJoin."""
    known = file.peers.get(peer)
    if peer == file.id or (known is not None and known.key != entry.key):
        raise CannotJoin(
            f"another hub of the team is called {peer}. If it is this one, which lost its key, put it out first, on "
            f"the owner: synapse-git team remove {namespace} {peer}. Else join under another name: --name NAME"
        )
    owned = file.namespaces[namespace]
    members = tuple(dict.fromkeys((*owned.members, peer)))
    if known is not None and not entry.url:
        entry = known
    return msgspec.structs.replace(
        file,
        peers={**file.peers, peer: entry},
        namespaces={**file.namespaces, namespace: msgspec.structs.replace(owned, members=members)},
    )


def joined(file: HubFile, url: str, certificate: str, admission: Admission) -> HubFile:
    """``file`` with the owner that let this hub in, and its namespace."""
    entry = Peer(key=admission.key, url=url, certificate=certificate)
    namespace = Namespace(
        owner=admission.id, remotes=admission.remotes, exclusion=admission.exclusion, term=admission.term
    )
    return msgspec.structs.replace(
        file,
        peers={**file.peers, admission.id: entry},
        namespaces={**file.namespaces, admission.namespace: namespace},
    )


def timely(admission: Admission, url: str, now: float) -> None:
    """Requests are dated. Raises: CannotJoin, where those of this hub would be refused for their date."""
    ahead_s = 0.0 if admission.wall is None else now - admission.wall
    if abs(ahead_s) > _CLOCKS_APART_S:
        how = "ahead of" if ahead_s > 0 else "behind"
        raise CannotJoin(
            f"this machine's clock is {span(abs(ahead_s))} {how} that of {url}, and every request is dated. "
            "Set both right (timedatectl), then join again: the token is not used up",
            "EXPIRED",
        )


async def certificate_at(url: str, expected: bytes) -> str:
    """The certificate of the hub at ``url``, base64, if it is the one with the fingerprint ``expected``.

    Raises:
        CannotJoin: nobody is there, or somebody else.
    """
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname or not parts.port or parts.path not in ("", "/"):
        raise CannotJoin(f"{url} is no address of a hub. It is https://HOST:PORT, as team init printed it", _INVALID)
    blind = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    blind.check_hostname, blind.verify_mode = False, ssl.CERT_NONE
    try:
        async with asyncio.timeout(OWNER_DEADLINE_SECONDS):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port, ssl=blind)
    except (OSError, TimeoutError) as error:
        raise CannotJoin(
            f"nobody answers at {url}: {why(error) or 'no answer in time'}. On the owner, "
            "synapse-git team status says whether it runs and where it listens; a firewall may be in between",
            _AWAY,
        ) from error
    try:
        found = writer.get_extra_info("ssl_object").getpeercert(binary_form=True) or b""
    finally:
        writer.close()
    if not secrets.compare_digest(fingerprint(found), expected):
        raise CannotJoin(
            f"whoever answers at {url} is not the hub that gave the token out. Nothing was sent to it. "
            "Get a fresh token: synapse-git team init NAMESPACE, on the owner"
        )
    return base64.b64encode(found).decode()


async def apply_at(url: str, certificate: str, application: TeamAdmitBody) -> Admission:
    """Ask the hub at ``url`` to be let in. Raises: CannotJoin."""
    line = Line(url.rstrip("/"), client_context(certificate))
    try:
        async with asyncio.timeout(OWNER_DEADLINE_SECONDS):
            headers = {"content-type": "application/json"}
            found = await line.exchange("POST", "/v2/team/admit", headers, msgspec.json.encode(application))
        reply: Reply = read(found.status, found.body, found.headers)
    except (NotConnected, Broken, Unreachable, TimeoutError) as error:
        raise CannotJoin(f"{url} broke off: {why(error) or 'no answer in time'}. Try again", _AWAY) from error
    finally:
        line.close()
    if reply.reason:
        said = (reply.document.get("detail"), reply.document.get("fix"))
        raise CannotJoin(". ".join(str(words) for words in said if words), reply.reason)
    try:
        return msgspec.convert(reply.document, Admission)
    except msgspec.ValidationError as error:
        raise CannotJoin(f"{url} gave an answer that this version does not understand: {error}") from error
