"""OpenCode: a plugin, which asks as the other harnesses do and throws where the answer is a reason."""

from __future__ import annotations

import os

from synapse_hooks.tools import occasion, patch
from synapse_hooks.tools.dialect import Dialect
from synapse_hooks.tools.occasion import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from synapse_hooks.tools.occasion import Occasion


class OpenCode(Dialect):
    """What the plugin sends and takes is ours."""

    name = "opencode"
    script = "opencode.js"
    moments: ClassVar[dict[str, str]] = {
        "tool.execute.before": occasion.BEFORE,
        "tool.execute.after": occasion.AFTER,
        "session.deleted": occasion.END,
        "session.idle": occasion.TURN_END,
    }
    files: ClassVar[dict[str, str]] = dict.fromkeys(("edit", "multiedit", "write"), "filePath path")
    shell = ("bash",)

    def read(self, payload: dict[str, Any], event: str) -> Occasion:
        found = super().read(payload, event)
        if found.moment == occasion.TURN_END and found.subagent:
            found.moment = occasion.SUBAGENT_END  # which has one turn only
        return found

    def with_tool(self, found: Occasion, tool: str, given: dict[str, Any]) -> Occasion:
        if tool in ("patch", "apply_patch"):
            return found.edits(*patch.named(text(given, "patchText", "patch")))
        if tool in self.shell and (where := text(given, "workdir")):
            found.cwd = os.path.join(found.cwd, where)
        return super().with_tool(found, tool, given)

    def deny(self, reason: str) -> dict[str, Any]:
        return {"reason": reason}

    def tell(self, context: str, event: str) -> dict[str, Any]:
        del context, event
        return {}


SPEAKS = OpenCode()
