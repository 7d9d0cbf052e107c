"""An entry of the audit trail in words."""

from __future__ import annotations

import time

from synapse_git import document, explain, scope
from synapse_git.cli import phrase, trail
from synapse_git.constants import HUB_AGENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Fields = Mapping[str, Any]

# How much of a message its line shows.
_QUOTED = 200


def described(event: Fields) -> str:
    """One event for people, with its time; '' for what is only bookkeeping."""
    words = "" if _of_a_proof(event) else WORDS.get(event["kind"], _plainly)(event)
    moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(event["at"]))
    return f"{moment}  {words}" if words else ""


def _of_a_proof(event: Fields) -> bool:
    """Does it tell of what `doctor` plays to itself?"""
    claim = event.get("claim") or {}
    names = (event.get("agent"), event.get("owner"), event.get("to"), claim.get("owner"))
    return any(str(name).startswith(trail.PROOF) for name in names if name)


def _granted(event: Fields) -> str:
    claim = event["claim"]
    did = {"renewed": "renewed", "taken_over": "took over", "inherited": "goes on with"}.get(event["cause"], "claimed")
    note = f': "{scope.show(claim["note"])}"' if claim["note"] else ""
    return f"{claim['owner']} {did} {phrase.paths(claim)} (task {claim['task_id']}, epoch {claim['epoch']}){note}"


def _extended(event: Fields) -> str:
    return f"task {event['task_id']} extended until {explain.moment(event['lease_expires_at'])} by work on it"


def _released(event: Fields) -> str:
    if event.get("forced") and event["by"] != event["owner"]:
        return _revoked(event)
    return f"{event['by']} released task {event['task_id']}"


def _updated(event: Fields) -> str:
    note = f': "{scope.show(event["note"])}"' if event["note"] else ""
    return f"task {event['task_id']} is {event['status']}, version {event['version']}{note}"


def _handed_off(event: Fields) -> str:
    claim = event["claim"]
    to = f"{claim['owner']} (epoch {claim['epoch']})"
    return f"{event['giver']} handed task {claim['task_id']} to {to}"


def _saved(event: Fields) -> str:
    return f"a checkpoint of task {event['task_id']} was kept"


def _started(event: Fields) -> str:
    return f"the journal started again from {event['source']} (incarnation {event['incarnation']})"


def _expired(event: Fields) -> str:
    return f"the lease of {event['owner']} on task {event['task_id']} ran out"


def _claim_denied(event: Fields) -> str:
    return f"{event['agent']} was refused {_changed(event)} ({event['reason']}){_held_by(event)}"


def _guard_denied(event: Fields) -> str:
    if event.get("moved"):
        return f"{event['agent']} moved {_changed(event)} to other commits{_held_by(event)}"
    return f"{event['agent']} was refused a change ({event['action']}) of {_changed(event)}{_held_by(event)}"


def _overridden(event: Fields) -> str:
    reason, noted = explain.said(event["reason_text"]), event.get("spooled_at")
    when = f" at {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(noted))}" if noted else ""
    on = f" on {_changed(event)}" if event["paths"] else ""
    total = event.get("changed_total", 0)
    of = f", in a change of {total} paths" if total > event["paths_total"] else ""
    return f'{event["agent"]} overrode the guard ({event["action"]}){when}{on}{_held_by(event)}{of}: "{reason}"'


def _sent(event: Fields) -> str:
    if event["sender"] == HUB_AGENT:
        return ""  # what it speaks of stands there already
    body = scope.show(event["body"])
    short = f"{body[:_QUOTED]}…" if len(body) > _QUOTED else body
    to = event["to"] or "everyone"
    return f'{event["sender"]} to {to}: "{short}"'


def _foreign_edit(event: Fields) -> str:
    kept = f"; put back, what was found is kept as {event['quarantine']}" if event["quarantine"] else ""
    return f"{event['agent'] or 'somebody unknown'} changed {_changed(event)}{_held_by(event)}{kept}"


def _registered(event: Fields) -> str:
    covered = ", ".join(event["layers"]) or "nothing"
    return f"worktree {scope.show(explain.wire_path(event['root']))} is covered by {covered}"


def _noted(event: Fields) -> str:
    task = f" on task {event['task_id']}" if event["task_id"] else ""
    return f'{event["agent"]} noted{task}: "{scope.show(event["text"])}"'


def _offered(event: Fields) -> str:
    return f"{event['agent']} offers {event['name']} until {explain.moment(event['expires_at'])}"


def _withdrawn(event: Fields) -> str:
    return f"{event['agent']} offers {event['name']} no more"


