"""Namespaces that hubs share, as the user's hub wrote them down: by name, and by the remotes of their repositories.

A small file of plain lines, since hooks read it at every commit. Where it is missing no namespace is governed; the hub,
which remembers better, has the last word. Stdlib only.
"""

from __future__ import annotations

import os

from synapse_git import address, content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_BYTES = 1_048_576


class Entry:
    """``owner``: the hub that grants, '' for the user's own; ``exclusion``: ``repository`` or ``worktree``."""

    __slots__ = ("exclusion", "namespace", "owner", "remotes")

    def __init__(self, namespace: str, owner: str, exclusion: str, remotes: tuple[str, ...]) -> None:
        self.namespace = namespace
        self.owner = owner
        self.exclusion = exclusion
        self.remotes = remotes


def read(state: str) -> list[Entry]:
    """What is written down in the state directory."""
    try:
        lines = content.read(address.namespaces_file(state), _MOST_BYTES).decode().split("\n")
    except (OSError, UnicodeDecodeError):
        return []
    rows = [line.split("\t") for line in lines]
    return [Entry(row[0], row[1], row[2], tuple(row[3:])) for row in rows if len(row) > 2]


def write(path: str, entries: Iterable[Entry]) -> None:
    """Raises: OSError."""
    draft = path + ".draft"
    with open(draft, "w", encoding="utf-8") as out:
        for entry in entries:
            out.write("\t".join((entry.namespace, entry.owner, entry.exclusion, *entry.remotes)) + "\n")
    os.replace(draft, path)


def matching(entries: Iterable[Entry], urls: Iterable[str]) -> list[Entry]:
    """The entries that any of ``urls`` is a remote of."""
    given = {canonical(url) for url in urls}
    return [entry for entry in entries if any(canonical(remote) in given for remote in entry.remotes)]


def canonical(url: str) -> str:
    """One spelling for the ways to one repository: ``git@host:a/b.git`` and ``https://host/a/b`` are ``host/a/b``."""
    text = url.strip().rstrip("/").removesuffix(".git")
    scheme, found, rest = text.partition("://")
    if not found:
        host, colon, path = text.partition(":")
        # Without a scheme, ``host:path`` is by ssh and anything else is a directory.
        if not colon or "/" in host:
            return text
        scheme, rest = "ssh", f"{host}/{path.lstrip('/')}"
    if scheme == "file":
        return rest
    host, slash, path = rest.partition("/")
    host = host.rpartition("@")[2].lower()
    name = host.partition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]
    return f"{name}{slash}{path.lstrip('/')}"
