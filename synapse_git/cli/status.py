"""``status``: what is live on this machine, and which layers cover each worktree."""

from __future__ import annotations

import os

from synapse_git import address, client, equipment, explain, gitdir, governed, record, scope, switches
from synapse_git.cli import glance, hosts, output, phrase, register, submodules, table
from synapse_git.cli.verb import Option, Verb
from synapse_git.errors import CheckoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from synapse_git.checkout import Checkout
    from synapse_git.cli.call import Call

WATCHER = "watcher"


def run(call: Call) -> int:
    """Exit 0. ``--json``: ``{claims, worktrees}``, everything the hub knows; with ``--all-hosts`` also ``hosts``."""
    if not call.json:
        _say_who(call)
    claims = client.claims(call.hub)
    here = _place(call)
    tree = here.tree() if here else ""
    reply = _worktrees(call, here, tree)
    worktrees = _as_they_stand(reply["worktrees"], call.env)
    others = hosts.hosts(call) if call.flag("all_hosts") else None
    if call.json:
        output.structure({"claims": claims, "worktrees": worktrees} | ({} if others is None else {"hosts": others}))
        return 0
    namespace = here.namespace() if here else ""

    def far(item: Mapping[str, Any]) -> int:
        """Where the command was typed comes first, then the rest of its project."""
        return 0 if tree and item["worktree"] == tree else 1 if namespace and item["namespace"] == namespace else 2

    claims, worktrees = sorted(claims, key=far), sorted(worktrees, key=far)
    there = " by agents of this machine" if others is None and _shares(call, here) else ""
    if claims:
        _show_claims(call, claims, worktrees, reply["now"])
    elif not any(host["claims"] for host in others or ()):
        output.result(f"nothing is claimed{there}. Claim what you are about to edit: synapse-git claim PATH")
    if others is not None:
        hosts.show(call, others, reply["now"])
    elif there:
        output.message("note: what agents of other machines hold, as they told it: synapse-git status --all-hosts")
    if worktrees := [item for item in worktrees if item["worktree"] == tree or _concerns(item)]:
        _show_worktrees(call, worktrees, tree)
        _show_foreign_edits(worktrees, reply["now"])
    if here:
        _note_alone(here)
    return 0


def _say_who(call: Call) -> None:
    """So that the hub can say whether something waits for it; who cannot be named sees what is held all the same."""
    try:
        call.agent()
    except CheckoutError as error:
        output.message(f"note: {error}")


def _place(call: Call) -> Checkout | None:
    """The checkout around, unless nobody knows which project it belongs to: what is held is shown all the same."""
    here = call.checkout_if_any()
    try:
        if here:
            here.namespace()
    except CheckoutError as error:
        output.message(f"note: {error}")
        return None
    return here


def _worktrees(call: Call, here: Checkout | None, tree: str) -> dict[str, Any]:
    """The hub's answer on worktrees; of the one around, as it is now."""
    reply = client.query(call.hub, "/v2/worktrees").document
    if here and any(item["worktree"] == tree and item["namespace"] != here.namespace() for item in reply["worktrees"]):
        register.announce(call, here, "")  # it has joined a team, or left it
        reply = client.query(call.hub, "/v2/worktrees").document
    for item in reply["worktrees"]:
        if here and tree and item["worktree"] == tree:
            item["root"] = scope.to_wire(here.outer.root)  # it may have been moved since a command wrote it down
    return reply


def _shares(call: Call, here: Checkout | None) -> bool:
    """Do agents of other machines hold things in a project around that this machine's hub is not asked about?"""
    project = here.project() if here else None
    projects = ([project] if project else []) if here else governed.read(address.state_dir(call.env))
    return any(entry.owner for entry in projects)


def _note_alone(here: Checkout) -> None:
    """Two hubs without an owner named between them exclude nothing; one of a team grants only in what has an owner."""
    shared = here.settings.get("synapse.namespace")
    if not shared or here.project() is not None:
        return
    if known := [entry.namespace for entry in governed.read(here.outer.state)]:
        output.message(
            f"note: no hub is named as the owner of {shared}, so nobody grants in it. If it is another name of "
            f"{phrase.listed(known)}: git config synapse.namespace {phrase.shell(known[0])}. Else name its owner: "
            f"synapse-git team init {phrase.shell(shared)} there, and synapse-git team join URL on the others"
        )
    else:
        output.message(
            f"note: no hub is named as the owner of {shared}, so this one {explain.ALONE}. "
            f"Name one: synapse-git team init {phrase.shell(shared)}"
        )


def _concerns(item: Mapping[str, Any]) -> bool:
    """Is anybody in the worktree, or anything in force there? What was removed or let go long ago is of no interest."""
    return bool(item.get("agents")) or (not item["gone"] and bool(item["layers"] or item["displaced"]))


def _standing(item: Mapping[str, Any]) -> str:
    """Where the worktree stands, '' where it is gone: nothing is there, or another checkout with an id of its own."""
    root = explain.wire_path(item["root"])
    if not os.path.isdir(root):
        return ""
    try:
        found = record.lookup(gitdir.at(root), "worktree")
    except CheckoutError:
        found = ""
    return "" if found and item["worktree"] != f"wt:{found}" else root


