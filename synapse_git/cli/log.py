"""``log``: the audit trail, one line for each thing that happened."""

from __future__ import annotations

import sys
import time

from synapse_git import document, explain, scope
from synapse_git.cli import output, phrase, trail
from synapse_git.cli.verb import Option, Verb, count
from synapse_git.constants import HUB_AGENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from synapse_git.cli.call import Call

    Fields = Mapping[str, Any]

# How many lines a terminal gets unless asked for more.
_SCREEN = 50
# How much of a message its line shows.
_QUOTED = 200


def run(call: Call) -> int:
    """Exit 0. ``--json``: ``{events: […]}``; with ``--follow`` one document a line, as things happen."""
    follow, most = call.flag("follow"), _most(call)
    after = ""
    if most is not None:
        newest, after = trail.newest(call.hub, most, _counts(call))
        _tell(call, newest)
    elif not follow:
        _tell(call, trail.everything(call.hub))
    if follow:
        output.settle()
        for event in trail.onwards(call.hub, after):
            _tell(call, (event,))
            output.settle()
    return 0


def _most(call: Call) -> int | None:
    """How many events are wanted; None: all. A person at a terminal did not ask for a year of them."""
    given = call.number("limit")
    if given is not None:
        return int(given)
    return None if call.json or not output.terminal(sys.stdout, call.env) else _SCREEN


def _counts(call: Call) -> Callable[[Fields], object]:
    """What one of the wanted number is: with ``--json`` every event, else what makes a line."""
    return (lambda _: True) if call.json else described


def _tell(call: Call, events: Iterable[Fields]) -> None:
    if call.json and not call.flag("follow"):
        output.structure({"events": list(events)})
        return
    for event in events:
        if call.json:
            output.structure(event)
        elif line := described(event):
            output.result(line)


def described(event: Fields) -> str:
    """One event for people, with its time; '' for what is only bookkeeping."""
    words = "" if _of_a_proof(event) else _WORDS.get(event["kind"], _plainly)(event)
    moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(event["at"]))
    return f"{moment}  {words}" if words else ""


def _of_a_proof(event: Fields) -> bool:
    """Does it tell of what `doctor` plays to itself?"""
    claim = event.get("claim") or {}
    names = (event.get("agent"), event.get("owner"), event.get("to"), claim.get("owner"))
    return any(str(name).startswith(trail.PROOF) for name in names if name)


def _granted(event: Fields) -> str:
    claim = event["claim"]
    did = {"renewed": "renewed", "taken_over": "took over"}.get(event["cause"], "claimed")
    note = f': "{scope.show(claim["note"])}"' if claim["note"] else ""
    return f"{claim['owner']} {did} {phrase.paths(claim)} (task {claim['task_id']}, epoch {claim['epoch']}){note}"


def _extended(event: Fields) -> str:
    return f"task {event['task_id']} extended until {explain.moment(event['lease_expires_at'])} by work on it"


def _released(event: Fields) -> str:
    if event.get("forced"):
        reason = scope.show(event["reason_text"])
        return f'{event["by"]} took task {event["task_id"]} away from {event["owner"]}: "{reason}"'
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
    reason = scope.show(event["reason_text"])
    return f'{event["agent"]} overrode the guard ({event["action"]}) on {_changed(event)}{_held_by(event)}: "{reason}"'


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


_WORDS: dict[str, Callable[[Fields], str]] = {
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
    "command_answered": _silently,
}


VERBS = (
    Verb(
        "log",
        run,
        summary="What happened: grants, refusals, overrides, releases.",
        help="Print the audit trail, oldest first: every grant, renewal, release, expiry, refusal and override, from "
        f"the journal that the hub decides by. A terminal gets the last {_SCREEN} lines, anything else all there is.",
        examples=(
            ("log", "what happened of late"),
            ("log --limit 1000", "the last 1000"),
            ("log --follow", "and go on as things happen, also when the hub is stopped and started"),
            ("log --json --follow", "one document a line, for programs"),
        ),
        options=(
            Option("limit", "--limit", metavar="N", help="The newest N only.", convert=count),
            Option("follow", "--follow", "-f", help="Go on as things happen, until interrupted."),
        ),
    ),
)
