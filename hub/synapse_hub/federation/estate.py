"""What is held in a namespace, from one owner to the next: cut into parts that a request can carry, and put together.

Pure, but for `Arrivals`, which keeps parts until the last one is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from synapse_git.constants import MAX_BODY_BYTES
from synapse_git.protocol.body import Body
from synapse_hub.core.claim import Claim
from synapse_hub.core.commands.team import InheritNamespace, KeptAnswer
from synapse_hub.core.state import State
from synapse_hub.core.team.transfer import shifted
from synapse_hub.federation.names import translate

_PART_BYTES = MAX_BODY_BYTES - 131_072
Say = Callable[[str], str]


class EstatePart(Body, frozen=True, kw_only=True):
    """A part of what is held in a namespace, from its owner; part 0 asks only whether the rest would be taken.

    Names are as the hub that is told calls them. Instants of claims count from the sender's present; ``members``: the
    peers that may ask, each with key, url and certificate; ``answers``: keyed commands and what they were answered;
    ``checkpoints``: of ended claims, as task id and data.
    """

    namespace: str
    term: int
    part: int
    parts: int
    epoch: int = 0
    members: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)
    claims: list[Any] = msgspec.field(default_factory=list)
    answers: list[Any] = msgspec.field(default_factory=list)
    checkpoints: list[tuple[str, Any]] = msgspec.field(default_factory=list)


class TooLarge(Exception):
    """A single thing that no request can carry; the text names it."""


def parts(state: State, namespace: str, term: int, say: Say, now: float) -> list[EstatePart]:
    """All that is held in it, for a hub that calls agents as ``say`` does. Raises: TooLarge."""
    estate = state.team.estates.get(namespace)
    claims = estate.claims if estate else [one for one in state.claims.values() if one.namespace == namespace]
    cut: list[dict[str, list[Any]]] = [{}]
    room = _PART_BYTES
    for member, item in _items(state, namespace, claims, say, now):
        size = len(msgspec.json.encode(item)) + 1
        if size > _PART_BYTES:
            raise TooLarge(str(getattr(item, "task_id", member)))
        if size > room:
            cut.append({})
            room = _PART_BYTES
        cut[-1].setdefault(member, []).append(item)
        room -= size
    epoch = estate.epoch if estate else state.epoch
    return [
        EstatePart(
            namespace=namespace,
            term=term,
            part=number,
            parts=len(cut),
            epoch=epoch,
            claims=items.get("claims", []),
            answers=items.get("answers", []),
            checkpoints=items.get("checkpoints", []),
        )
        for number, items in enumerate(cut, 1)
    ]


def _items(
    state: State, namespace: str, claims: tuple[Claim, ...] | list[Claim], say: Say, now: float
) -> Iterator[tuple[str, Any]]:
    for claim in claims:
        told = msgspec.structs.replace(claim, owner=say(claim.owner), principal=say(claim.principal))
        yield "claims", shifted(told, -now)
    for (sender, verb, key), _, (digest, answer) in state.answers.items():
        if answer.get("namespace") == namespace:
            yield "answers", KeptAnswer(_sender(sender, say), verb, key, digest, translate(answer, say))
    for (name, task_id), _, data in state.checkpoints.items():
        if name == namespace:
            yield "checkpoints", (task_id, data)


def _sender(sender: str, say: Say) -> str:
    """Whose key it is: a principal, which may begin with its hub, and an agent."""
    first, _, agent = sender.partition("/")
    if not say(f"{first}/x").endswith(f"/{first}/x"):
        # It is a hub's id, which no third one spells otherwise.
        second, _, agent = agent.partition("/")
        first = f"{first}/{second}"
    return f"{say(first)}/{say(agent)}"


class Arrivals:
    """Parts of estates that have come, by namespace, term and giver. In memory: whoever sends them begins anew."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, int, str], dict[int, EstatePart]] = {}

    def add(self, giver: str, part: EstatePart) -> list[EstatePart]:
        """All parts in their order, once they are there; else none."""
        key = (part.namespace, part.term, giver)
        kept = self._parts.setdefault(key, {})
        if part.part == 1:
            kept.clear()
        kept[part.part] = part
        if sorted(kept) != list(range(1, part.parts + 1)):
            return []
        del self._parts[key]
        return [kept[number] for number in sorted(kept)]


def assembled(whole: list[EstatePart], giver: str, owner: str) -> InheritNamespace:
    """What ``owner`` takes over from ``giver``. Raises: msgspec.ValidationError, where a part holds something else."""
    return InheritNamespace(
        namespace=whole[0].namespace,
        owner=owner,
        giver=giver,
        term=whole[0].term,
        epoch=max(one.epoch for one in whole),
        claims=tuple(msgspec.convert(item, Claim) for one in whole for item in one.claims),
        answers=tuple(msgspec.convert(item, KeptAnswer) for one in whole for item in one.answers),
        checkpoints=tuple(item for one in whole for item in one.checkpoints),
    )
