"""What each harness takes for an answer, field by field: an unknown one makes some of them run the tool."""

from __future__ import annotations

from typing import Literal

import msgspec


class _Exact(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """No other member than these."""


class ClaudeDenial(_Exact):
    hook_event_name: Literal["PreToolUse"]
    permission_decision: Literal["deny"]
    permission_decision_reason: str


class ClaudeContext(_Exact):
    hook_event_name: Literal["SessionStart", "PostToolUse", "AfterTool"]
    additional_context: str


class ClaudeBefore(_Exact):
    hook_specific_output: ClaudeDenial | None = None


class ClaudeTold(_Exact):
    hook_specific_output: ClaudeContext | None = None


class CodexBefore(ClaudeBefore):
    """The members of its schema that are ours; it has others that change what it does."""


class GeminiBefore(_Exact):
    decision: Literal["deny"] | None = None
    reason: str = ""


class CursorBefore(_Exact, rename=None):
    permission: Literal["deny"] | None = None
    user_message: str = ""
    agent_message: str = ""


class CursorTold(_Exact, rename=None):
    additional_context: str = ""


class CopilotBefore(_Exact):
    permission_decision: Literal["deny"] | None = None
    permission_decision_reason: str = ""


class Nothing(_Exact):
    """The empty object."""


ANSWERS: dict[str, dict[str, type[_Exact]]] = {
    "claude": {"PreToolUse": ClaudeBefore, "SessionStart": ClaudeTold, "PostToolUse": ClaudeTold},
    "codex": {"PreToolUse": CodexBefore, "SessionStart": ClaudeTold, "PostToolUse": ClaudeTold},
    "gemini": {"BeforeTool": GeminiBefore, "SessionStart": ClaudeTold, "AfterTool": ClaudeTold},
    "cursor": {"preToolUse": CursorBefore, "sessionStart": CursorTold, "postToolUse": CursorTold},
    "copilot": {"preToolUse": CopilotBefore},
}


def checked(harness: str, event: str, raw: str) -> str:
    """The reason or the context in an answer; '' if it has none. Raises where the harness would not take it."""
    answer = msgspec.json.decode(raw, type=ANSWERS[harness].get(event, Nothing))
    match answer:
        case ClaudeBefore(hook_specific_output=ClaudeDenial(permission_decision_reason=text)):
            return text
        case ClaudeTold(hook_specific_output=ClaudeContext(additional_context=text)):
            return text
        case GeminiBefore(decision="deny", reason=text) | CursorBefore(permission="deny", agent_message=text):
            return text
        case CopilotBefore(permission_decision="deny", permission_decision_reason=text):
            return text
        case CursorTold(additional_context=text):
            return text
    assert raw.strip() == "{}"
    return ""
