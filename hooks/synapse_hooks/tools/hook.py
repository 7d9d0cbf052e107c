"""One call of a coding agent's hook: read what it reports, do what is due, answer in its dialect.

Whatever cannot be understood passes, with a line on standard error: an agent that is locked out of its tools cannot
even be repaired. The commit is judged in any case.
"""

from __future__ import annotations

import os

from synapse_git import document
from synapse_git.errors import SynapseError
from synapse_hooks.run import say
from synapse_hooks.tools import occasion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from synapse_hooks.tools.dialect import Dialect
    from synapse_hooks.tools.occasion import Occasion

HARNESSES = ("claude", "codex", "gemini", "cursor", "copilot", "opencode")
PASSED, NOT_UNDERSTOOD = 0, 1
# Some shells and runtimes begin each text in UTF-8 with it.
_MARK = b"\xef\xbb\xbf"


def dialect(harness: str) -> Dialect:
    """That of one of `HARNESSES`, from the module of its name."""
    found: Dialect = __import__(f"synapse_hooks.tools.{harness}", fromlist=["SPEAKS"]).SPEAKS
    return found


def main(harness: str = "", event: str = "", *_: str) -> int:
    """The exit status. The answer went to standard output: an empty object lets the tool run as it would have."""
    if harness not in HARNESSES:
        say(f"there is no hook for {harness!r}; the tool runs unchecked. See: synapse-git agents status")
        return NOT_UNDERSTOOD
    speaks = dialect(harness)
    try:
        payload = document.read(_read_all().removeprefix(_MARK))
        if not isinstance(payload, dict):
            raise occasion.Malformed("not an object")
        found = speaks.read(payload, event)
    except (ValueError, RecursionError) as error:
        say(f"what {harness} sent for {event or 'its hook'} cannot be understood ({error}); the tool runs unchecked")
        return NOT_UNDERSTOOD
    try:
        answer = _follow(speaks, found, event)
    except SynapseError as error:
        say(f"{error}\nThis could not be checked; the commit will be")
        answer = {}
    _print(document.write(answer))
    return PASSED


def _follow(speaks: Dialect, found: Occasion, event: str) -> dict[str, Any]:
    if speaks.silent and found.session and found.moment in (occasion.BEFORE, occasion.START):
        from synapse_git import ancestry, identity

        ancestry.note(identity.of_session(found.harness, found.session, "", os.environ, ""), os.environ)
    if found.moment == occasion.BEFORE and (found.paths or found.sweeps):
        from synapse_hooks.tools import edit

        reason = edit.objection(found, os.environ)
        return speaks.deny(reason) if reason else {}
    if found.moment == occasion.AFTER and found.paths:
        from synapse_hooks.tools import mention, report

        waiting = report.send(found, os.environ)
        return speaks.tell(mention.text(waiting), event) if waiting else {}
    if found.moment == occasion.START:
        from synapse_hooks.tools import session

        news = session.news(found, os.environ)
        return speaks.tell(news, event) if news else {}
    if found.moment in (occasion.END, occasion.SUBAGENT_END, occasion.TURN_END):
        from synapse_hooks.tools import session

        (session.pause if found.moment == occasion.TURN_END else session.end)(found, os.environ)
    return {}


def _read_all() -> bytes:
    parts = []
    while part := os.read(0, 262144):
        parts.append(part)
    return b"".join(parts)


def _print(text: str) -> None:
    rest = (text + "\n").encode()
    while rest:
        rest = rest[os.write(1, rest) :]
