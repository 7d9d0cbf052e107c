"""``doctor``: proves by exercising them that interpreter, Git, hub, socket, journal and guard work."""

from __future__ import annotations

import os
import shutil
import stat
import sys

from synapse_git import address, client, ending, exchange, git, starter
from synapse_git.cli import guard, output, register, worktrees
from synapse_git.cli.health import checkup, sandbox, statedir
from synapse_git.cli.health.finding import Finding
from synapse_git.cli.verb import Option, Verb
from synapse_git.errors import EXIT_REFUSED, AnotherHub, CheckoutError, SynapseError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from synapse_git.checkout import Checkout
    from synapse_git.cli.call import Call

_PYTHON = (3, 11)
_GIT = (2, 34)


def run(call: Call) -> int:
    """Exit 0: nothing is wrong; 1 with what is, and what to type. ``--json``: ``{healthy, fixed, findings}``."""
    fixed = list(_fixed(call))
    found = []
    for finding in examine(call):
        found.append(finding)
        if not call.json:
            output.result(finding.lines())
            output.settle()
    wrong = sum(finding.ok is False for finding in found)
    if call.json:
        output.structure({"healthy": not wrong, "fixed": fixed, "findings": [finding.document() for finding in found]})
    elif not wrong:
        output.result("\nall is well")
    else:
        mendable = 0 if call.flag("fix") else sum(finding.mendable for finding in found)
        some = "" if mendable == wrong else f", {mendable} of them by"
        output.result(f"\n{wrong} to mend" + (f"{some}: synapse-git doctor --fix" if mendable else ""))
    return EXIT_REFUSED if wrong else 0


def _fixed(call: Call) -> Iterator[str]:
    """With ``--fix``: what was mended before the examination, told as it happens."""
    if not call.flag("fix"):
        return
    from synapse_git.cli.health import repair

    for done in repair.mend(call):
        if not call.json:
            output.result(f"fixed {done}")
        yield done


def examine(call: Call) -> Iterator[Finding]:
    """Every finding, in the order of what depends on what."""
    yield from _versions(call.env)
    hub, closed = _hub(call), statedir.examine(call.env)
    if closed and not hub.ok:
        hub = Finding(False, f"{hub.what}. {closed.what}", closed.fix)
    elif closed:
        yield closed
    yield hub
    if not hub.ok:
        return
    yield from _modes(call.hub)
    yield from sandbox.examine(call.hub)
    here = call.checkout_if_any()
    if here and (elsewhere := checkup.bound(call, here)):
        yield elsewhere
    if here:
        yield from checkup.identity(here)
    layers = register.layers(call.hub)
    standings: dict[str, guard.Standing] = {}
    if here is None:
        yield _nowhere(call)
    else:
        standings = guard.survey([here.root, *worktrees.roots(here.root, call.env)], call.env)
        yield from checkup.worktrees(standings, layers)
        yield from checkup.submodules(call, standings, layers)
        yield from checkup.left(call, here)
        yield from checkup.policies(here)
        yield from checkup.agents(call, here)
        yield from checkup.watchers(call, standings.keys())
    # A worktree can only be added where there is a commit.
    fit = here and standings[here.root].cover and worktrees.born(here.root, call.env)
    yield _proof(call, here if fit else None)
    yield from checkup.elsewhere(call, standings, layers)


def _versions(env: Mapping[str, str]) -> Iterator[Finding]:
    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding(sys.version_info >= _PYTHON, f"Python {python} at {sys.executable}")
    try:
        said = git.ask(["version"], git.scrubbed(env))[1].decode().strip()
    except SynapseError as error:
        yield Finding(False, str(error))
        return
    numbers = [int(part) for part in said.removeprefix("git version ").split(".")[:2] if part.isdigit()]
    fits = tuple(numbers) >= _GIT
    yield Finding(fits, said, "" if fits else "install Git 2.34 or newer")
    if shutil.which("synapse-git", path=env.get("PATH")) is None:
        where = os.path.dirname(sys.executable)
        yield Finding(None, "synapse-git is not on PATH", f"put its directory there, for example {where}")


