"""Which verbs there are, and in which module each is declared. Loads a module only when its verb is asked for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from synapse_git.cli.verb import Verb

# Heading in the help: {verb: module of this package}.
GROUPS = {
    "Work": {
        "claim": "claim",
        "check": "check",
        "renew": "renew",
        "release": "release",
        "handoff": "handoff",
        "update": "update",
        "checkpoint": "checkpoint",
        "heartbeat": "heartbeat",
    },
    "Talk": {
        "send": "send",
        "inbox": "inbox",
        "ack": "ack",
        "note add": "note",
        "note list": "note",
        "resource offer": "resource",
        "resource list": "resource",
        "resource withdraw": "resource",
    },
    "Names": {
        "session run": "session",
        "names list": "names",
        "names reclaim": "names",
    },
    "Look": {
        "status": "status",
        "show": "show",
        "log": "log",
        "watch": "watch",
        "quarantine list": "quarantine",
        "quarantine show": "quarantine",
        "quarantine apply": "quarantine",
    },
    "Set up": {
        "install": "install",
        "uninstall": "install",
        "doctor": "doctor",
        "demo": "demo",
        "completion": "completion",
    },
    "Agents": {
        "agents install": "agents",
        "agents uninstall": "agents",
        "agents status": "agents",
        "agents print": "agents",
        "agents instructions": "agents",
    },
    "Team": {
        "team init": "team",
        "team join": "team",
        "team status": "team",
        "team leave": "team",
        "team remove": "team",
        "team transfer": "team",
    },
    "Hub": {
        "hub start": "hub",
        "hub stop": "hub",
        "hub status": "hub",
        "hub metrics": "hub",
        "hub run": "hub",
        "hub verify": "archive",
        "hub export": "archive",
        "hub import": "archive",
        "hub install-service": "service",
    },
}
# First words of two-word verbs, and what they are about.
FAMILIES = {
    "agents": "Have coding agents ask before they edit, each in its own dialect.",
    "note": "The board on which everyone says how far they are.",
    "resource": "What agents offer each other for a while.",
    "session": "Have a name to yourself for as long as a command runs.",
    "names": "Which names belong to sessions, and how to take one back.",
    "team": "Have one hub grant in a project, on whichever machine its agents work.",
    "hub": "Start, stop and inspect the one process on this machine that grants claims.",
    "quarantine": "What was put aside where a holder's content was put back.",
}


def names() -> list[str]:
    """Every verb, in the order of the help."""
    return [name for group in GROUPS.values() for name in group]


def load(name: str) -> Verb | None:
    """The declaration of ``name``, or None if there is no such verb."""
    for group in GROUPS.values():
        if module := group.get(name):
            return _declared(module)[name]
    return None


def verbs() -> list[Verb]:
    """Every declaration, in the order of the help."""
    return [_declared(module)[name] for group in GROUPS.values() for name, module in group.items()]


def _declared(module: str) -> dict[str, Verb]:
    loaded = __import__(f"synapse_git.cli.{module}", fromlist=["VERBS"])
    return {verb.name: verb for verb in loaded.VERBS}
