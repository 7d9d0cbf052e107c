"""What a harness reports, whatever dialect it did so in."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from synapse_hooks.tools.stash import Stash
    from synapse_hooks.tools.sweep import Sweep

# Moments.
BEFORE, AFTER, START, OTHER = "before", "after", "start", "other"
TURN_END, SUBAGENT_END, END = "turn end", "subagent end", "end"


class Malformed(ValueError):
    """What came is not what this harness sends."""


class Occasion:
    """One moment of one session.

    ``moment``: one of the above; ``session``, ``subagent``: ids as the harness has them, '' where it gives none;
    ``cwd``: where its tools run; ``paths``: the files that the tool will change or has changed, as the harness names
    them; ``commanded``: they were read off a shell command; ``sweeps``: what that throws away besides; ``harness``:
    whose session it is.
    """

    __slots__ = ("commanded", "cwd", "harness", "moment", "paths", "session", "subagent", "sweeps")

    def __init__(self, harness: str, moment: str, session: str, cwd: str, subagent: str = "") -> None:
        self.harness = harness
        self.moment = moment
        self.session = session
        self.subagent = subagent
        self.cwd = cwd
        self.paths: list[str] = []
        self.sweeps: list[Sweep | Stash] = []
        self.commanded = False

    def edits(self, *paths: str) -> Occasion:
        """With the files of an editing tool, those that were named."""
        self.paths = [path for path in paths if path]
        return self

    def commands(self, command: str) -> Occasion:
        """With the files that a shell command names for certain."""
        from synapse_hooks.tools import command as line

        self.paths, self.sweeps = line.read(command, self.cwd)
        self.commanded = True
        return self


def text(payload: dict[str, Any], *names: str) -> str:
    """The first of these members that is there; '' if none is.

    Raises:
        Malformed: it is no text.
    """
    for name in names:
        value = payload.get(name)
        if value is None:
            continue
        if not isinstance(value, str):
            raise Malformed(f"{name} is no text")
        if value:
            return value
    return ""


def table(payload: dict[str, Any], *names: str) -> dict[str, Any]:
    """The same for an object, which may come as its JSON text; empty if there is none.

    Raises:
        Malformed: it is something else.
    """
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value.startswith("{"):
            from synapse_git import document

            value = document.read(value.encode("utf-8", "surrogatepass"))
        if isinstance(value, dict):
            return value
        if value is not None:
            raise Malformed(f"{name} is no object")
    return {}
