"""``agents``: the hooks of coding agents, by which an edit is refused before it is made."""

from __future__ import annotations

from synapse_git import equipment
from synapse_git.cli import guard, output, table
from synapse_git.cli.verb import Argument, Option, Verb
from synapse_git.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from synapse_git.cli.call import Call

_NAMES = Argument("names", "NAME", many=True, completes="agent")
_ALL = Argument("names", "NAME", many=True, required=False, completes="agent")
_SCOPES = (
    Option("project", "--project", help="In this checkout's own configuration of the agent (the default)."),
    Option("user", "--user", help="In the user's configuration of the agent, for all projects."),
)


def install(call: Call) -> int:
    """Exit 0: the hooks are in. Doing it again changes nothing."""
    return _changed(call, "install", "asks before it edits", "asked before it edits already")


def uninstall(call: Call) -> int:
    """Exit 0: the hooks are out and the configuration is as before."""
    return _changed(call, "uninstall", "asks no more before it edits", "had no hooks of ours")


def _changed(call: Call, verb: str, done: str, nothing: str) -> int:
    report = _act(call, verb)
    if call.json:
        output.structure(report)
        return 0
    for agent in report["agents"]:
        copy = f" (as it was: {agent['copy']})" if agent["copy"] else ""
        output.result(f"{agent['name']} {done if agent['changed'] else nothing}: {agent['file']}{copy}")
        if note := agent.get("note"):
            output.result(f"  {note}")
    here = call.checkout_if_any()
    if verb == "install" and here and not here.installed():
        output.message("note: this repository has no guard, and without it no edit is judged: synapse-git install")
    return 0


def status(call: Call) -> int:
    """Exit 0, however they stand."""
    reports = [_act(call, "status", scope) for scope in _scopes(call)]
    agents = [agent for report in reports for agent in report["agents"]]
    if call.json:
        output.structure({"agents": agents})
        return 0
    rows = [
        (
            agent["name"],
            "yes" if agent["found"] else "not on PATH",
            agent["scope"],
            agent["state"] + (f": {agent['detail']}" if agent["detail"] else ""),
            agent["file"],
        )
        for agent in agents
    ]
    table.show(("AGENT", "THERE", "SCOPE", "HOOKS", "CONFIGURATION"), rows, call.env)
    return 0


def show(call: Call) -> int:
    """Exit 0: printed what `install` would put where."""
    report = _act(call, "print")
    if call.json:
        output.structure(report)
        return 0
    for agent in report["agents"]:
        output.message(f"{agent['name']}, in {agent['file']}:")
        output.result(agent["text"].rstrip("\n"))
    return 0


def instructions(call: Call) -> int:
    """Exit 0: printed."""
    if call.json:
        output.structure({"instructions": _INSTRUCTIONS})
    else:
        output.result(_INSTRUCTIONS)
    return 0


def _scopes(call: Call) -> list[str]:
    if not call.flag("project") and not call.flag("user"):
        return ["project", "user"] if call.checkout_if_any() else ["user"]
    return [scope for scope in ("project", "user") if call.flag(scope)]


def _act(call: Call, verb: str, scope: str = "") -> dict[str, Any]:
    if not scope:
        if call.flag("project") and call.flag("user"):
            raise UsageError("--project or --user, one of them")
        scope = "user" if call.flag("user") else "project"
    return guard.tools([verb, *call.texts("names"), "--scope", scope, "--cwd", call.directory()], call.env)


_INSTRUCTIONS = """\
## Others work in this checkout

- Files that another agent holds are not yours to change. `synapse-git status` says who holds what until when.
- Before you edit, `synapse-git claim PATH… -t TASK`. Edit only what it granted; `--note` tells others what you do.
- Where your tools ask by themselves, an edit of a free file claims it for you; a refusal names the holder.
- Refused? Take other work, or wait: `synapse-git claim --wait 10m PATH`. Do not go round it with another tool.
- `synapse-git check PATH…` asks without claiming. Exit status 1 means held by another.
- Commit what is done, in small commits: claims that your edits took go back with it.
- Give back what you claimed by name: `synapse-git release`. Give it to another: `synapse-git handoff AGENT`.
- Through a long pause: `synapse-git heartbeat`. SYNAPSE_OVERRIDE is for people to ask for, never for you to try."""

_WHICH = f"Names: {', '.join(equipment.PLACES)}."

VERBS = (
    Verb(
        "agents install",
        install,
        summary="Have coding agents ask before they edit.",
        help="Put hooks into the configuration of coding agents: from then on an edit of what another agent holds is "
        "refused before it is made, and what is free is claimed for the session. What else the configuration holds "
        f"stays as it is, to the byte. {_WHICH}",
        argument=_NAMES,
        options=_SCOPES,
        examples=(
            ("agents install claude", "for whoever works in this checkout"),
            ("agents install claude --user", "for all your projects; only those with the guard are concerned"),
        ),
    ),
    Verb(
        "agents uninstall",
        uninstall,
        summary="Take these hooks out again.",
        help=f"Take our hooks out of the configuration of coding agents and leave the rest byte for byte. {_WHICH}",
        argument=_NAMES,
        options=_SCOPES,
        examples=(("agents uninstall claude", "from this checkout's configuration"),),
    ),
    Verb(
        "agents status",
        status,
        summary="Which coding agents have them.",
        help="Say of each coding agent whether it is there and whether its hooks are installed, of another version, "
        "missing, in a file that is broken, or kept from running by a setting, and by which.",
        argument=_ALL,
        options=_SCOPES,
        examples=(("agents status", "of all, for this project and for you"),),
    ),
    Verb(
        "agents print",
        show,
        summary="What installing would put where.",
        help=f"Print the hooks that `agents install` puts into a configuration, for whoever keeps it by hand. {_WHICH}",
        argument=_NAMES,
        options=_SCOPES,
        examples=(("agents print claude", "what goes into .claude/settings.json"),),
    ),
    Verb(
        "agents instructions",
        instructions,
        summary="Ten lines for AGENTS.md.",
        help="Print what to tell an agent, for AGENTS.md, CLAUDE.md or whatever it reads.",
        examples=(("agents instructions >>AGENTS.md", "once in a project"),),
    ),
)
