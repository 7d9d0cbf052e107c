"""``team init|join|status|leave|remove|transfer``: one hub grants in a project, wherever its agents work."""

from __future__ import annotations

import sys

from synapse_git import client, explain
from synapse_git.cli import hosts, output, phrase, register, table, unshared
from synapse_git.cli.verb import Argument, Option, Verb
from synapse_git.errors import CheckoutError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from synapse_git.cli.call import Call

# Making a key, and two exchanges with a hub on another machine.
_PATIENCE_S = 10.0
_LONGEST_TOKEN = 4096
_TRANSFER_S = 120.0


def init(call: Call) -> int:
    """Exit 0: this machine's hub owns the namespace; printed is what one other hub needs to join."""
    body = {
        "namespace": call.text("namespace"),
        "listen": call.text("listen"),
        "remotes": list(call.texts("remote")) or _remotes(call),
        "exclusion": call.text("exclusion"),
        "name": call.text("name"),
        "repositories": unshared.repositories(call.hub),
        "convert": call.flag("convert"),
    }
    reply = client.command(call.hub, "/v2/team/init", body, patience_s=_PATIENCE_S)
    told = reply.document
    if call.json:
        _enlist(call, told["namespace"])
        output.structure({"url": told["url"], "token": told["token"], "id": told["id"]})
        return 0
    if told["converted"]:
        output.result(f"what was held here goes on in {told['namespace']}: {', '.join(told['converted'])}")
    output.result(
        f"this hub, {told['id']}, grants in {told['namespace']}\n"
        f"on each other machine, within ten minutes: synapse-git team join {told['url']}\n"
        f"and give it this token, which counts once: {told['token']}"
    )
    _enlist(call, told["namespace"])
    return 0


def join(call: Call) -> int:
    """Exit 0: claims in the namespace go to its owner from now on. Refusals: LEASE_LIVE, SCOPE_CONFLICT, CONTESTED."""
    if sys.stdin.isatty():
        output.message("the token that team init printed on the owner:")
        output.settle()
    token = sys.stdin.readline(_LONGEST_TOKEN).strip()
    if not token:
        raise UsageError("give the token on standard input: synapse-git team join URL < TOKEN_FILE", "INVALID_REQUEST")
    body = {
        "url": call.text("url"),
        "token": token,
        "listen": call.text("listen"),
        "name": call.text("name"),
        "repositories": unshared.repositories(call.hub),
        "convert": call.flag("convert"),
    }
    reply = client.command(call.hub, "/v2/team/join", body, patience_s=_PATIENCE_S)
    told = reply.document
    if call.json:
        _enlist(call, told["namespace"])
        output.raw(reply.raw)
        return 0
    output.result(f"this hub, {told['id']}, asks {told['owner']} for claims in {told['namespace']} from now on")
    if told["converted"]:
        output.result(f"{told['owner']} has taken over what was held here: {', '.join(told['converted'])}")
    _enlist(call, told["namespace"])
    return 0


def _remotes(call: Call) -> list[str]:
    """Those of the repository the command acts in."""
    here = call.checkout_if_any()
    return here.remotes() if here else []


def _enlist(call: Call, namespace: str) -> None:
    """Have the worktrees of this repository listed in ``namespace``, if that is theirs now: so they are watched.

    Else say how it is told that it belongs there.
    """
    here = call.checkout_if_any()
    if here is None:
        return
    try:
        belongs = here.namespace() == namespace
    except CheckoutError as error:
        output.message(f"note: {error}")
        return
    if belongs and here.outer.tree():
        register.announce(call, here, call.agent())
        register.siblings(call, here)
    elif not belongs and not call.json:
        output.message(
            f"note: this repository does not belong to {namespace} yet, since no remote of it was named: "
            f"git config synapse.namespace {phrase.shell(namespace)}. What is held here goes on in it with the next "
            "claim, status or commit after that"
        )


