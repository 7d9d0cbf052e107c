"""Claims in a checkout that belongs to another project by now: they go on in that one, all of them or none."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from synapse_hub.core import overlap
from synapse_hub.core.claim import Claim, peer_of
from synapse_hub.core.commands.claims import AdoptClaims, YieldClaims
from synapse_hub.core.outcome import Refusal
from synapse_hub.web.desk import Desk

_AGAIN = "Settle it with who holds it there, or release it here, and claim it again: synapse-git release -t "


class Relocation(msgspec.Struct, frozen=True):
    """``moved``: tasks that go on in the project; ``stayed``: those that could not, since ``why``."""

    moved: list[str] = []
    stayed: list[str] = []
    why: str = ""

    def document(self) -> dict[str, Any]:
        """What it adds to an answer."""
        return msgspec.structs.asdict(self)


async def relocate(desk: Desk, worktree: str, namespace: str, before: str) -> Relocation:
    """Have what agents hold in the checkout ``worktree`` go on in ``namespace``, which it belongs to now.

    Where it stayed, others of that project would know nothing of it. ``before``: the project it was registered in; of
    what is held on the tree that all checkouts of that one share nobody knows which it was for. Spec: INV-MH-2
    """
    state, now = desk.hub.state, desk.hub.now()
    found = (state.live(key, now) for key in sorted(overlap.keys(state.tree(("", worktree)))))
    held = [claim for claim in found if claim and claim.namespace != namespace]
    if not namespace:
        return Relocation()
    if not held:
        return _left(desk, before) if before not in ("", namespace) else Relocation()
    tasks = [claim.task_id for claim in held]
    if refusal := await _refused(desk, namespace, held):
        return Relocation(stayed=tasks, why=f"{refusal.detail}. {refusal.fix or _AGAIN + tasks[0]}")
    return Relocation(moved=tasks)


def _left(desk: Desk, before: str) -> Relocation:
    state, now, tree = desk.hub.state, desk.hub.now(), (before, "")
    granted = (state.live(key, now) for key in overlap.keys(state.tree(tree)))
    told = (state.team.held(key, now) for key in overlap.keys(state.team.trees.get(tree, overlap.EMPTY)))
    tasks = sorted(claim.task_id for claim in (*granted, *told) if claim and not peer_of(claim.principal))
    if not tasks:
        return Relocation()
    why = f"It is held in {before}. Release what was meant for this checkout: synapse-git release -t {tasks[0]}"
    return Relocation(stayed=tasks, why=why)


async def _refused(desk: Desk, namespace: str, held: Sequence[Claim]) -> Refusal | None:
    """Why none of ``held`` could be taken to ``namespace``; None once all of them are there."""
    ownership = desk.team.resolve(namespace)
    if ownership.refusal:
        return ownership.refusal
    exclusion = desk.team.exclusion(namespace)
    if ownership.kind == "local":
        command = AdoptClaims(
            namespace=namespace, shared=exclusion == "repository", tasks=tuple(claim.key for claim in held)
        )
        outcome = (await desk.transact(command)).outcome
        return outcome if isinstance(outcome, Refusal) else None
    from synapse_hub.federation import conversion

    receipts = (desk.hub.state.team.held((namespace, claim.task_id), desk.hub.now()) for claim in held)
    if alike := conversion.namesakes([*held, *(claim for claim in receipts if claim)]):
        return conversion.called_alike("they stay where they are", alike)
    carry = partial(desk.embassy.forward, ownership.owner)
    if failed := await conversion.convert(carry, held, namespace, exclusion):
        return Refusal("SCOPE_CONFLICT", f"{ownership.owner} did not take over {'; '.join(failed)}")
    await desk.transact(YieldClaims(tasks=tuple(claim.key for claim in held)))
    return None
