"""The proof that the guard works: a claim, another agent's commit of what is claimed, and the refusal it must meet.

In a repository that has the guard it happens in a scratch worktree of it, whose objects stay out of the repository's
own store; elsewhere in a scratch repository. Either is gone afterwards, and so is the claim.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager

from synapse_git import checkout, client, git, identity
from synapse_git.cli import guard
from synapse_git.cli.health import scratch
from synapse_git.cli.trail import PROOF
from synapse_git.constants import MINIMUM_TTL_SECONDS
from synapse_git.errors import CheckoutError, SynapseError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from synapse_git.checkout import Checkout
    from synapse_git.cli.call import Call

_COMMIT = (
    *("-c", "user.name=synapse-git doctor", "-c", "user.email=doctor@example.invalid"),
    *("-c", "commit.gpgSign=false", "-c", "core.editor=true", "-c", "core.fsmonitor=false"),
)


def in_worktree(call: Call, here: Checkout) -> str:
    """Try it in a scratch worktree of ``here``; what is wrong, '' if nothing is. Raises SynapseError if it cannot."""
    with scratch.directory("doctor") as place, _linked(place, here, _clean(call)) as (root, env):
        return _refused_commit(call, root, env)


def in_scratch(call: Call) -> str:
    """Try it in a repository of its own. Else as `in_worktree`."""
    with scratch.directory("doctor") as place:
        env = _clean(call)
        root = place + "/repository"
        _must(["git", "init", "-q", "--template=", root], env, place)
        guard.act("install", root, env)
        return _refused_commit(call, root, env)


def _clean(call: Call) -> dict[str, str]:
    env = git.scrubbed(call.hub)
    env.pop("SYNAPSE_OVERRIDE", None)
    return env


@contextmanager
def _linked(place: str, here: Checkout, env: Mapping[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    """A worktree of ``here`` without files but with HEAD's index, and the environment to use it with."""
    root, objects = place + "/worktree", place + "/objects"
    os.mkdir(objects)
    # Foreign post-checkout hooks would install packages and the like.
    quiet = ["git", "-C", here.root, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "worktree"]
    apart = {
        **env,
        "GIT_OBJECT_DIRECTORY": objects,
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": here.common_dir + "/objects",
        "GIT_NO_LAZY_FETCH": "1",
    }
    try:
        _must([*quiet, "add", "-q", "--detach", "--no-checkout", root, "HEAD"], env, here.root)
        _must(["git", "read-tree", "HEAD"], apart, root)
        yield root, apart
    finally:
        with scratch.undisturbed():
            _remove(root, here, quiet, env)


def _remove(root: str, here: Checkout, quiet: list[str], env: Mapping[str, str]) -> None:
    """Take the worktree away; where Git will not, what it keeps of it, and of no other."""
    try:
        with open(root + "/.git", encoding="utf-8", errors="surrogateescape") as file:
            kept = file.read().removeprefix("gitdir: ").removesuffix("\n")
    except OSError:
        return
    scratch.run([*quiet, "remove", "--force", root], env, here.root)
    if kept.startswith(here.common_dir + "/worktrees/"):
        shutil.rmtree(kept, ignore_errors=True)


def _refused_commit(call: Call, root: str, env: Mapping[str, str]) -> str:
    mark = os.urandom(4).hex()
    holder, other = f"{PROOF}{mark}", f"{PROOF}{mark}-other"
    path = holder
    with _held(call, root, path, holder):
        with open(f"{root}/{path}", "w", encoding="utf-8") as file:
            file.write("made by synapse-git doctor, safe to remove\n")
        _must(["git", "add", "-f", "--", path], env, root)
        ended = scratch.run(
            ["git", *_COMMIT, "commit", "-q", "-m", "synapse-git doctor"], {**env, "SYNAPSE_AGENT": other}, root
        )
    if ended.status == 0:
        return "a commit of a path that another agent holds went through: the guard does not run"
    if "SCOPE_CONFLICT" not in ended.said:
        last = ended.said.splitlines()[:1]
        return f"a commit failed, but not because the path is held: {' '.join(last) or ended.status}"
    return ""


@contextmanager
def _held(call: Call, root: str, path: str, agent: str) -> Iterator[None]:
    """``path`` claimed in the checkout at ``root``, for the shortest lease there is in case we are killed."""
    place = checkout.find(root, call.env)
    task: dict[str, object] = {
        "task_id": identity.checked(agent, "doctor"),
        "agent": agent,
        "namespace": place.namespace(create=True),
    }
    scope: dict[str, object] = {"worktree": place.tree(create=True), "paths": [place.spell(path)]}
    client.command(call.hub, "/v2/claim", {**task, **scope, "ttl_s": MINIMUM_TTL_SECONDS})
    try:
        yield
    finally:
        with scratch.undisturbed():
            client.command(call.hub, "/v2/release", task)


def _must(argv: list[str], env: Mapping[str, str], cwd: str) -> None:
    ended = scratch.run(argv, env, cwd)
    if ended.status:
        raise CheckoutError(f"{' '.join(argv[:1] + argv[-3:])} ended with {ended.status}: {ended.said}")


def attempt(call: Call, here: Checkout | None) -> tuple[str, str]:
    """The proof, in ``here`` if given: what is wrong, '' if nothing is; and what to type."""
    try:
        wrong = in_worktree(call, here) if here else in_scratch(call)
        return wrong, "synapse-git install" if here else ""
    except SynapseError as error:
        # No installing mends what stands in the way of trying; what does is said by the error.
        elsewhere = error.reason in ("OWNER_UNREACHABLE", "UNGOVERNED", "CONTESTED")
        return f"the guard could not be tried: {error}", "synapse-git team status" if elsewhere else ""
