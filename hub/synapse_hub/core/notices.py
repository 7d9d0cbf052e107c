"""What the hub itself tells agents of things that concern them, derived from the events of one decision. Pure.

A conflict, an expiry, a takeover, an override, a handover, work that moved under its holder's feet: each becomes a
message in the same batch. None touches a lease, and a loop that is refused again and again is mentioned once.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

from synapse_git.constants import HUB_AGENT, MAX_MESSAGE_BYTES, MAX_NAMED_CONFLICTS
from synapse_git.explain import said
from synapse_git.protocol.path import WirePath, from_wire
from synapse_git.scope import overlap, show
from synapse_hub.core.claim import Claim, comparable, peer_of
from synapse_hub.core.events import AnyEvent
from synapse_hub.core.events.base import Holder
from synapse_hub.core.events.claims import ClaimDenied, ClaimGranted, ClaimReleased, LeaseExpired, TaskHandedOff
from synapse_hub.core.events.guard import ForeignEditSeen, GuardDenied, GuardOverridden
from synapse_hub.core.events.talk import MessageSent
from synapse_hub.core.events.team import ClaimRevoked, ReceiptEnded
from synapse_hub.core.state import State

# Whom it is for, what it is about (the same is said once within a while; '' is always said), the text.
Word = tuple[str, str, str]
Seen = GuardDenied | GuardOverridden | ForeignEditSeen

_REFUSED = {
    "edit": "was refused an edit of",
    "commit": "was refused a commit that changes",
    "merge": "was refused a merge that changes",
    "push": "pushes, or was refused to push, changes of",
    "ref": "was refused to move a branch to commits that change",
}
_LET_THROUGH = {
    "edit": "an edit of",
    "commit": "a commit that changes",
    "merge": "a merge that changes",
    "push": "a push of changes of",
    "ref": "a move of a branch to commits that change",
}


def notices(state: State, events: Sequence[AnyEvent], now: float) -> list[MessageSent]:
    """The messages that follow from ``events``, which are about to be applied to ``state``."""
    found: list[MessageSent] = []
    said: set[tuple[str, str]] = set()
    for to, about, text in _words(state, events):
        if about and ((to, about) in said or state.mail.noticed_lately(to, about, now)):
            continue
        said.add((to, about))
        body = text.encode()[:MAX_MESSAGE_BYTES].decode(errors="ignore")
        found.append(MessageSent(at=now, sender=HUB_AGENT, to=to, body=body, about=about))
    return found


def _words(state: State, events: Sequence[AnyEvent]) -> Iterator[Word]:
    over: list[LeaseExpired] = []
    for event in events:
        match event:
            case LeaseExpired():
                over.append(event)
            case ClaimDenied() | GuardDenied():
                yield from _conflict(state, event)
            case GuardOverridden():
                yield from _override(state, event)
            case ForeignEditSeen():
                yield from _foreign(state, event)
            case ClaimRevoked() | ClaimReleased(forced=True) if event.by != event.owner:
                yield from _takeover(state, event)
            case TaskHandedOff():
                yield _handover(state, event)
            case ReceiptEnded(cause="ended"):
                yield from _forgotten(state, event)
            case _:
                pass
    if over:
        yield from _expiry(state, over, events)


def _called(state: State, name: str, to: str, namespace: str) -> str:
    """The agent ``name`` as ``to`` knows it: on another host, agents of this one have its name before their own."""
    peer, known = peer_of(state.principal_of(to)), state.team.governed.get(namespace)
    if not peer or known is None:
        return name
    if name.startswith(f"{peer}/"):
        return name.removeprefix(f"{peer}/")
    return name if peer_of(state.principal_of(name)) else f"{known.owner}/{name}"


def _conflict(state: State, event: ClaimDenied | GuardDenied) -> Iterator[Word]:
    where = _where(state, event)
    for owner, held in _others(event.holders, event.agent):
        first, agent = held[0], _called(state, event.agent, owner, held[0].namespace)
        about = f"conflict {event.agent} {first.namespace} {first.task_id}"
        if isinstance(event, GuardDenied) and event.moved:
            yield owner, f"moved {about}", _moved(_which(state, event, held), agent, where)
            continue
        if isinstance(event, GuardDenied):
            did = f"{_REFUSED[event.action]} {_which(state, event, held)}"
        elif event.reason == "LEASE_LIVE":
            did = f"was refused the task itself, which you hold {_for(held)}"
        else:
            what = _listed(event.paths) or "the whole tree"
            did = f"was refused a claim of {what}, which you hold, or part of it, {_for(held)}"
        task = _shell(first.task_id)
        yield (
            owner,
            about,
            f"{agent} {did}{where}. When you are done: synapse-git release -t {task}, or hand it over: "
            f"synapse-git handoff {_shell(agent)} -t {task}",
        )


def _moved(which: str, agent: str, where: str) -> str:
    return (
        f"{which}{where}, changed under you: {agent} merged, "
        "checked out or reset to commits made elsewhere. Look before you go on: git status, git log"
    )


def _override(state: State, event: GuardOverridden) -> Iterator[Word]:
    for owner, held in _others(event.holders, event.agent):
        agent = _called(state, event.agent, owner, held[0].namespace)
        text = (
            f"{agent} went over your claim{'s' * (len(held) > 1)}: the guard let through {_LET_THROUGH[event.action]} "
            f'{_which(state, event, held)}{_where(state, event)}, because "{said(event.reason_text)}". '
            f"Whether it was made then: git log; ask: synapse-git send --to {_shell(agent)} TEXT"
        )
        yield owner, "", text


def _foreign(state: State, event: ForeignEditSeen) -> Iterator[Word]:
    where = _where(state, event)
    kept = (
        f" What was written there is kept: synapse-git quarantine show {event.quarantine}." if event.quarantine else ""
    )
    for owner, held in _others(event.holders, event.agent):
        namespace = held[0].namespace
        who = _called(state, event.agent, owner, namespace) if event.agent else "somebody unknown"
        about = f"edit {event.agent} {namespace} {held[0].task_id}"
        # Whoever granted the claim tells holders elsewhere.
        if any((one.namespace, one.task_id) in keys for one in held for keys in (state.claims, state.team.receipts)):
            which = _which(state, event, held)
            yield owner, about, f"{who} changed {which}{where}.{kept} Look at it: git diff"
        if event.agent:
            owner = _called(state, owner, event.agent, namespace)
            which = _which(state, event, held, holds=f"{owner} holds")
            yield (
                event.agent,
                about,
                f"you changed {which}{where}.{kept} Take it back, or ask: synapse-git send --to {_shell(owner)} TEXT",
            )


def _takeover(state: State, event: ClaimReleased | ClaimRevoked) -> Iterator[Word]:
    claim = state.claims.get((event.namespace, event.task_id))
    if claim is None:
        return
    what, why = f"task {event.task_id} ({_held(state, claim)})", said(event.reason_text)
    if event.by == HUB_AGENT:
        text = f"{what} was taken away from you, since {why}"
    else:
        text = f'{_called(state, event.by, event.owner, event.namespace)} took {what} away from you: "{why}"'
    yield event.owner, "", f"{text}. Before you go on there, claim it again: {_again(claim)}"


def _forgotten(state: State, event: ReceiptEnded) -> Iterator[Word]:
    """A lease with time left: who granted it was put back to an earlier day, gave way to another, put this hub out."""
    claim = state.team.held((event.namespace, event.task_id), event.at)
    known = state.team.governed.get(event.namespace)
    if claim is not None and known is not None:
        text = f"task {claim.task_id} ({_held(state, claim)}) is not yours any more, says {known.owner}"
        yield claim.owner, "", f"{text}. Before you go on there, claim it again: {_again(claim)}"


def _handover(state: State, event: TaskHandedOff) -> Word:
    claim = event.claim
    task = _shell(claim.task_id)
    more = (
        f"What was left with it: synapse-git checkpoint --show -t {task}"
        if claim.checkpoint is not None
        else f"See it: synapse-git show {task}"
    )
    giver = _called(state, event.giver, claim.owner, claim.namespace)
    text = f"{giver} handed task {claim.task_id} ({_held(state, claim)}) over to you; you hold it now. {more}"
    return claim.owner, "", text


def _expiry(state: State, over: Iterable[LeaseExpired], events: Sequence[AnyEvent]) -> Iterator[Word]:
    """One message to each owner, of all that ended at once; none of what its owner takes up again in the same step."""
    takers = {event.claim.key: event.claim.owner for event in events if isinstance(event, ClaimGranted)}
    ended: dict[str, list[Claim]] = {}
    for event in over:
        key = (event.namespace, event.task_id)
        claim = state.claims.get(key)
        if claim is not None and not claim.revoked and takers.get(key) != event.owner:
            ended.setdefault(event.owner, []).append(claim)
    for owner, claims in ended.items():
        yield owner, "", _ran_out(state, claims, takers)


def _ran_out(state: State, claims: Sequence[Claim], takers: dict[tuple[str, str], str]) -> str:
    named = ", ".join(f"{claim.task_id} ({_held(state, claim)})" for claim in claims[:MAX_NAMED_CONFLICTS])
    more = f" and {len(claims) - MAX_NAMED_CONFLICTS} more" if len(claims) > MAX_NAMED_CONFLICTS else ""
    if taker := takers.get(claims[0].key, ""):
        taker = _called(state, taker, claims[0].owner, claims[0].namespace)
        then = f"{taker} holds the task now; ask before you go on: synapse-git send --to {_shell(taker)} TEXT"
    else:
        then = f"If you are still at it, claim again: {_again(claims[0])}"
    return f"your lease ran out on task{'s' if len(claims) > 1 else ''} {named}{more}. {then}"


def _others(holders: Iterable[Holder], agent: str) -> Iterator[tuple[str, list[Holder]]]:
    """Each owner with its claims; not the agent itself, nor an owner who is not known any more."""
    found: dict[str, list[Holder]] = {}
    for holder in holders:
        if holder.owner not in (agent, ""):
            found.setdefault(holder.owner, []).append(holder)
    yield from found.items()


def _which(state: State, event: Seen, held: Sequence[Holder], *, holds: str = "you hold") -> str:
    """What of ``event`` lies in each of the claims ``held``, and for which tasks those are."""
    parted: dict[str, list[Holder]] = {}
    for holder in held:
        parted.setdefault(_changed_in(state, event, holder), []).append(holder)
    return ", and ".join(f"{what}, which {holds} {_for(holders)}" for what, holders in parted.items())


def _changed_in(state: State, event: Seen, holder: Holder) -> str:
    """What of ``event`` lies in one claim; all, where there is no other or nothing is known of it."""
    claim = state.claims.get((holder.namespace, holder.task_id))
    if claim is None or not any(one.owner and one != holder for one in event.holders):
        return _changed(event)
    scope, paths = claim.scope(), [(path, comparable(claim.worktree, [from_wire(path)])[0]) for path in event.paths]
    mine = [path for path, compared in paths if any(overlap(compared, one) for one in scope)]
    more = event.paths_total > len(event.paths) or len(mine) > MAX_NAMED_CONFLICTS
    return (_listed(mine) or "something") + (" and more" if more and mine else "")


def _for(held: Sequence[Holder]) -> str:
    return f"for task{'s' * (len(held) > 1)} {' and '.join(one.task_id for one in held)}"


def _held(state: State, claim: Claim) -> str:
    """What a claim covers, and where."""
    return (_listed(claim.paths) or "the whole tree") + _where(state, claim)


def _where(state: State, what: Claim | ClaimDenied | Seen) -> str:
    """Of which checkout it is: an agent may be at work in several."""
    place = state.worktrees.get(what.worktree)
    return f" in {show(from_wire(place.root))}" if place else ""


def _again(claim: Claim) -> str:
    paths = [from_wire(path) for path in claim.paths]
    few = 0 < len(paths) <= MAX_NAMED_CONFLICTS and all(path.isprintable() for path in paths)
    what = " ".join(map(_shell, paths)) if few else "PATH…" if paths else "--whole-worktree"
    return f"synapse-git claim -t {_shell(claim.task_id)} {what}"


def _changed(event: Seen) -> str:
    named = _listed(event.paths) or "something"
    more = event.paths_total - min(len(event.paths), MAX_NAMED_CONFLICTS)
    return f"{named} and {more} more" if more > 0 else named


def _listed(paths: Sequence[WirePath]) -> str:
    return ", ".join(show(from_wire(path)) for path in paths[:MAX_NAMED_CONFLICTS])


def _shell(word: str) -> str:
    return shlex.quote(word)
