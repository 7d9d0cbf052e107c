"""What a harness's adapter has to know: how it reports, how it is answered, and how its hooks are configured."""

from __future__ import annotations

from synapse_hooks.tools import occasion
from synapse_hooks.tools.occasion import Occasion, table, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

# Seconds for one call: long enough for a hub that has to be started first.
TIMEOUT_S = 10


class Dialect:
    """What several harnesses share: one object on standard input, one on standard output.

    ``name``: of the harness; ``root``: what else its configuration must say; ``script``: the plugin that is its
    configuration, '' where that is a list of hooks; ``note``: what is left to its user after an installation;
    ``moments``: its events; ``files``: its editing tools and which arguments may name the file; ``shell``: its tools
    that run a command; ``silent``: its shell does not say which session it belongs to.
    """

    name: str
    script = ""
    note = ""
    silent = False
    root: ClassVar[dict[str, Any]] = {}
    moments: ClassVar[dict[str, str]]
    files: ClassVar[dict[str, str]]
    shell: tuple[str, ...]

    def read(self, payload: dict[str, Any], event: str) -> Occasion:
        """What the payload of ``event`` says. Raises: Malformed."""
        found = Occasion(
            self.name,
            self.moments.get(event, occasion.OTHER),
            text(payload, "session_id"),
            text(payload, "cwd"),
            text(payload, "agent_id"),
        )
        return self.with_tool(found, text(payload, "tool_name"), table(payload, "tool_input"))

    def with_tool(self, found: Occasion, tool: str, given: dict[str, Any]) -> Occasion:
        """``found`` with the files that the tool changes. Raises: Malformed."""
        if tool in self.files:
            return found.edits(text(given, *self.files[tool].split()))
        return found.commands(text(given, "command")) if tool in self.shell else found

    def deny(self, reason: str) -> dict[str, Any]:
        """The answer that stops the tool; an empty one lets it run, or not, as it would have without us."""
        raise NotImplementedError

    def tell(self, context: str, event: str) -> dict[str, Any]:
        """The answer to ``event`` that gives a session something to know, empty where it takes none."""
        raise NotImplementedError

    def entry(self, event: str, command: str) -> dict[str, Any]:
        """What stands in the configuration's ``hooks`` under ``event``."""
        raise NotImplementedError

    def matcher(self, event: str) -> dict[str, Any]:
        """Which tools it is for; nothing where the event is not about tools."""
        tools = {occasion.BEFORE: (*self.files, *self.shell), occasion.AFTER: tuple(self.files)}.get(
            self.moments[event]
        )
        return {"matcher": "|".join(tools)} if tools else {}
