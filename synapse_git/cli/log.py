"""``log``: the audit trail, one line for each thing that happened."""

from __future__ import annotations

import sys

from synapse_git.cli import entry, output, trail
from synapse_git.cli.verb import Option, Verb, count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from synapse_git.cli.call import Call

    Fields = Mapping[str, Any]

# How many lines a terminal gets unless asked for more.
_SCREEN = 50


def run(call: Call) -> int:
    """Exit 0. ``--json``: ``{events: […]}``; with ``--follow`` one document a line, as things happen."""
    follow, most = call.flag("follow"), _most(call)
    call.agent()
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
    return (lambda _: True) if call.json else entry.described


def _tell(call: Call, events: Iterable[Fields]) -> None:
    if call.json and not call.flag("follow"):
        output.structure({"events": list(events)})
        return
    for event in events:
        if call.json:
            output.structure(event)
        elif line := entry.described(event):
            output.result(line)


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
