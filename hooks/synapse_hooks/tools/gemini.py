"""Gemini CLI: ``hooks`` in ``.gemini/settings.json``."""

from __future__ import annotations

import os

from synapse_hooks.tools import occasion
from synapse_hooks.tools.dialect import TIMEOUT_S, Dialect
from synapse_hooks.tools.occasion import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from synapse_hooks.tools.occasion import Occasion


class Gemini(Dialect):
    """Times are milliseconds, and standard output holds the answer and nothing else."""

    name = "gemini"
    moments: ClassVar[dict[str, str]] = {
        "BeforeTool": occasion.BEFORE,
        "AfterTool": occasion.AFTER,
        "SessionStart": occasion.START,
        "SessionEnd": occasion.END,
    }
    files: ClassVar[dict[str, str]] = {"write_file": "file_path", "replace": "file_path"}
    shell = ("run_shell_command",)

    def with_tool(self, found: Occasion, tool: str, given: dict[str, Any]) -> Occasion:
        if tool in self.shell and (where := text(given, "dir_path", "directory")):
            found.cwd = os.path.join(found.cwd, where)
        return super().with_tool(found, tool, given)

    def deny(self, reason: str) -> dict[str, Any]:
        return {"decision": "deny", "reason": reason}

    def tell(self, context: str, event: str) -> dict[str, Any]:
        return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}}

    def entry(self, event: str, command: str) -> dict[str, Any]:
        hook = {"name": f"synapse-git {event}", "type": "command", "command": command, "timeout": TIMEOUT_S * 1000}
        return self.matcher(event) | {"hooks": [hook]}


SPEAKS = Gemini()
