"""``resource offer``, ``list`` and ``withdraw``: what agents have to offer each other."""

from __future__ import annotations

import time

from synapse_git import client, explain, scope
from synapse_git.cli import output, span, table
from synapse_git.cli.verb import Argument, Option, Verb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse_git.cli.call import Call


def offer(call: Call) -> int:
    """Exit 0: it is listed until its time is over."""
    here = call.checkout_if_any()
    body: dict[str, object] = {
        "agent": call.agent(),
        "name": call.text("name"),
        "namespace": here.namespace() if here else "",
        "note": call.text("note"),
    }
    if ttl := call.number("ttl"):
        body["ttl_s"] = ttl
    reply = client.command(call.hub, "/v2/resources", body)
    if call.json:
        output.raw(reply.raw)
    else:
        lasts = explain.span(reply.document["expires_at"] - reply.document["now"])
        output.result(f"{reply.document['name']} is offered for {lasts}; offer it again before that to keep it listed")
    return 0


def show(call: Call) -> int:
    """Exit 0: what is offered in this project; outside of any checkout, everything."""
    here = call.checkout_if_any()
    call.agent()
    reply = client.query(call.hub, "/v2/resources", namespace=here.namespace() if here else "")
    if call.json:
        output.raw(reply.raw)
        return 0
    now = reply.document["now"]
    rows = [
        (
            one["name"],
            one["agent"],
            explain.moment(time.time() + one["expires_at"] - now),
            scope.show(one["note"]) if one["note"] else "",
        )
        for one in reply.document["resources"]
    ]
    if rows:
        table.show(("RESOURCE", "AGENT", "UNTIL", "NOTE"), rows, call.env)
    else:
        output.result("nothing is offered. Offer something: synapse-git resource offer NAME")
    return 0


def withdraw(call: Call) -> int:
    """Exit 0: it is not listed any more. 1: the agent offers no such thing."""
    here = call.checkout_if_any()
    body = {"agent": call.agent(), "name": call.text("name"), "namespace": here.namespace() if here else ""}
    reply = client.command(call.hub, "/v2/resources/withdraw", body)
    if call.json:
        output.raw(reply.raw)
    else:
        output.result(f"{reply.document['name']} is not offered any more")
    return 0


VERBS = (
    Verb(
        "resource offer",
        offer,
        summary="Offer others something you have.",
        help="List something that others may use while you have it: a running test database, a warm build, your own "
        "time. It is listed for five minutes unless --ttl says otherwise; offering it again starts that anew.",
        examples=(
            ("resource offer test-db --note 'port 5433'", "for five minutes"),
            ("resource offer reviews --ttl 2h", "for two hours"),
        ),
        options=(
            Option(
                "ttl",
                "--ttl",
                metavar="TIME",
                convert=span.seconds,
                help="How long it is listed: seconds, or 90m, 2h, 1d. Five minutes if not given.",
            ),
            Option("note", "--note", metavar="TEXT", help="How to use it, or whom to ask."),
        ),
        argument=Argument("name", "NAME"),
    ),
    Verb(
        "resource list",
        show,
        summary="What others offer.",
        help="Show what is offered in this project now; outside of any checkout, in all projects.",
        examples=(("resource list", "of this project"),),
    ),
    Verb(
        "resource withdraw",
        withdraw,
        summary="Offer something no more.",
        help="Take an offer of yours off the list before its time is over.",
        examples=(("resource withdraw test-db", "it goes down now"),),
        argument=Argument("name", "NAME"),
    ),
)
