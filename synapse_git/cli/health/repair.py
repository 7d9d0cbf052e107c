"""``doctor --fix``: mends what needs no decision of the user's, and says what it did."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress

from synapse_git import address, binding, client, ending, exchange, explain, record, starter
from synapse_git.cli import guard, register, submodules, worktrees
from synapse_git.cli.health import checkup, unchecked
from synapse_git.constants import CLIENT_DEADLINE_SECONDS
from synapse_git.errors import CheckoutError, HubUnreachable, SynapseError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from synapse_git.cli.call import Call


def mend(call: Call) -> Iterator[str]:
    """Mend one thing after the other; each is told once it is done. What cannot be mended is left to be found."""
    if not address.configured(call.env):
        state = address.state_dir(call.env)
        yield from _modes(state)
        yield from _address(state, call.env)
        yield from _hub(call.env)
    yield from _binding(call)
    yield from _identities(call)
    yield from _guards(call)
    yield from _unchecked(call)


def _modes(state: str) -> Iterator[str]:
    """What is ours in the state directory is closed to others; links and the files of others are left alone."""
    names = []
    with suppress(OSError):
        names = [state, *(f"{state}/{name}" for name in sorted(os.listdir(state)))]
    for path in names:
        with suppress(OSError):
            found = os.lstat(path)
            private = {stat.S_IFDIR: 0o700, stat.S_IFREG: 0o600}.get(stat.S_IFMT(found.st_mode))
            if private and found.st_uid == os.geteuid() and found.st_mode & 0o077:
                os.chmod(path, private)
                yield f"{path} was open to others and is closed"


def _address(state: str, env: Mapping[str, str]) -> Iterator[str]:
    """The recorded socket is closed to others; one that can be none of ours is forgotten."""
    path = address.recorded(state)
    if not path:
        return
    try:
        exchange.check_socket(path)
        return
    except FileNotFoundError:
        # A hub that was stopped leaves its address for the next one, which can make one directory again and no more.
        if path.startswith("/") and os.path.isdir(os.path.dirname(os.path.dirname(path))):
            return
    except HubUnreachable:
        found = os.lstat(path)
        if stat.S_ISSOCK(found.st_mode) and found.st_uid == os.geteuid():
            os.chmod(path, 0o600)
            yield f"the socket {path} was open to others and is closed"
            return
    except OSError:
        pass
    with suppress(OSError, HubUnreachable):
        if not ending.serving(env):
            os.unlink(address.address_file(state))
            yield f"the hub's address led to {path}, where none of yours can be, and is forgotten"


def _hub(env: Mapping[str, str]) -> Iterator[str]:
    """A hub of an older version makes way."""
    try:
        line = starter.connect_running(env, deadline=time.monotonic() + CLIENT_DEADLINE_SECONDS)
        if line is None:
            return
        with line:
            version = client.health(line).headers.get("synapse-hub-version", "")
            gone = ending.retire(env, version, line.server_pid())
        if gone:
            yield f"the hub of version {version} is stopped; this version's starts when it is needed"
    except HubUnreachable:
        return  # found and told by the examination


def _binding(call: Call) -> Iterator[str]:
    """Which hub grants here is written down anew where the one that is asked first knows this very checkout."""
    here = call.checkout_if_any()
    if here is None:
        return
    common_dir = here.outer.common_dir
    try:
        binding.read(common_dir)
    except CheckoutError:
        with suppress(SynapseError):
            known = client.query(call.env, "/v2/worktrees").document["worktrees"]
            if here.tree() in {item["worktree"] for item in known}:
                hub_id = client.query(call.env, "/v2/health").document["hub_id"]
                binding.write(common_dir, binding.of(call.env, hub_id))
                yield "which hub grants here could not be read; the one that knows this checkout is written down again"


def _identities(call: Call) -> Iterator[str]:
    """An id that cannot be read is what the hub knows this place by; a fresh one where it knows none."""
    here = call.checkout_if_any()
    if here is None:
        return
    outer = here.outer
    for name, git_dir in (("worktree", outer.git_dir), ("repository", outer.common_dir)):
        try:
            record.lookup(git_dir, name)
        except CheckoutError:
            with suppress(SynapseError):
                if known := _known(call, outer.root, name):
                    record.put(git_dir, name, known)
                    yield f"the id of this {name} could not be read, and is again what the hub knows it by"
                else:
                    record.renew(git_dir, name)
                    yield f"the id of this {name} could not be read; the hub knew none, so it has a fresh one"


def _known(call: Call, root: str, name: str) -> str:
    """The id by which the hub last heard of the worktree at ``root``, or of its repository. Raises: SynapseError."""
    field, kind = {"worktree": ("worktree", "wt:"), "repository": ("namespace", "local:")}[name]
    known = client.query(call.hub, "/v2/worktrees").document["worktrees"]
    found = [item[field] for item in known if explain.wire_path(item["root"]) == root and item[field].startswith(kind)]
    return str(found[-1]).removeprefix(kind) if found else ""


def _guards(call: Call) -> Iterator[str]:
    """Hooks of this repository that were displaced, broken or outdated are put back; one without the guard stays so."""
    here = call.checkout_if_any()
    if here is None:
        return
    layers: dict[str, list[str]] = {}
    with suppress(SynapseError):
        layers = register.layers(call.hub)
    standings = guard.survey([here.root, *worktrees.roots(here.root, call.env)], call.env)
    if not checkup.wanted(standings, layers):
        return
    standings |= guard.survey(submodules.roots(standings, call.env), call.env)
    for root, standing in standings.items():
        if standing.mend or not standing.cover:
            # One that fails is explained by the examination, which finds the guard as it was.
            with suppress(SynapseError):
                if guard.act("install", root, call.env).get("changed"):
                    yield f"the guard in {root} is put back ({standing.mend})"


def _unchecked(call: Call) -> Iterator[str]:
    """What hooks let through while they could not judge is put on record."""
    here = call.checkout_if_any()
    if here:
        with suppress(SynapseError):
            yield from unchecked.settle(call, here)
