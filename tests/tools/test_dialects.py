"""Payloads of any shape: understood, or refused as malformed, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse_hooks.tools import hook, patch
from synapse_hooks.tools.dialect import Dialect

_IDS = ("session_id", "sessionId", "conversation_id", "agent_id", "cwd", "workspace_roots", "cursor_version")
_TOOLS = ("tool_name", "toolName", "tool_input", "toolArgs", "file_path", "path", "filePath", "command", "patchText")
NAMES = st.sampled_from((*_IDS, *_TOOLS))
WORDS = st.sampled_from(["", "Edit", "Bash", "apply_patch", "write_file", "edit", "bash", "/r/a", "{", '{"path": 1}'])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("harness", hook.HARNESSES)
@given(payload=st.dictionaries(NAMES, VALUES, max_size=6), pick=st.integers(0, 9))
def test_a_payload_of_any_shape_is_read_or_malformed(harness: str, payload: dict[str, Any], pick: int) -> None:
    """Nothing but a ValueError comes out, and every path is text that names something."""
    speaks: Dialect = hook.dialect(harness)
    events = [*speaks.moments, "unheard of"]
    try:
        found = speaks.read(payload, events[pick % len(events)])
    except ValueError:
        return
    assert all(isinstance(path, str) and path for path in found.paths)


@given(st.text(alphabet="*+- AddUpteFil:\nab", max_size=80))
def test_any_text_may_be_a_patch(text: str) -> None:
    """Names are what follows the marks, to the end of the line."""
    assert all(name and "\n" not in name for name in patch.named(patch.BEGIN + text))