def status(call: Call) -> int:
    """Exit 0. ``--json``: ``{id, listen, shut, broken, peers, namespaces, receipts}``."""
    reply = client.query(call.hub, "/v2/team")
    told = reply.document
    if call.json:
        output.raw(reply.raw)
        return 0
    if told["broken"]:
        output.result(told["broken"])
        if not told["id"]:
            return 0
    if not told["namespaces"]:
        output.result(
            f"this hub is in no team. It grants what is asked of it here and {explain.ALONE}: "
            "synapse-git team init NAMESPACE, or team join URL"
        )
        return 0
    listens = f", {'to listen' if told['shut'] else 'listening'} at {told['listen']}" if told["listen"] else ""
    output.result(f"this hub is {told['id']}{listens}")
    if told["shut"]:
        output.result(f"nobody reaches it: {told['shut']}. It is tried again every few seconds")
    rows = [_row(item, told["id"]) for item in told["namespaces"]]
    table.show(("NAMESPACE", "OWNER", "EXCLUDES", "MEMBERS"), rows, call.env)
    for peer in told["peers"]:
        output.result(f"{peer['id']} {hosts.stands(peer, hosts.age(peer, told['now']))}")
        if peer["standing"] == "unreachable" and any(item["owner"] == peer["id"] for item in told["namespaces"]):
            output.message(_GONE.format(peer["id"]))
    for item in told["namespaces"]:
        if item["detail"]:
            output.result(f"{item['ownership'].upper()}: {item['detail']}")
    return 0


def _row(item: Mapping[str, Any], me: str) -> tuple[str, str, str, str]:
    owner = f"{item['owner']} (this hub)" if item["owner"] == me else item["owner"]
    across = "across worktrees and hosts" if item["exclusion"] == "repository" else "within a worktree; task ids across"
    return item["namespace"], owner, across, ", ".join(item["members"])


def leave(call: Call) -> int:
    """Exit 0: this hub has no part in the namespace any more."""
    reply = client.command(call.hub, "/v2/team/leave", {"namespace": call.text("namespace") or _only(call)})
    if call.json:
        output.raw(reply.raw)
        return 0
    told = reply.document
    ended = f"; its agents hold {', '.join(told['ended'])} there no more" if told["ended"] else ""
    # What an owner takes away it gives to nobody before the last receipt has run out.
    waits = ended and told["owner"] and told["told"]
    free = f", and {told['owner']} may give that to others in a minute" if waits else ""
    output.result(f"this hub has no part in {told['namespace']} any more{ended}{free}")
    if not told["told"]:
        output.message(
            f"note: {told['owner']} could not be told. Unless it has put this hub out already, type there: "
            f"synapse-git team remove {phrase.shell(told['namespace'])} {phrase.shell(told['id'])}"
        )
    return 0


def _only(call: Call) -> str:
    """The one team that this hub is in. Raises: UsageError, where it is in none or in several."""
    found = [item["namespace"] for item in client.query(call.hub, "/v2/team").document["namespaces"]]
    if len(found) == 1:
        return str(found[0])
    raise UsageError(f"name the team to leave: {phrase.listed(found)}" if found else "this hub is in no team")


def remove(call: Call) -> int:
    """Exit 0: the hub may ask no more, and what its agents held has ended or ends within a minute."""
    namespace, hub = _pair(call, "synapse-git team remove NAMESPACE HUB")
    reply = client.command(call.hub, "/v2/team/remove", {"namespace": namespace, "hub": hub})
    if call.json:
        output.raw(reply.raw)
        return 0
    ended = ", ".join(reply.document["released"])
    output.result(
        f"{hub} is no member of {namespace} any more"
        + (f"; what its agents held was taken away, and is free for others in a minute: {ended}" if ended else "")
    )
    return 0


def _pair(call: Call, usage: str) -> tuple[str, str]:
    """A namespace and a hub."""
    given = call.texts("where")
    if len(given) != 2:
        raise UsageError(f"name the namespace and the hub: {usage}", "INVALID_REQUEST")
    return given[0], given[1]


def transfer(call: Call) -> int:
    """Exit 0: the other hub grants in the namespace, and holds what was held in it. Repeated, it goes on with it.

    Refusals: UNGOVERNED, CONTESTED, INVALID_REQUEST, LEASE_LIVE, OWNER_UNREACHABLE.
    """
    namespace, hub = _pair(call, "synapse-git team transfer NAMESPACE HUB")
    body = {"namespace": namespace, "to": hub, "from_dead": call.flag("from_dead")}
    reply = client.command(call.hub, "/v2/team/transfer", body, patience_s=_TRANSFER_S)
    if call.json:
        output.raw(reply.raw)
        return 0
    told = reply.document
    output.result(f"{told['owner']} grants in {told['namespace']} from now on, with {told['claims']} claims of before")
    if body["from_dead"]:
        output.result(
            "the other machines do not know yet. Make a token for each here: "
            f"synapse-git team init {phrase.shell(namespace)}; and there: synapse-git team join URL"
        )
    return 0


