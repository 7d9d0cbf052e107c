"""Let a change through or stop it: the verdict, the override, and what is said about either."""

from __future__ import annotations

from synapse_git.errors import HubUnreachable, Refused
from synapse_hooks import verdict
from synapse_hooks.run import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from synapse_hooks.refusal import Circumstances
    from synapse_hooks.verdict import Change


def passes(change: Change, circumstances: Callable[[], Circumstances], env: Mapping[str, str]) -> bool:
    """May ``change`` go in? If not, its author has been told why and how to go on."""
    try:
        if remark := verdict.ask(change, env):
            say(remark)
        return True
    except (Refused, HubUnreachable) as refused:
        return _overridden(change, refused, env) or _stop(refused, circumstances())


def _overridden(change: Change, refused: Refused | HubUnreachable, env: Mapping[str, str]) -> bool:
    from synapse_hooks import override

    reason = override.wanted(env)
    if not reason:
        return False
    try:
        where = override.record(change, reason, env)
    except OSError as error:
        say(f"the override cannot be recorded ({error.strerror}: {error.filename}), so it does not count")
        return False
    say(f"{refused.reason} is overridden by {override.VARIABLE}, and {where}")
    return True


def _stop(refused: Refused | HubUnreachable, around: Circumstances) -> bool:
    from synapse_hooks import refusal

    say(refusal.denied(refused.problem, around) if isinstance(refused, Refused) else refusal.unknown(refused, around))
    return False
