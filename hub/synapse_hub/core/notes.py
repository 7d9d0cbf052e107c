"""The decisions on the blackboard: add a note, offer a resource, withdraw it. Pure."""

from __future__ import annotations

from synapse_hub.core.board import offer_document
from synapse_hub.core.commands.talk import AddNote, OfferResource, WithdrawResource
from synapse_hub.core.events.talk import NoteAdded, ResourceOffered, ResourceWithdrawn
from synapse_hub.core.outcome import Decided, Outcome, Refusal
from synapse_hub.core.state import State


def decide_note(state: State, command: AddNote, now: float) -> Decided:
    """Put it on the board. The same again, with nothing of the agent's in between, is the same note."""
    event = NoteAdded(
        at=now, agent=command.agent, namespace=command.namespace, task_id=command.task_id, text=command.text
    )
    last = state.board.said_last(command.agent)
    same = last is not None and (last.namespace, last.task_id, last.text) == (
        event.namespace,
        event.task_id,
        event.text,
    )
    stands = last if last is not None and same else event
    answer = {
        "agent": stands.agent,
        "namespace": stands.namespace,
        "task_id": stands.task_id,
        "text": stands.text,
        "at": stands.at,
    }
    return Decided([] if same else [event], answer)


def decide_offer(state: State, command: OfferResource, now: float) -> Decided:  # noqa: ARG001 - as all decisions
    """Offer it from now on for a while; offered again it lasts from now."""
    event = ResourceOffered(
        at=now,
        agent=command.agent,
        namespace=command.namespace,
        name=command.name,
        note=command.note,
        expires_at=now + command.ttl_s,
    )
    return Decided([event], offer_document(event))


def decide_withdraw(state: State, command: WithdrawResource, now: float) -> Outcome:
    """Offer it no more. Refuses with NOT_HELD what the agent does not offer."""
    for offer in state.board.open_offers(now):
        if (offer.agent, offer.namespace, offer.name) == (command.agent, command.namespace, command.name):
            event = ResourceWithdrawn(at=now, agent=offer.agent, namespace=offer.namespace, name=offer.name)
            return Decided([event], offer_document(offer))
    return Refusal(
        "NOT_HELD",
        f"{command.agent} offers no {command.name}",
        "It was withdrawn or its time is over. See: synapse-git resource list",
    )
