"""Let a change through or stop it: the verdict, the override, and what is said about either."""

from __future__ import annotations

from synapse_git import binding
from synapse_git.errors import HubUnreachable, Refused
from synapse_hooks import verdict
from synapse_hooks.run import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from synapse_git.checkout import Checkout
    from synapse_git.policy import Policy
    from synapse_hooks.refusal import Circumstances
    from synapse_hooks.run import Run
    from synapse_hooks.verdict import Change
    from synapse_hooks.waiver import Waiver


def passes(
    change: Change, circumstances: Callable[[], Circumstances], policy: Policy | None, run: Run, here: Checkout
) -> bool:
    """May ``change`` go in? If not, its author has been told why and how to go on. No policy: the defaults hold."""
    refused = objection(change, policy, run.env, here, run.parent)
    return refused is None or _stop(refused, circumstances(), run.env)


def objection(
    change: Change, policy: Policy | None, env: Mapping[str, str], here: Checkout, parent: int = 0
) -> Refused | HubUnreachable | None:
    """What stands against ``change`` for good: neither override nor policy lets it through. No policy: the defaults.

    ``parent``: whoever runs the hooks of a Git operation, which is let through once; 0 for an edit.
    """
    if verdict.overriding(env) and parent and _waiver(here, parent, env).covers(change.paths):
        return None
    try:
        env = binding.under(env, here.outer.common_dir)
        try:
            remark = verdict.ask(change, env)
        finally:
            if change.strange and change.action != "edit":
                _relist(change, env, here)
        if remark:
            say(remark)
    except (Refused, HubUnreachable) as refused:
        waiver = _waiver(here, parent, env) if parent else None
        if not _overridden(change, refused, env) and not (policy and _tolerated(change, refused, policy, env, waiver)):
            return refused
        if waiver:
            waiver.extend(change.paths)
    return None


def _waiver(here: Checkout, parent: int, env: Mapping[str, str]) -> Waiver:
    from synapse_hooks import waiver

    return waiver.of(here.git_dir, parent, env)


def _relist(change: Change, env: Mapping[str, str], here: Checkout) -> None:
    """The checkout stands elsewhere, or in another project, than the hub knows: what is held in it goes along."""
    from synapse_hooks import registration

    if remark := registration.enter(here, change.agent, env):
        say(remark)


def _overridden(change: Change, refused: Refused | HubUnreachable, env: Mapping[str, str]) -> bool:
    reason = verdict.overriding(env)
    if not reason:
        return False
    from synapse_hooks import override

    try:
        # A hub that hung just now may come to what it was asked yet, and would have it on record twice.
        where = override.record(change, reason, env, away=isinstance(refused, HubUnreachable))
    except OSError as error:
        say(
            f"the override cannot be recorded ({error.strerror}: {error.filename}), so it does not count. "
            "What is wrong there: synapse-git doctor"
        )
        return False
    say(f"{refused.reason} is overridden by {verdict.OVERRIDE}, and {where}")
    return True


def _tolerated(
    change: Change, refused: Refused | HubUnreachable, policy: Policy, env: Mapping[str, str], waiver: Waiver | None
) -> bool:
    """Does the policy let through what nobody can judge? That it went in is put on record all the same."""
    if refused.reason == "OWNER_UNREACHABLE":
        word, setting = policy.owner_down, "synapse.guard.ownerDown"
    elif refused.reason in ("HUB_UNREACHABLE", "JOURNAL_UNAVAILABLE"):
        word, setting = policy.hub_down, "synapse.guard.hubDown"
    else:
        return False
    if word != "warn":
        return False
    if waiver and waiver.covers(change.paths):
        return True
    if change.action == "edit":
        say(f"{refused.reason}: {refused}\nNobody judged this edit; the commit of it will be put on record")
        return True
    from synapse_hooks import override

    try:
        where = override.record(change, f"{setting} = warn, and {refused.reason}", env, away=True)
    except OSError as error:
        say(f"that nobody judged this cannot be recorded ({error.strerror}: {error.filename}), so it is refused")
        return False
    say(f"{refused.reason}: {refused}\nNobody judged this change. It goes in since {setting} is warn, and {where}")
    return True


def _stop(refused: Refused | HubUnreachable, around: Circumstances, env: Mapping[str, str]) -> bool:
    from synapse_hooks import refusal

    if isinstance(refused, Refused):
        say(refusal.denied(refused.problem, around, env))
    else:
        say(refusal.unknown(refused, around, env))
    return False
