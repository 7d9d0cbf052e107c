"""``quarantine list|show|apply``: what was put aside where a holder's content was put back."""

from __future__ import annotations

import os
from contextlib import suppress

from synapse_git import client, explain, quarantine, scope
from synapse_git.cli import output, phrase, table
from synapse_git.cli.verb import Argument, Verb
from synapse_git.errors import CheckoutError, HubUnreachable, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse_git.checkout import Checkout
    from synapse_git.cli.call import Call
    from synapse_git.quarantine import Entry


def show_all(call: Call) -> int:
    """Exit 0. ``--json``: ``{entries}``, oldest first."""
    found = quarantine.entries(call.checkout().git_dir)
    if call.json:
        output.structure({"entries": [entry.document() for entry in found]})
    elif not found:
        output.result("nothing is kept here")
    else:
        rows = [
            (
                entry.name,
                scope.show(entry.path),
                entry.about.get("agent") or "–",
                entry.about.get("owner") or "–",
                explain.moment(entry.about["at"]),
            )
            for entry in found
        ]
        table.show(("NAME", "PATH", "WRITTEN BY", "HELD BY", "KEPT AT"), rows, call.env)
    return 0


def show(call: Call) -> int:
    """Exit 0. ``--json``: the entry; its content is in ``file``."""
    here = call.checkout()
    entry = quarantine.entry(here.git_dir, call.text("name"))
    if call.json:
        output.structure(entry.document())
        return 0
    output.result(f"path:        {scope.show(entry.path)}")
    output.result(f"written by:  {entry.about.get('agent') or 'unknown'}")
    if entry.about.get("owner"):
        output.result(f"held by:     {entry.about['owner']} (task {entry.about['task_id']})")
    output.result(f"kept at:     {explain.moment(entry.about['at'])}")
    output.result(f"content:     {entry.file if entry.about['sha256'] else 'none, the file was gone'}")
    if difference := _difference(here, entry):
        output.result("\n" + difference)
    output.result(f"\nput it in place: synapse-git quarantine apply {entry.name}")
    return 0


def apply(call: Call) -> int:
    """Exit 0 once the content stands where it stood; what it takes the place of is kept in turn.

    Refusals: SCOPE_CONFLICT where another holds the path, to whom the watcher would give its content back at once.
    """
    here = call.checkout()
    entry = quarantine.entry(here.git_dir, call.text("name"))
    content = entry.found()
    if content is None:
        raise CheckoutError(f"in {entry.name} the file was gone. To take it away: rm {phrase.shell(entry.path)}")
    about = {"agent": call.agent()}
    try:
        digest, mode = quarantine.standing(here.root, entry.path)
        _announce(call, here, entry)
        kept = quarantine.replace(here.git_dir, here.root, entry.path, content, mode, expected=digest, about=about)
    except (quarantine.Doubt, OSError) as doubt:
        raise CheckoutError(f"{scope.show(entry.path)} is left as it is: {doubt}") from doubt
    if call.json:
        output.structure({"applied": entry.name, "path": scope.to_wire(entry.path), "kept": kept.name})
    else:
        was = f"; what stood there is kept as {kept.name}" if digest else ""
        output.result(f"{scope.show(entry.path)} is as it was kept in {entry.name}{was}")
    return 0


def _announce(call: Call, here: Checkout, entry: Entry) -> None:
    """Whoever applies it writes it, so that no watcher takes it for the doing of its first author.

    Raises:
        Refused: it is not for this agent to write there.
    """
    path = here.spell(entry.path)
    edits = [{"path": scope.to_wire(path), "sha256": entry.about["sha256"]}]
    body = {"agent": call.agent(), "namespace": here.namespace(), "worktree": here.tree(), "edits": edits}
    with suppress(HubUnreachable):  # then nobody watches
        verdict = client.judge(call.hub, call.agent(), here.namespace(), here.tree(), [path]).document
        if verdict["verdict"] != "allow":
            raise Refused(
                {"fix": f"Claim it first: synapse-git claim --wait 10m {phrase.shell(entry.path)}", **verdict}
            )
        client.command(call.hub, "/v2/edits", body)


def _difference(here: Checkout, entry: Entry) -> str:
    """From what stands there now to what is kept, if both are text."""
    import difflib

    try:
        with open(os.fsencode(here.root) + b"/" + scope.to_bytes(entry.path), "rb") as file:
            now = file.read().decode()
        kept = (entry.found() or b"").decode()
    except (OSError, UnicodeDecodeError):
        return ""
    path = scope.show(entry.path)
    lines = difflib.unified_diff(now.splitlines(), kept.splitlines(), path, f"{path} ({entry.name})", lineterm="")
    return "\n".join(lines)


_NAME = Argument("name", "NAME")

VERBS = (
    Verb(
        "quarantine list",
        show_all,
        summary="What the watcher put aside when it put a holder's content back.",
        help="List what is kept of this worktree: content that others had written into a live scope before the watcher "
        "put the holder's back, and content that was replaced by applying such an entry.",
        examples=(("quarantine list", "oldest first"),),
    ),
    Verb(
        "quarantine show",
        show,
        summary="One entry: who, when, and how it differs from what stands there now.",
        help="Show one entry, and the difference from what stands in its place now.",
        examples=(("quarantine show 20260814-101502-1f2e3d", "one entry"),),
        argument=_NAME,
    ),
    Verb(
        "quarantine apply",
        apply,
        summary="Put the kept content in place; what it replaces is kept in turn.",
        help="Put the content of an entry where it was written. What stands there now becomes an entry of its own, so "
        "nothing is lost by it. The entry stays. It is refused where another agent holds the path.",
        examples=(("quarantine apply 20260814-101502-1f2e3d", "and see what it replaced: quarantine list"),),
        argument=_NAME,
    ),
)
