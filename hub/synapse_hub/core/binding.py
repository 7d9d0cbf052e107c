"""Decisions on names: who may act under one, bind it, end its session, take it back. Pure.

A name is bound to the session that registered it first, told by a secret of which only the digest arrives here.
"""

from __future__ import annotations

from synapse_git.constants import DEFAULT_LEASE_OFFLINE_TTL, KEY_RETENTION_SECONDS, MAX_BOUND_NAMES, MAX_PINNED_KEYS
from synapse_hub.core.commands.names import BindName, EndSessions, ReclaimName, ReleaseName
from synapse_hub.core.events import AnyEvent
from synapse_hub.core.events.names import KeyPinned, NameBound, NameDisconnected, NameReclaimed, NameReleased
from synapse_hub.core.outcome import Decided, Outcome, Refusal
from synapse_hub.core.state import State


def impostor(state: State, agent: str, session: str, now: float) -> Refusal | None:
    """NAME_OWNED where ``agent`` is bound to another session than the one with the digest ``session`` ('' for none)."""
    owner = state.names.owner(agent, now)
    if owner is None or owner.secret_sha256 == session:
        return None
    return _owned(state, agent, now)


def decide_bind(state: State, command: BindName, now: float) -> Outcome:
    """Bind a name that is free, or let its session come back. A key that comes along is pinned, or must be the pinned.

    Refuses with NAME_OWNED (another session's), NOT_AUTHORISED (the pinned key is missing or another),
    QUOTA_EXCEEDED.
    """
    names = state.names
    owner = names.owner(command.agent, now)
    if owner and (owner.secret_sha256, owner.principal) != (command.secret_sha256, command.principal):
        return _owned(state, command.agent, now)
    pinned = names.key(command.agent)
    if pinned and command.key != pinned:
        return _unproven(command)
    if refused := _full(state, command, now, known=owner is not None, pinned=bool(pinned)):
        return refused
    events: list[AnyEvent] = []
    if command.agent not in names.live:
        events.append(
            NameBound(at=now, agent=command.agent, principal=command.principal, secret_sha256=command.secret_sha256)
        )
    if command.key and not pinned:
        events.append(KeyPinned(at=now, agent=command.agent, principal=command.principal, key=command.key))
    return Decided(events, {"agent": command.agent})


def decide_end(state: State, command: EndSessions, now: float) -> Decided:
    """Write down which of these sessions are over; their names wait for them to come back."""
    gone = [
        agent
        for agent, secret in command.sessions
        if (owner := state.names.live.get(agent)) and owner.secret_sha256 == secret
    ]
    return Decided([NameDisconnected(at=now, agent=agent) for agent in dict.fromkeys(gone)], {})


def decide_free(state: State, command: ReleaseName, now: float) -> Decided:
    """Let a session give its name up; nothing where it has none."""
    owner = state.names.owner(command.agent, now)
    return Decided([NameReleased(at=now, agent=command.agent)] if owner else [], {"agent": command.agent})


def decide_reclaim(state: State, command: ReclaimName, now: float) -> Outcome:
    """Free a name for its own user, whoever holds the secret or the key: both are forgotten. Leaves claims alone.

    Refuses with NOT_HELD, NOT_AUTHORISED.
    """
    owner = state.names.owner(command.agent, now)
    pin = state.names.keys.get(command.agent)
    principals = {one.principal for one in (owner, pin and pin[1]) if one}
    if not principals:
        return Refusal("NOT_HELD", f"the name {command.agent} is bound to no session and no key is pinned to it")
    if command.principal not in principals:
        return Refusal("NOT_AUTHORISED", f"the name {command.agent} belongs to {min(principals)}")
    event = NameReclaimed(at=now, agent=command.agent, principal=command.principal)
    return Decided([event], {"agent": command.agent, "was_connected": command.agent in state.names.live})


def _owned(state: State, agent: str, now: float) -> Refusal:
    free_at = state.names.free_at(agent)
    how = "a session that is connected"
    if free_at is not None:
        how = f"a session that disconnected and may come back for another {max(1, round(free_at - now))} s"
    return Refusal(
        "NAME_OWNED",
        f"the name {agent} is bound to {how}",
        "Act from within that session (it has SYNAPSE_SESSION), choose another name with --agent, "
        f"or take the name back: synapse-git names reclaim {agent}",
    )


def _unproven(command: BindName) -> Refusal:
    given = "another one was given" if command.key else "none was given"
    return Refusal(
        "NOT_AUTHORISED",
        f"a key is pinned to the name {command.agent}, and {given}",
        f"Register with the key that was first used, or take the name back: synapse-git names reclaim {command.agent}",
    )


def _full(state: State, command: BindName, now: float, *, known: bool, pinned: bool) -> Refusal | None:
    """QUOTA_EXCEEDED where a table has no room: what somebody may still rely on is not forgotten."""
    names = state.names
    oldest = names.absent.oldest()
    everyone = len(names.live) + len(names.absent)
    lapsed = oldest is not None and oldest + DEFAULT_LEASE_OFFLINE_TTL <= now
    if not known and everyone >= MAX_BOUND_NAMES and not lapsed:
        return Refusal("QUOTA_EXCEEDED", f"{MAX_BOUND_NAMES} names are bound already", "Try again later")
    used = names.keys.oldest()
    stale = used is not None and used + KEY_RETENTION_SECONDS <= now
    if command.key and not pinned and len(names.keys) >= MAX_PINNED_KEYS and not stale:
        return Refusal(
            "QUOTA_EXCEEDED",
            f"{MAX_PINNED_KEYS} keys are pinned already",
            "Register without a key, or take back names that nobody uses: synapse-git names reclaim NAME",
        )
    return None
