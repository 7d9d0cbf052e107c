"""Before an edit: does anything stand against it? What is free is claimed for the session, silently."""

from __future__ import annotations

from synapse_git import binding, identity, scope
from synapse_hooks.tools import place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from synapse_git.checkout import Checkout
    from synapse_git.policy import Policy
    from synapse_hooks.tools.occasion import Occasion
    from synapse_hooks.verdict import Change


def objection(found: Occasion, env: Mapping[str, str]) -> str:
    """Why the tool must not run, for whoever wanted it to; '' if it may. Files of several checkouts are all or nothing.

    Raises:
        SynapseError: a name or a policy that cannot be used.
    """
    paths = [*found.paths, *(_swept(found, env) if found.sweeps else [])]
    changes = [_change(found, here, inner, env) for here, inner in place.guarded(paths, found.cwd, env)]
    if len(changes) > 1:  # nothing may be claimed in one while another refuses
        for change, policy, here in changes:
            claims, change.claims = change.claims, False
            if reason := _refused(change, policy, here, env):
                return reason
            change.claims = claims
    for change, policy, here in changes:
        if reason := _refused(change, policy, here, env):
            return reason
        if change.hub_id:
            _claimed(change, here, env)
        if change.strange:
            from synapse_hooks import registration

            registration.enter(here, change.agent, env)
    return ""


def _swept(found: Occasion, env: Mapping[str, str]) -> list[str]:
    from synapse_hooks.tools import sweep

    return sweep.swept(found.sweeps, env)


def _refused(change: Change, policy: Policy | None, here: Checkout, env: Mapping[str, str]) -> str:
    from synapse_hooks import gate

    found = gate.objection(change, policy, env, here)
    if found is None:
        return ""
    from synapse_hooks.tools import refusal

    return refusal.text(found)


def _claimed(change: Change, here: Checkout, env: Mapping[str, str]) -> None:
    """A claim was taken: have it go back on the commit."""
    from synapse_hooks import judged

    judged.expect(here.git_dir)
    binding.confirm(env, here.outer.common_dir, change.hub_id)


def _change(
    found: Occasion, here: Checkout, paths: Sequence[str], env: Mapping[str, str]
) -> tuple[Change, Policy | None, Checkout]:
    from synapse_hooks.run import policy_of
    from synapse_hooks.verdict import Change

    policy = policy_of(here)
    agent = identity.of_session(found.harness, found.session, found.subagent, env, here.outer.git_dir)
    # Whoever cannot be told from others claims nothing, and nothing is held by that name. A command may touch what
    # nobody ever commits, so what it names is checked and not claimed.
    claims = bool(agent) and not found.commanded and (policy is None or policy.auto_claim)
    raw = b"".join(scope.to_bytes(path) + b"\0" for path in paths)
    namespace, tree = here.namespace(create=True), here.tree(create=True)
    change = Change(agent or f"{found.harness}-unidentified", namespace, tree, "edit", raw, raw)
    change.claims = claims
    change.root = here.outer.root
    change.unclaimed = policy.unclaimed if policy else "allow"
    return change, policy, here
