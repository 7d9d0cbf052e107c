"""What hubs heard of each other's journals, kept beside this one.

A journal that was put back to an earlier day, together with its mark, cannot know that by itself.
"""

from __future__ import annotations

import os
from contextlib import suppress

import msgspec

NAME = "heard.json"
_PARTS = 6
_DIGITS = 18
_MOST_BYTES = 1_048_576


class Stamp(msgspec.Struct, frozen=True):
    """How far a journal was when its hub, as process ``life``, said so; ``head``: a part of the hash of row ``seq``."""

    hub_id: str
    life: str
    incarnation: int
    seq: int
    epoch: int
    head: str

    def text(self) -> str:
        """As it travels in a header."""
        return ".".join(map(str, msgspec.structs.astuple(self)))


def read(text: str) -> Stamp | None:
    """The inverse of `Stamp.text`; None of anything else."""
    parts = text.split(".")
    if len(parts) != _PARTS or not all(one.isascii() and one.isdigit() and len(one) <= _DIGITS for one in parts[2:5]):
        return None
    return Stamp(parts[0], parts[1], int(parts[2]), int(parts[3]), int(parts[4]), parts[5])


class Testimony(msgspec.Struct):
    """``told``: peer → the last stamp of its journal; ``against``: peer → one of ours that is not borne out here."""

    told: dict[str, str] = {}
    against: dict[str, str] = {}

    def proofs(self) -> list[Stamp]:
        """Where this journal stood once, though it does not say so."""
        return [stamp for text in self.against.values() if (stamp := read(text))]


def load(directory: str) -> Testimony:
    """What is kept in ``directory``; nothing where it cannot be read."""
    with suppress(OSError, msgspec.MsgspecError), open(os.path.join(directory, NAME), "rb") as file:
        return msgspec.json.decode(file.read(_MOST_BYTES), type=Testimony)
    return Testimony()


def keep(directory: str, testimony: Testimony) -> None:
    """Write it down, whole or not at all. Raises: OSError."""
    path = os.path.join(directory, NAME)
    draft = path + ".draft"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(msgspec.json.encode(testimony))
    os.replace(draft, path)