def _as_they_stand(worktrees: Sequence[dict[str, Any]], env: Mapping[str, str]) -> list[dict[str, Any]]:
    """The register, with guard and branch as they are now: other tools may have displaced or switched them.

    ``displaced``: why a guard that was put in does not run, '' where it does or none was. ``unguarded``: submodules
    without one where the checkout has it. ``tools``: the coding agents that ask before they edit; ``silenced``: those
    with hooks that their settings keep from running, and which do. ``gone``: does it stand there no more?
    """
    roots = [_standing(item) for item in worktrees]
    there = [root for root in roots if root]
    inner = {root: submodules.roots([root], env) for root in there if submodules.likely(root)}
    found = glance.survey([*there, *(path for paths in inner.values() for path in paths)], env)
    updated = []
    for root, item in zip(roots, worktrees, strict=True):
        layers = [layer for layer in item["layers"] if layer not in (register.GUARD, register.TOOLS)]
        now, displaced = found.get(root), ""
        if now and now.cover:
            layers.insert(0, register.GUARD)
        elif now and register.GUARD in item["layers"]:
            displaced = now.mend
        # Without the guard an edit is nobody's business, whoever asks. One that was displaced was meant to be there.
        tools = equipment.covering(root, env) if now and (now.cover or displaced) else []
        silenced = {name: why for name in tools if (why := switches.off(name, root, env))}
        if tools := [name for name in tools if name not in silenced]:
            layers.insert(layers.count(register.GUARD), register.TOOLS)
        branch = register.branch_at(root, item["branch"]) if root else item["branch"]
        bare = [path for path in inner.get(root, ()) if now and now.cover and not found[path].cover]
        unguarded = [scope.to_wire(os.path.relpath(path, root)) for path in bare]
        standing = {"gone": not root, "layers": layers, "tools": tools, "silenced": silenced}
        updated.append({**item, "branch": branch, **standing, "displaced": displaced, "unguarded": unguarded})
    return updated


def _show_claims(
    call: Call, claims: Sequence[Mapping[str, Any]], worktrees: Sequence[Mapping[str, Any]], now: float
) -> None:
    roots = {item["worktree"]: phrase.place(item["root"], call.env) for item in worktrees}
    rows = [
        (
            claim["task_id"],
            claim["owner"],
            phrase.paths(claim, most=3),
            phrase.until(claim, now),
            roots.get(claim["worktree"], claim["worktree"]) or f"shared: {claim['namespace']}",
            scope.show(claim["note"]) if claim["note"] else "",
        )
        for claim in claims
    ]
    table.show(("TASK", "AGENT", "PATHS", "UNTIL", "WHERE", "NOTE"), rows, call.env)


def _show_worktrees(call: Call, worktrees: Sequence[Mapping[str, Any]], here: str) -> None:
    rows = [
        (
            phrase.place(item["root"], call.env) + (" (here)" if item["worktree"] == here else ""),
            item.get("branch") or "",
            _cover(item) or _bare(item),
            ", ".join(item.get("agents", ())),
        )
        for item in worktrees
    ]
    output.result("")
    table.show(("WORKTREE", "BRANCH", "COVERED BY", "IN IT"), rows, call.env)
    for item in worktrees:
        root = explain.wire_path(item["root"])
        if item["gone"]:
            output.result(
                f"\n{scope.show(root)} {'is another checkout now' if os.path.isdir(root) else 'is gone'}. "
                "What is held in the one that was there runs out, or its holder gives it back: "
                "synapse-git release -t TASK"
            )
        for name, switch in item["silenced"].items():
            output.result(f"\n{name} edits unasked in {scope.show(root)}: no hook of it runs with {switch}")
        if bare := [explain.wire_path(path) for path in item["unguarded"]]:
            output.result(
                f"\nnobody judges commits in submodules of {scope.show(root)}: {phrase.listed(bare)}\n"
                f"guard them too: synapse-git -C {phrase.shell(root)} install"
            )
        if item["displaced"]:
            output.result(
                f"\nthe guard in {scope.show(root)} does not run: {item['displaced']}\n"
                f"put it back: synapse-git -C {phrase.shell(root)} install"
            )


def _bare(item: Mapping[str, Any]) -> str:
    if item["gone"]:
        return "nothing to cover"
    return "none: displaced" if item["displaced"] else "none: synapse-git install"


def _cover(item: Mapping[str, Any]) -> str:
    """The layers, with what is wrong with the watcher."""
    watch = item.get("watch") or {}
    words: dict[str, str] = {register.TOOLS: f"{register.TOOLS} ({', '.join(item['tools'])})"}
    if watch.get("reason"):
        words[WATCHER] = f"{WATCHER} ({watch['state']}: {watch['reason']})"
    layers = [words.get(layer) or str(layer) for layer in item["layers"]]
    if layers and WATCHER not in item["layers"] and watch.get("reason") and item.get("agents"):
        layers.append(f"no watcher: {watch['reason']}")
    return ", ".join(layers)


def _show_foreign_edits(worktrees: Sequence[Mapping[str, Any]], now: float) -> None:
    """Changes that nothing stopped, in scopes that are still held."""
    for item in worktrees:
        for edit in item.get("foreign_edits", ()):
            who = edit["agent"] or "somebody unknown"
            held = ", ".join(f"{one['owner']} (task {one['task_id']})" for one in edit["holders"])
            kept = f"; put back, and kept as {edit['quarantine']}" if edit["quarantine"] else ""
            paths = phrase.listed([explain.wire_path(path) for path in edit["paths"]], most=3)
            output.result(f"\n{explain.span(now - edit['at'])} ago {who} changed {paths}, held by {held}{kept}")


VERBS = (
    Verb(
        "status",
        run,
        summary="What is held, by whom, until when; what covers each worktree.",
        help="List every live claim on this machine and every worktree that was set up or claimed in, with the layers "
        "that cover it. In a team, --all-hosts adds what is held on other machines, as their hubs told it.",
        examples=(
            ("status", "for people"),
            ("status --json", "everything, as one document"),
            ("status --all-hosts", "also what other machines hold, and how fresh that is"),
        ),
        options=(Option("all_hosts", "--all-hosts", help="Also what is held on the other machines of the team."),),
    ),
)
