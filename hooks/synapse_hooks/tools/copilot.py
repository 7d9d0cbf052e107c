"""Copilot CLI: a file of its own in ``.github/hooks``."""

from __future__ import annotations

from synapse_hooks.tools import occasion
from synapse_hooks.tools.dialect import TIMEOUT_S, Dialect
from synapse_hooks.tools.occasion import Occasion, table, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar


class Copilot(Dialect):
    """Its hooks see every tool, and what a session's start answers it ignores."""

    name = "copilot"
    silent = True
    note = "Some versions read hooks of the user only. For these: synapse-git agents install copilot --user"
    root: ClassVar[dict[str, Any]] = {"version": 1}
    moments: ClassVar[dict[str, str]] = {
        "preToolUse": occasion.BEFORE,
        "postToolUse": occasion.AFTER,
        "sessionStart": occasion.START,
        "sessionEnd": occasion.END,
    }
    files: ClassVar[dict[str, str]] = dict.fromkeys(("edit", "create", "write", "str_replace_editor"), "path file_path")
    shell = ("bash",)

    def read(self, payload: dict[str, Any], event: str) -> Occasion:
        session = text(payload, "sessionId", "session_id")
        found = Occasion(self.name, self.moments.get(event, occasion.OTHER), session, text(payload, "cwd"))
        tool = text(payload, "toolName", "tool_name")
        if tool not in self.files and tool not in self.shell:
            return found
        return self.with_tool(found, tool, table(payload, "toolArgs", "tool_input"))

    def deny(self, reason: str) -> dict[str, Any]:
        return {"permissionDecision": "deny", "permissionDecisionReason": reason}

    def tell(self, context: str, event: str) -> dict[str, Any]:
        del context, event
        return {}

    def entry(self, event: str, command: str) -> dict[str, Any]:
        del event
        return {"type": "command", "bash": command, "timeoutSec": TIMEOUT_S}


SPEAKS = Copilot()
