"""Claude Code: ``hooks`` in ``.claude/settings.json``."""

from __future__ import annotations

from synapse_hooks.tools import occasion
from synapse_hooks.tools.dialect import TIMEOUT_S, Dialect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar


class Claude(Dialect):
    """Its own configuration, its own events."""

    program = "claude"
    project_file = ".claude/settings.json"
    user_file = ("CLAUDE_CONFIG_DIR", ".claude", "settings.json")
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
    }
    shell = ("Bash",)

    def deny(self, reason: str) -> dict[str, Any]:
        return {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": reason,
            }
        }

    def tell(self, context: str) -> dict[str, Any]:
        return {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": context}}

    def entry(self, event: str, command: str) -> dict[str, Any]:
        return self.matcher(event) | {"hooks": [{"type": "command", "command": command, "timeout": TIMEOUT_S}]}


SPEAKS = Claude()
