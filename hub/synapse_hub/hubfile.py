"""``hub.toml``: what this hub is called, where it listens beside its socket, its peers, and who owns which namespace.

Beside the journal, in the state directory. Without the file there is only the socket, and everything is granted here.
"""

from __future__ import annotations

import os
import re
import tomllib
from typing import Any, Literal, TypeVar

import msgspec

from synapse_git.constants import MAX_NAME_BYTES

NAME = "hub.toml"
_MAX_BYTES = 1_048_576
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
ID_FORM = "up to 63 letters, digits, dots and dashes"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class HubFileBroken(Exception):
    """The file cannot be used. The text names file, line and way out."""


class Place(msgspec.Struct, frozen=True):
    """Where to listen; port 0: a free one, which is then written down."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Peer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Another hub. ``key``: its Ed25519 public key; ``certificate``: the only one it is believed under; both base64.

    ``url`` is '' for a peer that takes no requests.
    """

    key: str
    url: str = ""
    certificate: str = ""


class Namespace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``owner``: the id of the one hub that grants in it; ``remotes``: URLs of its repositories.

    ``members``: peers that may ask for claims in it, where this hub owns it; ``term``: how often it changed owners.
    """

    owner: str
    remotes: tuple[str, ...] = ()
    exclusion: Literal["repository", "worktree"] = "repository"
    members: tuple[str, ...] = ()
    term: int = 0


Entry = TypeVar("Entry", Peer, Namespace)


class HubFile(msgspec.Struct, frozen=True):
    """``id``: this hub's name among its peers. ``loopback``: for clients of this machine; ``listen``: for peers."""

    id: str = ""
    loopback: Place | None = None
    listen: Place | None = None
    peers: dict[str, Peer] = {}
    namespaces: dict[str, Namespace] = {}


def names_a_hub(text: str) -> bool:
    """May a hub be called so?"""
    return _ID.fullmatch(text) is not None


def read(directory: str) -> HubFile | None:
    """The file in ``directory``, or None if there is none. Raises: HubFileBroken."""
    path = os.path.join(directory, NAME)
    try:
        with open(path, "rb") as file:
            raw = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HubFileBroken(f"{path} cannot be read: {error.strerror}. Make it readable") from error
    if len(raw) > _MAX_BYTES:
        raise HubFileBroken(f"{path} is over {_MAX_BYTES} bytes")
    text = ""
    try:
        text = raw.decode("utf-8-sig")  # editors of Windows begin a file with a mark
        return parse(text)
    except UnicodeDecodeError as error:
        raise HubFileBroken(f"{path} is not UTF-8. Write it anew") from error
    except tomllib.TOMLDecodeError as error:
        raise HubFileBroken(f"{path} is not TOML: {error}. Mend it") from error
    except Wrong as wrong:
        line = _line(text, *wrong.where)
        raise HubFileBroken(f"{path}{line and f', line {line}'}: {wrong}. Mend it") from None


class Wrong(Exception):
    """An entry that cannot be; ``where``: the table and the entry in it."""

    def __init__(self, what: str, *where: str) -> None:
        super().__init__(what)
        self.where = where


def parse(text: str) -> HubFile:
    """Raises: tomllib.TOMLDecodeError, Wrong."""
    document = tomllib.loads(text)
    known = set(HubFile.__struct_fields__)
    if unknown := [name for name in document if name not in known]:
        raise Wrong(f"{unknown[0]} is none of {', '.join(sorted(known))}", unknown[0])
    hub_id = document.get("id", "")
    if not isinstance(hub_id, str) or (hub_id and not _ID.fullmatch(hub_id)):
        raise Wrong(f"id is {ID_FORM}", "id")
    file = HubFile(
        hub_id,
        _place(document, "loopback"),
        _place(document, "listen"),
        {name: _entry(Peer, "peers", name, entry) for name, entry in _table(document, "peers").items()},
        {name: _entry(Namespace, "namespaces", name, entry) for name, entry in _table(document, "namespaces").items()},
    )
    _check(file)
    return file


def _table(document: dict[str, Any], name: str) -> dict[str, Any]:
    found = document.get(name, {})
    if not isinstance(found, dict):
        raise Wrong(f'{name} is a table of tables: [{name}."NAME"]', name)
    return found


def _entry(kind: type[Entry], table: str, name: str, entry: object) -> Entry:
    try:
        return msgspec.convert(entry, kind)
    except msgspec.ValidationError as error:
        text = str(error)
        field = re.search(r"(?:field `|\$\.)([a-z_]+)", text)
        raise Wrong(f'[{table}."{name}"]: {text}', name, *field.groups() if field else ()) from None


