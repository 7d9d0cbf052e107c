"""Who grants in a namespace: one answer of four, from the file, from what the journal knows, and from nothing else."""

from __future__ import annotations

from typing import Literal

import msgspec

from synapse_hub.core.outcome import Refusal
from synapse_hub.core.team.decide import contested
from synapse_hub.core.team.state import Team
from synapse_hub.hubfile import HubFile


class Ownership(msgspec.Struct, frozen=True):
    """``owner``: the hub that grants, '' for this one without a team. ``refusal``: why nobody does."""

    kind: Literal["local", "remote", "ungoverned", "contested"]
    owner: str = ""
    refusal: Refusal | None = None


LOCAL = Ownership("local")


def resolve(namespace: str, file: HubFile | None, broken: str, team: Team) -> Ownership:
    """The ownership of ``namespace``. ``file``: None where there is none; ``broken``: what is wrong with it, or ''.

    Denies by default: a name is granted in here only if the file says so, or if there is neither a file with
    namespaces nor any memory of one. Spec: INV-MH-1, INV-MH-3, INV-MH-4, INV-CR-4
    """
    if not namespace or namespace.startswith("local:"):
        return LOCAL
    known = team.governed.get(namespace)
    if known is not None and known.contested_by:
        return Ownership("contested", known.owner, contested(namespace, known.owner, known.contested_by))
    if namespace in team.estates and known is not None:
        return Ownership("ungoverned", refusal=moving(namespace, known.owner))
    mapped = file.namespaces.get(namespace) if file is not None else None
    if known is not None and known.term and mapped is not None and file is not None:
        # It changed hands, and that is in the journal before it is in the file.
        if known.mine or known.owner in file.peers:
            return Ownership("local" if known.mine else "remote", known.owner)
        return _ungoverned(namespace, f"{known.owner} does since it was transferred, and hub.toml knows no such peer")
    if mapped is not None and file is not None:
        return Ownership("local" if mapped.owner == file.id else "remote", mapped.owner)
    if known is not None:
        why = broken or f"hub.toml does not name the owner any more; the last one was {known.owner}"
        return _ungoverned(namespace, why)
    if broken:
        return _ungoverned(namespace, broken)
    if team.governed or (file is not None and file.namespaces):
        return _ungoverned(namespace, "hub.toml names no owner of it")
    return LOCAL


def caught_up(file: HubFile, team: Team) -> HubFile:
    """``file`` with the owners that the journal knows better, because a namespace changed hands since."""
    entries = dict(file.namespaces)
    for name, entry in file.namespaces.items():
        known = team.governed.get(name)
        if known is None or not known.term or known.term < entry.term:
            continue
        if known.mine or known.owner in file.peers:
            entries[name] = msgspec.structs.replace(entry, owner=known.owner, term=known.term)
    return msgspec.structs.replace(file, namespaces=entries)


def moving(namespace: str, heir: str, why: str = "") -> Refusal:
    """For as long as the next owner has not said that it has what is held."""
    return Refusal(
        "OWNER_UNREACHABLE",
        f"{namespace} is on its way to {heir}, and nobody grants in it until it is there{why and f': {why}'}",
        f"It goes on by itself once {heir} can be reached; to try it now: synapse-git team transfer {namespace} {heir}",
    )


def _ungoverned(namespace: str, why: str) -> Ownership:
    refusal = Refusal(
        "UNGOVERNED",
        f"nobody is known to grant in {namespace}: {why}",
        "Join its team (synapse-git team join), start one (synapse-git team init), or mend hub.toml",
    )
    return Ownership("ungoverned", refusal=refusal)
