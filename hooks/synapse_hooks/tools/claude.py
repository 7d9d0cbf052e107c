"""Claude Code: ``hooks`` in ``.claude/settings.json``."""

from __future__ import annotations

from synapse_hooks.tools import occasion
from synapse_hooks.tools.dialect import TIMEOUT_S, Dialect
from synapse_hooks.tools.occasion import Occasion, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

_MOVE = "mcp__filesystem__move_file"


class Claude(Dialect):
    """Its own configuration, its own events."""

    name = "claude"
    moments: ClassVar[dict[str, str]] = {
        "PreToolUse": occasion.BEFORE,
        "PostToolUse": occasion.AFTER,
        "SessionStart": occasion.START,
        "SessionEnd": occasion.END,
        "SubagentStop": occasion.SUBAGENT_END,
    }
    files: ClassVar[dict[str, str]] = {
        "Edit": "file_path",
        "MultiEdit": "file_path",
        "Write": "file_path",
        "NotebookEdit": "notebook_path",
        # Of MCP's own server for files, under the name that its instructions give it.
        "mcp__filesystem__write_file": "path",
        "mcp__filesystem__edit_file": "path",
        _MOVE: "source",
    }
    shell = ("Bash",)

    def read(self, payload: dict[str, Any], event: str) -> Occasion:
        found = super().read(payload, event)
        if "cursor_version" in payload:  # which runs these hooks as well, under the ids of its own
            found.harness, found.session = "cursor", text(payload, "conversation_id", "session_id")
        return found

    def with_tool(self, found: Occasion, tool: str, given: dict[str, Any]) -> Occasion:
        if tool == _MOVE:
            return found.edits(text(given, "source"), text(given, "destination"))
        return super().with_tool(found, tool, given)

    def deny(self, reason: str) -> dict[str, Any]:
        return {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": reason,
            }
        }

    def tell(self, context: str, event: str) -> dict[str, Any]:
        return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}}

    def entry(self, event: str, command: str) -> dict[str, Any]:
        return self.matcher(event) | {"hooks": [{"type": "command", "command": command, "timeout": TIMEOUT_S}]}


SPEAKS = Claude()
