"""Cursor: ``.cursor/hooks.json``."""

from __future__ import annotations

import os

from synapse_hooks.tools import occasion
from synapse_hooks.tools.dialect import TIMEOUT_S, Dialect
from synapse_hooks.tools.occasion import Malformed, Occasion, table, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

_PATH = "file_path path target_file target_notebook"


class Cursor(Dialect):
    """A conversation is a session; it may have several roots."""

    name = "cursor"
    silent = True
    root: ClassVar[dict[str, Any]] = {"version": 1}
    moments: ClassVar[dict[str, str]] = {
        "preToolUse": occasion.BEFORE,
        "postToolUse": occasion.AFTER,
        "sessionStart": occasion.START,
        "sessionEnd": occasion.END,
    }
    files: ClassVar[dict[str, str]] = dict.fromkeys(
        ("Write", "Edit", "MultiEdit", "StrReplace", "Delete", "EditNotebook", "NotebookEdit", "search_replace"), _PATH
    )
    shell = ("Shell",)

    def read(self, payload: dict[str, Any], event: str) -> Occasion:
        session = text(payload, "conversation_id", "session_id")
        found = Occasion(self.name, self.moments.get(event, occasion.OTHER), session, self._cwd(payload))
        return self.with_tool(found, text(payload, "tool_name"), table(payload, "tool_input"))

    def _cwd(self, payload: dict[str, Any]) -> str:
        roots = payload.get("workspace_roots") or []
        if not isinstance(roots, list) or not all(isinstance(root, str) for root in roots):
            raise Malformed("workspace_roots is no list of texts")
        return text(payload, "cwd") or (roots[0] if roots else "")

    def with_tool(self, found: Occasion, tool: str, given: dict[str, Any]) -> Occasion:
        if tool in self.shell and (where := text(given, "working_directory", "cwd")):
            found.cwd = os.path.join(found.cwd, where)
        return super().with_tool(found, tool, given)

    def deny(self, reason: str) -> dict[str, Any]:
        return {"permission": "deny", "user_message": reason.partition("\n")[0], "agent_message": reason}

    def tell(self, context: str, event: str) -> dict[str, Any]:
        del event
        return {"additional_context": context}

    def entry(self, event: str, command: str) -> dict[str, Any]:
        return {"command": command, "timeout": TIMEOUT_S} | self.matcher(event)


SPEAKS = Cursor()