def _place(document: dict[str, Any], name: str) -> Place | None:
    given = document.get(name)
    if given is None:
        return None
    try:
        found = place(given)
    except ValueError as error:
        raise Wrong(f"{name}: {error}", name) from None
    if name == "loopback" and found.host not in _LOOPBACK:
        raise Wrong(
            f"loopback is for this machine only, at one of {', '.join(_LOOPBACK)}; peers come in by listen", name
        )
    return found


def place(given: object) -> Place:
    """``HOST:PORT`` as a place. Raises: ValueError."""
    host, _, port = given.rpartition(":") if isinstance(given, str) else ("", "", "")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not host.isprintable() or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ValueError("it is HOST:PORT, port 0 for a free one")
    return Place(host, int(port))


def _check(file: HubFile) -> None:
    """What holds between the entries. Raises: Wrong."""
    if not file.id and (file.listen or file.peers or file.namespaces):
        raise Wrong("a hub with peers or namespaces needs an id")
    for name, peer in file.peers.items():
        if not _ID.fullmatch(name) or name == file.id:
            raise Wrong(f"a peer's name is its id, {ID_FORM}, and another than this hub's: {name!r} is none", name)
        if peer.url and not (peer.url.startswith("https://") and peer.certificate):
            raise Wrong(f"[peers.{name}]: url is https://HOST:PORT, and needs the peer's certificate", name, "url")
    for name, namespace in file.namespaces.items():
        if name.startswith("local:") or not name.strip() or not name.isprintable():
            raise Wrong(f"{name!r} cannot be the name of a namespace that hubs share", name)
        if len(name.encode()) > MAX_NAME_BYTES:
            raise Wrong(f"{name[:40]}… is no name of a namespace: {MAX_NAME_BYTES} bytes are the limit", name)
        if not all(remote.strip() and remote.isprintable() for remote in namespace.remotes):
            raise Wrong(f'[namespaces."{name}"]: a remote is a URL', name, "remotes")
        for hub in (namespace.owner, *namespace.members):
            if hub != file.id and hub not in file.peers:
                raise Wrong(f'[namespaces."{name}"]: {hub} is neither this hub nor one of its peers', name, "owner")
        if namespace.owner != file.id and not file.peers[namespace.owner].url:
            raise Wrong(f'[namespaces."{name}"]: its owner {namespace.owner} has no url', namespace.owner)


def _line(text: str, *where: str) -> int:
    """The parser keeps no lines: that of the table ``where`` begins with, and in it of the entry it ends with; or 0."""
    at = 0
    lines = text.split("\n")
    for name in where:
        for number in range(at, len(lines)):
            line = lines[number].strip()
            if line.startswith((name, f'"{name}"')) or (line.startswith("[") and name in line):
                at = number
                break
    return at + 1 if where else 0


def render(file: HubFile) -> str:
    """The text of a file that says this."""
    lines = [f"id = {_text(file.id)}"] if file.id else []
    lines += [f"{name} = {_text(str(place))}" for name in ("loopback", "listen") if (place := getattr(file, name))]
    for name, peer in file.peers.items():
        lines += ["", f"[peers.{_text(name)}]", *_fields(peer)]
    for name, namespace in file.namespaces.items():
        lines += ["", f"[namespaces.{_text(name)}]", *_fields(namespace)]
    return "\n".join([*lines, ""])


def _fields(entry: Peer | Namespace) -> list[str]:
    given = {name: getattr(entry, name) for name in entry.__struct_fields__}
    return [f"{name} = {_value(value)}" for name, value in given.items() if value]


def _value(value: str | int | tuple[str, ...]) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, value))}]"
    return _text(value) if isinstance(value, str) else str(value)


def _text(value: str) -> str:
    """A TOML basic string; JSON's escapes are among TOML's."""
    return msgspec.json.encode(value).decode()


def write(directory: str, file: HubFile) -> None:
    """Put it in place, whole or not at all. What was there and would be lost is kept as ``hub.toml.before``.

    Raises:
        OSError: the directory cannot be written.
    """
    path = os.path.join(directory, NAME)
    text = render(file)
    draft = path + ".draft"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(descriptor)
    if os.path.exists(path) and _by_hand(path):
        os.replace(path, path + ".before")
    os.replace(draft, path)


def _by_hand(path: str) -> bool:
    """Does the file hold anything, such as comments, that `write` would not write?"""
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    try:
        return render(parse(text)) != text
    except (Wrong, tomllib.TOMLDecodeError):
        return True