_GONE = (
    "note: nothing is granted until {0} is back. If it is gone for good, another hub takes over "
    "(synapse-git team transfer --help), and this one joins that: synapse-git team join URL"
)
_NAMESPACE = Argument("namespace", "NAMESPACE")
_LISTEN = Option("listen", "--listen", metavar="HOST:PORT", help="Where other hubs reach this one; port 0: a free one.")
_NAME = Option("name", "--name", metavar="NAME", help="What this hub is called in the team. Made up if not given.")


def _exclusion(given: str) -> str:
    if given not in ("repository", "worktree"):
        raise ValueError(f"{given!r} is neither repository nor worktree")
    return given


VERBS = (
    Verb(
        "team init",
        init,
        summary="Have this machine's hub grant in a project, for all.",
        help="Make this machine's hub the one that grants in NAMESPACE, for the agents of every machine that joins. "
        "Prints an address and a token that lets one hub in; again, for the next one. Repositories belong to it by "
        "their remotes, or by git config synapse.namespace.",
        examples=(
            ("team init acme/api", "for the remotes of this repository"),
            ("team init acme/api --listen 10.0.0.7:8731", "at an address that the others reach"),
        ),
        options=(
            _LISTEN,
            Option("remote", "--remote", metavar="URL", help="The URL of a repository that belongs to it.", many=True),
            Option(
                "exclusion",
                "--exclusion",
                metavar="HOW",
                convert=_exclusion,
                help="repository (default): a path has one holder on all machines; worktree: within one checkout.",
            ),
            _NAME,
            Option("convert", "--convert", help="Have what agents hold in its repositories already go on in it."),
        ),
        argument=_NAMESPACE,
    ),
    Verb(
        "team join",
        join,
        summary="Ask the owner of a project for claims in it.",
        help="Join the team of the hub at URL, as team init printed it there. The token is read from standard input. "
        "From then on claims in its namespace are its to grant, and commits here are held to them. Where agents hold "
        "something in its repositories already, nothing happens unless --convert has the owner take that over.",
        examples=(
            ("team join https://10.0.0.7:8731", "then paste the token"),
            ("team join https://10.0.0.7:8731 --convert", "with what agents hold here: all of it, or nothing"),
        ),
        options=(
            _LISTEN,
            _NAME,
            Option("convert", "--convert", help="Have the owner take over what agents of this machine hold in it."),
        ),
        argument=Argument("url", "URL"),
    ),
    Verb(
        "team status",
        status,
        summary="Who grants in which project.",
        help="List the projects that hubs share, who grants in each, and what stands in the way.",
        examples=(("team status", "for people"), ("team status --json", "everything, as one document")),
    ),
    Verb(
        "team leave",
        leave,
        summary="Have no part in a project's team any more.",
        help="Take this hub out of the team of NAMESPACE; without it, of the only one it is in. What its agents hold "
        "there ends, and claims in it are nobody's business here from then on.",
        examples=(("team leave acme/api", "on any member"),),
        argument=Argument("namespace", "NAMESPACE", required=False),
    ),
    Verb(
        "team remove",
        remove,
        summary="Let another hub ask no more in a project.",
        help="Typed where NAMESPACE is owned: the hub that is called HUB in its team may ask no more. What its agents "
        "hold there ends, and is free for others within a minute.",
        examples=(("team remove acme/api lost-laptop", "on the owner"),),
        argument=Argument("where", "NAMESPACE HUB", many=True),
    ),
    Verb(
        "team transfer",
        transfer,
        summary="Have another hub grant in a project.",
        help="Typed where NAMESPACE is owned: the hub that is called HUB in its team, and listens, grants in it from "
        "now on. It takes over claims, epochs and answered keys; the others ask it by themselves. For a moment nobody "
        "grants. Interrupted, type it again. Where the owner is gone for good, --from-dead takes over without it.",
        examples=(
            ("team transfer acme/api build-server", "on the owner so far"),
            ("team transfer acme/api build-server --from-dead", "on build-server; read the how-to first"),
        ),
        options=(
            Option(
                "from_dead", "--from-dead", help="Take over on this machine, which is HUB, from an owner that is dead."
            ),
        ),
        argument=Argument("where", "NAMESPACE HUB", many=True),
    ),
)
