"""One vocabulary for all harnesses, so that a test says once what holds for each."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from synapse_git import equipment
from tests.box import Box
from tests.tools.harness import Session

EVENTS = {
    "claude": ("PreToolUse", "PostToolUse", "SessionStart", "SessionEnd"),
    "codex": ("PreToolUse", "PostToolUse", "SessionStart", "Stop"),
    "gemini": ("BeforeTool", "AfterTool", "SessionStart", "SessionEnd"),
    "cursor": ("preToolUse", "postToolUse", "sessionStart", "sessionEnd"),
    "copilot": ("preToolUse", "postToolUse", "sessionStart", "sessionEnd"),
}
NODE = shutil.which("node")
HARNESSES = [*EVENTS, *(["opencode"] if NODE else [])]
KINDS = {
    "claude": ("edit", "write", "notebook"),
    "codex": ("edit", "patch"),
    "gemini": ("edit", "write"),
    "cursor": ("edit", "delete"),
    "copilot": ("edit", "create"),
    "opencode": ("edit", "patch"),
}
"""The recorded payloads of editing tools."""


class Agent(Session):
    """What it is told; '' where it is told nothing."""

    def edit(self, path: Path | str, kind: str = "edit") -> str:
        return self.say(EVENTS[self.harness][0], kind, path=str(path))

    def command(self, line: str) -> str:
        return self.say(EVENTS[self.harness][0], "shell", command=line)

    def edited(self, path: Path | str) -> str:
        return self.say(EVENTS[self.harness][1], "after", path=str(path))

    def start(self) -> str:
        return self.say(EVENTS[self.harness][2], "start")

    def end(self) -> str:
        return self.say(EVENTS[self.harness][3], "end")


class OpenCode(Agent):
    """Its plugin, called as it calls it."""

    def call(self, *kinds: str, **values: str) -> list[dict[str, object]]:
        """What came of each of the recorded calls, made one after the other."""
        plugin = self.box.home / "plugin.mjs"
        shutil.copy(self._project / equipment.PLACES["opencode"].project, plugin)
        calls = json.dumps([self.payload(kind, **values) for kind in kinds]).encode()
        driver = Path(__file__).parent / "plugin.mjs"
        ended = self.box.run(NODE or "", driver, plugin, self.cwd, stdin=calls, cwd=self.cwd, env=self.env)
        found: list[dict[str, object]] = json.loads(ended.out)
        return found

    def edit(self, path: Path | str, kind: str = "edit") -> str:
        return str(self.call(kind, path=str(path))[0].get("thrown", ""))

    def command(self, line: str) -> str:
        return str(self.call("shell", command=line)[0].get("thrown", ""))

    def edited(self, path: Path | str) -> str:
        return str(self.call("edit", "after", path=str(path))[1].get("thrown", ""))

    def start(self) -> str:
        return ""

    def end(self) -> str:
        return str(self.call("end")[0].get("thrown", ""))


def agent(box: Box, harness: str, name: str, project: Path, *, cwd: Path | None = None) -> Agent:
    """A session of ``harness``."""
    return (OpenCode if harness == "opencode" else Agent)(box, harness, name, project, cwd=cwd)
