"""This hub as a member of a team: its file, the lines to its peers, and who grants in which namespace."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from synapse_git import address, governed
from synapse_hub import hubfile
from synapse_hub.core.commands import AnyCommand
from synapse_hub.core.commands.team import GovernNamespace
from synapse_hub.federation import names
from synapse_hub.federation.ownership import Ownership, caught_up, resolve
from synapse_hub.federation.tickets import Tickets
from synapse_hub.federation.witness import Witness
from synapse_hub.hub import Answered, Hub
from synapse_hub.hubfile import HubFile

if TYPE_CHECKING:
    # A hub without peers does without their libraries.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    from synapse_hub.federation.identity import Identity
    from synapse_hub.federation.link import Link

log = logging.getLogger("synapse_hub")


class Team:
    """Belongs to the event loop, but for `load` and `change`, which write and wait.

    ``directory``: where ``hub.toml`` and the keys lie; '' for a hub that never has a team.
    """

    def __init__(self, hub: Hub, directory: str = "") -> None:
        self._hub = hub
        self._directory = directory
        self._links: dict[str, Link] = {}
        self._identity: Identity | None = None
        self._keys: tuple[HubFile, dict[str, Ed25519PublicKey]] | None = None
        self.file: HubFile | None = None
        self.broken = ""
        # Why doors that the file names are shut, by their names there.
        self.shut: Mapping[str, str] = {}
        self.tickets = Tickets()
        self.witness = Witness(hub, directory, lambda: bool(self.owned()))
        # Who changes the file does so from what it says, one after another.
        self.turn = asyncio.Lock()

    def load(self, transact: Callable[[AnyCommand], Answered]) -> None:
        """Read the file, put on record what it says, tell the clients. Also after a change by hand."""
        if not self._directory:
            return
        self.broken = ""
        try:
            self.file = hubfile.read(self._directory)
        except hubfile.HubFileBroken as error:
            log.error("%s", error)
            self.file, self.broken = None, str(error)
        self._record(transact)
        if self.file is not None and (mended := caught_up(self.file, self._hub.state.team)) != self.file:
            self.file = mended
            try:
                hubfile.write(self._directory, mended)
            except OSError as error:
                log.error("hub.toml cannot be written, the journal knows better: %s", error)
        self.tell_clients()

    def _record(self, transact: Callable[[AnyCommand], Answered]) -> None:
        for name, namespace in self.settled.namespaces.items():
            transact(
                GovernNamespace(
                    namespace=name,
                    owner=namespace.owner,
                    mine=namespace.owner == self.settled.id,
                    remotes=namespace.remotes,
                    exclusion=namespace.exclusion,
                    term=namespace.term,
                )
            )

    def change(self, file: HubFile, transact: Callable[[AnyCommand], Answered]) -> None:
        """Write the file anew and go by it. Raises: OSError."""
        hubfile.write(self._directory, file)
        self.load(transact)

    def tell_clients(self) -> None:
        """Write down for them which remotes belong to which namespace: what the file says, else what was last known."""
        known = self._hub.state.team.governed
        entries = {
            name: governed.Entry(name, "" if one.mine else one.owner, one.exclusion, one.remotes)
            for name, one in known.items()
        }
        path = address.namespaces_file(self._directory)
        try:
            if entries:
                governed.write(path, [entries[name] for name in sorted(entries)])
            elif os.path.lexists(path):
                os.unlink(path)
        except OSError as error:
            log.error("%s, which tells clients about namespaces, cannot be written: %s", path, error)

    @property
    def settled(self) -> HubFile:
        """The file, or an empty one."""
        return self.file or HubFile()

    @property
    def id(self) -> str:
        return self.settled.id

    def resolve(self, namespace: str) -> Ownership:
        """Spec: INV-MH-1."""
        found = resolve(namespace, self.file, self.broken, self._hub.state.team)
        if found.kind == "local" and found.owner and (refusal := self.witness.refusal(self.id)):
            return Ownership("ungoverned", found.owner, refusal)
        return found

    def owned(self) -> list[str]:
        """The namespaces that the file says are this hub's, and the journal does not deny."""
        known = self._hub.state.team.governed
        return [
            name
            for name, entry in self.settled.namespaces.items()
            if entry.owner == self.id and (name not in known or known[name].mine)
        ]

    def deed(self, namespace: str) -> dict[str, str] | None:
        """The title of the next owner, which this hub made it, once that one grants."""
        team = self._hub.state.team
        known = team.governed.get(namespace)
        return known.deed if known is not None and namespace not in team.estates else None

    def deeds(self) -> list[dict[str, str]]:
        """All that this hub gave away."""
        return [deed for name in self._hub.state.team.governed if (deed := self.deed(name))]

    async def learn(self, document: object) -> bool:
        """Go by a deed that the owner so far has signed; False where it is no such one. Raises: OSError."""
        from synapse_hub.federation.deed import followed

        async with self.turn:
            file = followed(self.settled, self._hub.state.team.governed, document)
            if file is not None:
                await asyncio.to_thread(self.change, file, self._hub.transact)
        return file is not None

    def parties(self, peer: str) -> list[str]:
        """The namespaces that ``peer`` has a part in, as far as the file says. Nobody else can contest them."""
        return [
            name
            for name, entry in self.settled.namespaces.items()
            if peer == entry.owner or (peer in entry.members and entry.owner == self.id)
        ]

    def exclusion(self, namespace: str) -> str:
        """``repository`` or ``worktree``; '' where nobody owns it."""
        known = self._hub.state.team.governed.get(namespace)
        return known.exclusion if known else ""

    def member(self, peer: str, namespace: str) -> bool:
        """May agents of ``peer`` ask for claims in ``namespace``, which this hub owns? Spec: INV-MH-3."""
        entry = self.settled.namespaces.get(namespace)
        return entry is not None and entry.owner == self.id and peer in entry.members

    def members(self) -> set[str]:
        """Whoever is a member of a namespace that this hub owns."""
        return {name for one in self.settled.namespaces.values() if one.owner == self.id for name in one.members}

    def from_peer(self, peer: str, name: str) -> str:
        """An agent of ``peer`` as it is called here."""
        return names.from_peer(peer, name)

    def foreign(self, name: str) -> bool:
        """Is an agent that is called so one of another hub's?"""
        return names.claimed_by_other(name, self.id, self.settled.peers)

    def seen_by(self, peer: str, name: str) -> str:
        """An agent as ``peer`` calls it."""
        return names.seen_by(peer, self.id, self.settled.peers, name)

    def addressed(self, peer: str, name: str) -> str:
        """Whom an agent of ``peer`` means, '' for one of this hub's."""
        return names.addressed(peer, self.id, self.settled.peers, name) if peer else names.at_home(self.id, name)

    @property
    def identity(self) -> Identity:
        """Raises: OSError, ValueError."""
        if self._identity is None:
            from synapse_hub.federation.identity import identity

            self._identity = identity(self._directory)
        return self._identity

    def keys(self) -> dict[str, Ed25519PublicKey]:
        """The keys of the peers; one whose entry holds none is nobody's."""
        from synapse_hub.federation.identity import public_key

        file = self.settled
        if self._keys is None or self._keys[0] is not file:
            found: dict[str, Ed25519PublicKey] = {}
            for name, peer in file.peers.items():
                try:
                    found[name] = public_key(peer.key)
                except ValueError as error:
                    log.error("the key of %s in hub.toml is none, so nothing it asks is answered: %s", name, error)
            self._keys = (file, found)
        return self._keys[1]

    def link(self, peer: str) -> Link:
        """The line to a peer that has a url. Raises: OSError, ValueError."""
        from synapse_hub.federation.link import Link

        found = self._links.get(peer)
        entry = self.settled.peers[peer]
        if found is None or found.peer != entry:
            if found is not None:
                found.close()
            found = self._links[peer] = Link(self.id, self.identity, peer, entry, witness=self.witness)
        return found
