"""A coding agent as far as its hooks can tell: it runs what its configuration says, with what it was seen to send."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from synapse_git import equipment
from tests.box import Box, Result
from tests.tools import answers

PAYLOADS = Path(__file__).resolve().parent / "payloads"


class Session:
    """One session of ``harness`` in ``cwd``, whose configuration lies in ``project``."""

    def __init__(self, box: Box, harness: str, name: str, project: Path, *, cwd: Path | None = None) -> None:
        self.box = box
        self.harness = harness
        self.name = name
        self.cwd = cwd or project
        self.env: dict[str, str] = {}
        self._project = project
        self._file = project / equipment.PLACES[harness].project

    def payload(self, kind: str, **values: str) -> dict[str, Any]:
        """A recorded one, with the values of this test in it."""
        text = (PAYLOADS / self.harness / f"{kind}.json").read_text()
        for key, value in ({"session": self.name, "cwd": str(self.cwd)} | values).items():
            text = text.replace(f"${key.upper()}", json.dumps(value)[1:-1])
        found: dict[str, Any] = json.loads(text)
        return found

    def fire(self, event: str, payload: Any, tool: str = "") -> list[Result]:
        """How each hook ended that the configuration has for ``event`` and ``tool``."""
        hooks = json.loads(self._file.read_text())["hooks"].get(event, [])
        raw = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        return [
            self.box.run(*_shell(hook), cwd=self.cwd, stdin=raw, env=self.env)
            for entry in hooks
            if not tool or re.fullmatch(entry.get("matcher", ".*"), tool)
            for hook in entry.get("hooks", [entry])
        ]

    def say(self, event: str, kind: str, **values: str) -> str:
        """What the hooks of ``event`` answer to the recorded payload ``kind``: a reason, a context, or ''."""
        payload = self.payload(kind, **values)
        ended = self.fire(event, payload, str(payload.get("tool_name") or payload.get("toolName") or ""))
        said = []
        for one in ended:
            assert one.code == 0, one.text
            said.append(answers.checked(self.harness, event, one.out))
        return "\n".join(said)


def _shell(hook: dict[str, Any]) -> tuple[str, ...]:
    """How the harness starts what it was told to."""
    return ("bash", "-c", hook["bash"]) if "bash" in hook else ("sh", "-c", hook["command"])