def _bound(event: Fields) -> str:
    return f"the name {event['agent']} is bound to a session"


def _disconnected(event: Fields) -> str:
    return f"the session of {event['agent']} disconnected"


def _given_up(event: Fields) -> str:
    return f"the session of {event['agent']} gave the name up"


def _reclaimed(event: Fields) -> str:
    return f"the name {event['agent']} was taken back by its user ({event['principal']})"


def _pinned(event: Fields) -> str:
    return f"the key {event['key']} is pinned to the name {event['agent']}"


def _governed(event: Fields) -> str:
    owner = "this hub" if event["mine"] else f"the hub {event['owner']}"
    return f"claims in {event['namespace']} are granted by {owner}"


def _ceded(event: Fields) -> str:
    return f"{event['namespace']} goes to the hub {event['owner']}, and nobody grants in it until it is there"


def _delivered(event: Fields) -> str:
    return f"the next owner of {event['namespace']} has all that was held in it"


def _inherited(event: Fields) -> str:
    return f"this hub grants in {event['namespace']} from now on, in place of the hub {event['giver']}"


def _freed(event: Fields) -> str:
    return f"this hub left the team of {event['namespace']}"


def _contested(event: Fields) -> str:
    return f"the hub {event['by']} says that it owns {event['namespace']}: nobody is granted anything there"


def _uncontested(event: Fields) -> str:
    return f"the hub {event['by']} does not own {event['namespace']} after all"


def _receipt(event: Fields) -> str:
    """What the owner granted; that a receipt was only made to last longer is bookkeeping."""
    return _granted({"claim": event["claim"], "cause": "granted"}) + ", says the owner" if event["key"] else ""


def _receipt_ended(event: Fields) -> str:
    how = {"revoked": "was taken away"}.get(event["cause"], "is over")
    return f"the claim on task {event['task_id']} {how}, says the owner"


def _settled(event: Fields) -> str:
    return f"task {event['task_id']} is not held any more, says the owner" if event["ended"] else ""


def _revoked(event: Fields) -> str:
    reason = explain.said(event["reason_text"])
    if event["by"] == HUB_AGENT:
        return f"task {event['task_id']} was taken away from {event['owner']}, since {reason}"
    return f'{event["by"]} took task {event["task_id"]} away from {event["owner"]}: "{reason}"'


def _silently(_: Fields) -> str:
    return ""


def _plainly(event: Fields) -> str:
    """A kind this version has no words for."""
    rest = {key: value for key, value in event.items() if key not in ("id", "kind", "at")}
    return f"{event['kind']} {document.write(rest)}"


def _changed(event: Fields) -> str:
    paths = [explain.wire_path(path) for path in event["paths"]]
    more = event.get("paths_total", 0) - len(paths)
    return (phrase.listed(paths) or "everything") + (f" and {more} more" if more > 0 else "")


def _held_by(event: Fields) -> str:
    holders = [f"{holder['owner']} (task {holder['task_id']})" for holder in event.get("holders", [])]
    return f", held by {', '.join(holders)}" if holders else ""


WORDS: dict[str, Callable[[Fields], str]] = {
    "claim_granted": _granted,
    "lease_extended": _extended,
    "claim_released": _released,
    "task_updated": _updated,
    "task_handed_off": _handed_off,
    "checkpoint_saved": _saved,
    "incarnation_started": _started,
    "lease_expired": _expired,
    "claim_denial": _claim_denied,
    "guard_denial": _guard_denied,
    "guard_override": _overridden,
    "message_sent": _sent,
    "message_acknowledged": _silently,
    "note_added": _noted,
    "resource_offered": _offered,
    "resource_withdrawn": _withdrawn,
    "foreign_edit": _foreign_edit,
    "worktree_registered": _registered,
    "name_bound": _bound,
    "name_disconnected": _disconnected,
    "name_released": _given_up,
    "name_reclaimed": _reclaimed,
    "key_pinned": _pinned,
    "namespace_governed": _governed,
    "namespace_ceded": _ceded,
    "namespace_delivered": _delivered,
    "namespace_inherited": _inherited,
    "checkpoint_inherited": _silently,
    "namespace_freed": _freed,
    "ownership_contested": _contested,
    "ownership_settled": _uncontested,
    "claim_forwarded": _silently,
    "forward_settled": _settled,
    "receipt_kept": _receipt,
    "receipt_ended": _receipt_ended,
    "report_owed": _silently,
    "report_settled": _silently,
    "claim_revoked": _revoked,
    "command_answered": _silently,
}
