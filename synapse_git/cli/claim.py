"""``claim``: take a lease on paths before editing them."""

from __future__ import annotations

import os
import time

from synapse_git import binding, client, explain, scope
from synapse_git.cli import output, phrase, span, whereabouts
from synapse_git.cli.verb import TASK, Argument, Option, Verb, raw
from synapse_git.errors import HubUnreachable, Refused, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse_git.checkout import Checkout
    from synapse_git.cli.call import Call
    from synapse_git.client import Reply

# Refusals that time may heal.
_PASSING = ("SCOPE_CONFLICT", "LEASE_LIVE")
_PAUSE_S = 0.3


def run(call: Call) -> int:
    """Exit 0: granted. Refusals: SCOPE_CONFLICT, LEASE_LIVE, QUOTA_EXCEEDED, INVALID_SCOPE, INVALID_TASK."""
    paths = _declared(call)
    here = call.checkout()
    agent = call.agent()
    if not whereabouts.unchanged(here):
        from synapse_git.cli import arbitration, register

        arbitration.settle(call, here)
        if here.tree():
            register.announce(call, here, agent)  # what is held there goes before
    shared = here.shares()
    tree = "" if shared or call.flag("shared") else here.tree(create=True)
    body: dict[str, object] = {
        "task_id": _task(call, agent),
        "agent": agent,
        "namespace": here.namespace(create=True),
        "worktree": tree,
        "paths": [scope.to_wire(path) for path in paths],
        "add": call.flag("add"),
    }
    if ttl := call.number("ttl"):
        body["ttl_s"] = ttl
    if note := call.text("note"):
        body["note"] = note
    reply = _granted(call, body)
    # Where another hub grants, the answer is its; the one that was asked is the one to ask again.
    asked = reply.headers.get("synapse-hub") or reply.document["hub_id"]
    binding.confirm(call.hub, here.outer.common_dir, asked)
    _say(call, reply, here, paths)
    if (tree or shared) and (reply.headers.get("synapse-worktree") == "unknown" or not whereabouts.unchanged(here)):
        from synapse_git.cli import register

        register.announce(call, here, agent)
    return 0


def _granted(call: Call, body: dict[str, object]) -> Reply:
    """Ask, and with ``--wait`` again, for as long as it takes others to be done."""
    wait = call.number("wait")
    try:
        return client.command(call.hub, "/v2/claim", body)
    except Refused as refused:
        if not wait or refused.reason not in _PASSING:
            raise
        holders = sorted({claim["owner"] for claim in refused.problem.get("conflicts", [])})
    output.message(f"waiting up to {explain.span(wait)} for {', '.join(holders)} … (Ctrl-C ends it)")
    output.settle()
    return _in_line(call, body, wait)


def _in_line(call: Call, body: dict[str, object], wait: float) -> Reply:
    """Wait, and go on waiting where the hub was restarted, which forgets who waits, or lets nobody wait so long."""
    until, lost = time.monotonic() + wait, 0
    while True:
        began = time.monotonic()
        left = max(0.0, until - began)
        try:
            return client.command(call.hub, "/v2/claim", {**body, "wait_s": left}, patience_s=left)
        except HubUnreachable:
            # At once, and then again: there is no hub, and none that could be started.
            lost = lost + 1 if time.monotonic() - began < _PAUSE_S else 0
            if left < _PAUSE_S or lost > 1:
                raise
        except Refused as refused:
            if refused.reason not in _PASSING or until - time.monotonic() < _PAUSE_S:
                raise
        time.sleep(_PAUSE_S)


def _declared(call: Call) -> tuple[str, ...]:
    """The paths of the claim as its tree calls them; none: the whole tree."""
    given = call.texts("paths")
    if given and call.flag("whole"):
        raise UsageError("either paths or --whole-worktree, not both: the whole worktree holds the paths already")
    if not given and not call.flag("whole"):
        raise UsageError("name the paths to claim, or claim all there is: synapse-git claim --whole-worktree")
    here = call.checkout()
    directory = call.directory()
    return scope.declare(here.locate(path, directory) for path in given)


def _task(call: Call, agent: str) -> str:
    """The task asked for; to widen without naming one, the only one there is; else a new one."""
    if task := call.text("task"):
        return task
    if call.flag("add"):
        from synapse_git.cli import target

        found: str = target.only(call, agent)["task_id"]
        return found
    from synapse_git.cli import coinage

    return coinage.task()


