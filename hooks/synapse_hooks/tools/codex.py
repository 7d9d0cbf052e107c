"""Codex: ``hooks`` in ``.codex/hooks.json``, in the shape of Claude Code's; its edits are patches."""

from __future__ import annotations

from synapse_hooks.tools import occasion, patch
from synapse_hooks.tools.claude import Claude

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from synapse_hooks.tools.occasion import Occasion


class Codex(Claude):
    """An answer with a member that it does not know makes the tool run, so there is none but what its schema has."""

    name = "codex"
    note = "Codex runs new hooks once you have trusted them: type /hooks in it."
    moments: ClassVar[dict[str, str]] = {
        "PreToolUse": occasion.BEFORE,
        "PostToolUse": occasion.AFTER,
        "SessionStart": occasion.START,
        "Stop": occasion.TURN_END,  # of a session's end it does not tell
    }
    files: ClassVar[dict[str, str]] = {"apply_patch": "command", "Edit": "file_path", "Write": "file_path"}
    shell = ("Bash",)

    def with_tool(self, found: Occasion, tool: str, given: dict[str, Any]) -> Occasion:
        command = given.get("command")
        if isinstance(command, list) and all(isinstance(word, str) for word in command):
            # The words of a command: a shell's script is the last of them.
            command = command[-1] if command else ""
        if isinstance(command, str) and patch.BEGIN in command and (tool == "apply_patch" or "apply_patch" in command):
            return found.edits(*patch.named(command))
        if tool == "apply_patch":
            return found
        return super().with_tool(found, tool, {**given, "command": command})


SPEAKS = Codex()