def _hub(call: Call) -> Finding:
    """Asked through the write path, so that "yes" means that it grants."""
    try:
        health = client.query(call.hub, "/v2/health").document
    except (AnotherHub, CheckoutError) as error:
        return Finding(False, str(error), mendable=isinstance(error, CheckoutError))
    except SynapseError as error:
        return Finding(False, f"no hub that grants: {error}", _way_back(call.env))
    if broken := health.get("team_broken"):
        return Finding(
            False, str(broken), "mend the file; the hub reads it again when it is told: synapse-git hub stop"
        )
    return Finding(True, f"the hub grants (pid {health['pid']}, version {health['version']}, {health['journal']})")


def _way_back(env: Mapping[str, str]) -> str:
    """To a hub that grants: one that is there and does not answer has to end first."""
    if address.configured(env):
        return "mend the hub that SYNAPSE_HUB names, or unset it"
    try:
        hangs = ending.serving(env)
    except SynapseError:
        hangs = 0
    if hangs:
        return f"synapse-git hub stop    It ends one that hangs (pid {hangs}); the next command starts another"
    return f"read {starter.log_file(address.state_dir(env))}; then: synapse-git hub start"


def _modes(env: Mapping[str, str]) -> Iterator[Finding]:
    """Nobody else may read the journal or use the socket."""
    state = address.state_dir(env)
    if address.configured(env):
        yield Finding(None, f"SYNAPSE_HUB={address.configured(env)} is used; the usual hub is not looked at")
        return
    private = address.owned_private(state)
    standing = f"{state} is {'yours alone' if private else 'open to others'}"
    yield Finding(private, standing, _chmod(private, 700, state), mendable=True)
    socket = address.recorded(state)
    try:
        exchange.check_socket(socket)
        yield Finding(True, f"{socket} is yours alone")
    except (OSError, SynapseError) as error:
        yield Finding(False, f"the socket {socket} cannot be used: {error}", "synapse-git hub stop", mendable=True)
    for name in sorted(os.listdir(state)):
        found = os.lstat(f"{state}/{name}")
        if stat.S_ISREG(found.st_mode) and found.st_mode & 0o077:
            fix = _chmod(False, 600, f"{state}/{name}")
            yield Finding(False, f"{state}/{name} is open to others", fix, mendable=True)


def _chmod(private: bool, mode: int, path: str) -> str:
    return "" if private else f"chmod {mode} {path}"


def _nowhere(call: Call) -> Finding:
    try:
        call.checkout()
    except CheckoutError as error:
        return Finding(None, f"no checkout to look at: {error}")
    return Finding(True, "a checkout")


def _proof(call: Call, here: Checkout | None) -> Finding:
    from synapse_git.cli.health import probe

    where = f"a scratch worktree of {here.root}" if here else "a scratch repository"
    wrong, mend = probe.attempt(call, here)
    if wrong:
        return Finding(False, f"{wrong} (tried in {where})", mend)
    return Finding(True, f"a commit of what another agent holds was refused (tried in {where})")


VERBS = (
    Verb(
        "doctor",
        run,
        summary="Prove that hooks, hub, socket and journal work.",
        help="Exercise everything a refusal depends on, up to a real commit that must be refused, in a scratch "
        "worktree of this repository that is removed again (outside of a repository with the guard: in a scratch "
        "repository). Says what is wrong and what to type. With --fix it first mends what needs no decision: hooks of "
        "this repository that were displaced or are outdated, open files of ours, an address that leads nowhere, a hub "
        "of an older version.",
        examples=(
            ("doctor", "after installing, and when in doubt"),
            ("doctor --fix", "mend what is safe to mend, then look"),
            ("doctor --json", "healthy or not, and every finding"),
        ),
        options=(Option("fix", "--fix", help="Mend what can be mended safely, and say what was."),),
    ),
)