def _say(call: Call, reply: Reply, here: Checkout, paths: tuple[str, ...]) -> None:
    if call.json:
        output.raw(reply.raw)
        return
    claim = reply.document
    task = claim["task_id"]
    until = phrase.until(claim, claim["now"])
    output.result(
        f"claimed {phrase.paths(claim)} for task {task} as {claim['owner']} until {until}\n"
        f"when done: {phrase.typed(call, 'release', task)}"
    )
    if "freed" in claim or "besides" in claim:
        from synapse_git.cli import consequence

        consequence.show(call, here, claim)
    if displaced := here.displaced():
        output.message(f"note: {displaced}. Put it back: synapse-git install")
    elif not here.installed():
        output.message("note: the guard is not installed here, so nothing stops others' commits: synapse-git install")
    if bare := _unguarded_submodules(call, here, paths):
        output.message(
            f"note: nothing stops others' commits in submodules without the guard: {phrase.listed(bare)}. "
            f"Guard them too: synapse-git -C {phrase.shell(here.outer.root)} install"
        )
    wanted = call.number("ttl")
    length = claim["lease_expires_at"] - claim["granted_at"]
    if wanted and abs(length - wanted) > 1:
        output.message(f"note: a lease lasts {explain.span(length)} then; that is the limit")
    _doubt(here, paths)


def _doubt(here: Checkout, paths: tuple[str, ...]) -> None:
    """Point out what may not be what was meant; a file to be made is welcome."""
    root = here.outer.root
    missing = [path for path in paths if not os.path.lexists(f"{root}/{path}")]
    if missing and not here.folds():
        output.message(f"note: not there yet: {phrase.listed(missing)}")
        if any(sign in path for path in missing for sign in "*?[") or any(path[0] == ":" for path in missing):
            output.message(
                "note: * ? [ and a leading : stand for themselves in a claim. To hold all of a directory, claim the "
                "directory"
            )
    if links := [path for path in paths if os.path.isdir(f"{root}/{path}") and os.path.islink(f"{root}/{path}")]:
        output.message(
            f"note: a link, which is claimed without the directory it leads to: {phrase.listed(links)}. "
            "To hold what lies there, claim that directory"
        )


def _unguarded_submodules(call: Call, here: Checkout, paths: tuple[str, ...]) -> list[str]:
    """Submodules that the claim reaches into, and whose commits nobody judges."""
    from synapse_git.cli import submodules

    root = here.outer.root
    if not submodules.likely(root):
        return []
    from synapse_git.cli import glance

    inner = {os.path.relpath(one, root): one for one in submodules.roots([root], call.env)}
    reached = {
        path: one
        for path, one in inner.items()
        if not paths or any(scope.covers(path, claimed) or scope.covers(claimed, path) for claimed in paths)
    }
    found = glance.survey(reached.values(), call.env)
    return [path for path, one in reached.items() if not found[one].cover]


VERBS = (
    Verb(
        "claim",
        run,
        summary="Take a lease on paths before you edit them.",
        help="Take a lease on files or directories, so that nobody else's commit can touch them until you release them "
        "or the lease runs out. Several paths are granted together or not at all. Claiming a task you hold already "
        "renews it with the paths given.",
        examples=(
            ("claim src/api", "a directory, under a task id that is made up"),
            ("claim -t login --ttl 2h src/api docs/login.md", "several paths, for two hours"),
            ("claim -t login --add src/db", "widen a task you hold"),
            ("claim --wait 10m src/api", "wait in line for whoever holds it"),
            ("claim --whole-worktree --note 'big rename'", "everything, and say why"),
        ),
        options=(
            Option(
                "task",
                *TASK.names,
                metavar="TASK",
                help="The task's id; without it one is made up and printed.",
                completes="task",
            ),
            Option(
                "ttl",
                "--ttl",
                metavar="TIME",
                convert=span.seconds,
                help="How long the lease lasts: seconds, or 90m, 2h, 1d. An hour if not given.",
            ),
            Option(
                "wait",
                "--wait",
                metavar="TIME",
                convert=span.seconds,
                help="Where others hold it, wait in line for so long. Nothing is reserved meanwhile.",
            ),
            Option("add", "--add", help="Add the paths to a task you hold instead of replacing its paths."),
            Option("shared", "--shared", help="Claim in the tree that all worktrees of the project share."),
            Option("whole", "--whole-worktree", help="Claim all there is; needs no PATH."),
            Option("note", "--note", metavar="TEXT", help="What it is for; others see it when they are refused."),
        ),
        argument=Argument("paths", "PATH", many=True, required=False, convert=raw, completes="file"),
    ),
)
