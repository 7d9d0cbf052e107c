"""What `doctor` finds about one repository and about others that the hub knows: where guards are, and where not."""

from __future__ import annotations

import os

from synapse_git import address, binding, client, explain, policy, scope
from synapse_git.cli import guard, phrase, register
from synapse_git.cli import submodules as inner
from synapse_git.cli.health import unchecked
from synapse_git.cli.health.finding import Finding
from synapse_git.errors import CheckoutError
from synapse_git.identity import default_agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from synapse_git.checkout import Checkout
    from synapse_git.cli.call import Call


def wanted(standings: Mapping[str, guard.Standing], layers: Mapping[str, Sequence[str]]) -> bool:
    """Was the guard ever put into this repository?"""
    return any(standing.cover or register.GUARD in layers.get(root, ()) for root, standing in standings.items())


def bound(call: Call, here: Checkout) -> Finding | None:
    """Does another hub grant in this repository than this environment leads to? One that can be asked."""
    bound, hub, usual = binding.read(here.outer.common_dir), call.hub, address.state_dir(call.env)
    led = address.configured(hub) != address.configured(call.env) or address.state_dir(hub) != usual
    if bound is None or not led:
        return None
    return Finding(None, f"the hub of {bound.state or bound.socket} grants in this repository, not that of {usual}")


def identity(here: Checkout) -> Iterator[Finding]:
    """Can what is claimed here still be told from what is claimed elsewhere, and who acts here?"""
    kept: tuple[Callable[[], str], ...] = (here.tree, here.namespace, lambda: default_agent(here.outer.git_dir))
    for read in kept:
        try:
            read()
        except CheckoutError as error:
            yield Finding(False, str(error))


def worktrees(standings: Mapping[str, guard.Standing], layers: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    """Each worktree of this repository that has the guard, and each that was left without or has lost it."""
    guarded = wanted(standings, layers)
    for root, standing in standings.items():
        install = f"synapse-git -C {phrase.shell(root)} install"
        if not standing.cover:
            what = f"no guard in {root}: {standing.mend}"
            yield Finding(False if guarded else None, what, install, mendable=True)
        elif standing.mend:
            yield Finding(None, f"the guard in {root} wants to be renewed: {standing.mend}", install)
        else:
            yield Finding(True, f"the guard is in {root}")


def agents(call: Call, here: Checkout) -> Iterator[Finding]:
    """The coding agents of this machine: those that ask before they edit, and those that do not."""
    asking: set[str] = set()
    for scope_name in ("project", "user"):
        for agent in guard.tools(["status", "--scope", scope_name, "--cwd", here.root], call.env)["agents"]:
            name, install = agent["name"], f"synapse-git agents install {agent['name']} --{scope_name}"
            if agent["state"] == "installed":
                asking.add(name)
                yield Finding(True, f"{name} asks before it edits ({agent['file']})")
            elif agent["state"] == "off":
                yield Finding(False, f"{name} may edit unasked ({agent['file']}): {agent['detail']}")
            elif agent["state"] in ("outdated", "broken"):
                yield Finding(False, f"{name} may edit unasked: {agent['file']}: {agent['detail']}", install)
            elif scope_name == "user" and agent["found"] and name not in asking:
                install = f"synapse-git agents install {name}"
                yield Finding(None, f"{name} does not ask before it edits; its commits are judged", install)


def watchers(call: Call, roots: Collection[str]) -> Iterator[Finding]:
    """How each of ``roots`` is watched where somebody holds something."""
    for item in client.query(call.hub, "/v2/worktrees").document["worktrees"]:
        root, watch = explain.wire_path(item["root"]), item["watch"]
        if root not in roots or not item["agents"]:
            continue
        if watch["state"] == "live":
            yield Finding(True, f"the watcher sees every change in {root}")
        elif watch["state"] == "degraded":
            yield Finding(None, f"the watcher in {root} may see changes late: {watch['reason']}")
        elif "about to start" in watch["reason"]:
            yield Finding(None, f"nobody watches {root} yet: {watch['reason']}")
        elif watch["reason"]:
            yield Finding(None, f"nobody watches {root}: {watch['reason']}", "synapse-git watch, and see what it says")


def submodules(
    call: Call, standings: Mapping[str, guard.Standing], layers: Mapping[str, Sequence[str]]
) -> Iterator[Finding]:
    """Commits in a submodule are judged by its own hooks: those without are named where the guard is wanted."""
    if not wanted(standings, layers):
        return
    found = guard.survey(inner.roots(standings, call.env), call.env)
    for root, standing in found.items():
        if not standing.cover:
            outer = next(iter(standings))
            what = f"no guard in the submodule {scope.show(root)}: {standing.mend}"
            yield Finding(False, what, f"synapse-git -C {phrase.shell(outer)} install", mendable=True)
    if found and all(standing.cover for standing in found.values()):
        yield Finding(True, f"the guard is in its submodules ({len(found)})")


def left(call: Call, here: Checkout) -> Iterator[Finding]:
    """What went in while the hooks could not judge, and is not on record yet."""
    for found in unchecked.waiting(call, here):
        what = f"what was let through unchecked is not on record yet ({len(found.lines)}, in {scope.show(found.path)})"
        yield Finding(False, what, "synapse-git install", mendable=True)


def policies(here: Checkout) -> Iterator[Finding]:
    """What the guard is told to do here that is not its default, and by whom."""
    try:
        wanted = policy.of(here)
    except CheckoutError as error:
        yield Finding(False, str(error))
        return
    found = []
    for key in policy.KEYS:
        if key.name in wanted.tracked:
            found.append(f"{key.typed} is {wanted.word(key)} (by {policy.FILE})")
        elif key.git in here.settings:
            found.append(f"{key.typed} is {wanted.word(key)} (by git config)")
    yield Finding(True, f"policy: {', '.join(found) or 'nobody set any'}; for the rest its defaults hold")
    typed = {f"{key.table}.{key.name}": key.typed for key in policy.KEYS}
    for name in wanted.looser:
        what = f"{name} in {policy.FILE} would weaken the guard, and does not count"
        yield Finding(None, what, f"take it out, or say so for yourself: git config synapse.{typed[name]} VALUE")


def elsewhere(call: Call, seen: Mapping[str, guard.Standing], layers: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    """Worktrees of other repositories: where the guard was put in and is gone, and where it never was."""
    others = [root for root in layers if root not in seen and os.path.isdir(root)]
    for root, standing in guard.survey(others, call.env).items():
        if standing.cover:
            continue
        install = f"synapse-git -C {phrase.shell(root)} install"
        if register.GUARD in layers[root]:
            yield Finding(False, f"the guard of {root} does not run: {standing.mend}", install)
        else:
            yield Finding(None, f"no guard in {root}, where claims are made", install)
