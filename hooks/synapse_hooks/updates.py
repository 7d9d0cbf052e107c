"""The backstop: an update of a reference that some checkout stands on, judged by the commits that it brings in.

Plumbing, and whatever else came past the hooks of a commit, ends here. ``HEAD`` is locked meanwhile, so this is short.
"""

from __future__ import annotations

import os

from synapse_git import checkout, gitdir, identity
from synapse_hooks import changes, commits, gate, relay
from synapse_hooks.run import policy_of
from synapse_hooks.verdict import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from synapse_git.checkout import Checkout
    from synapse_hooks.refusal import Circumstances
    from synapse_hooks.run import Run

# What stands in the HEAD file where references are kept in tables, so that Git itself takes it for a repository.
_STUB = "refs/heads/.invalid"


class Update:
    """``ref`` goes from ``old`` ('': whatever it is now) to ``new``, which moves the checkout of ``git_dir``."""

    __slots__ = ("git_dir", "new", "old", "ref")

    def __init__(self, git_dir: str, ref: str, old: str, new: str) -> None:
        self.git_dir = git_dir
        self.ref = ref
        self.old = old
        self.new = new


def judge(run: Run, rest: Sequence[str]) -> bool:
    """May the references be updated? ``rest``: a line that was read already, the hook to run next, its arguments.

    That hook needs the lines too, so it is run from here, in the place of this process.
    """
    line, following, *arguments = rest
    lines = os.fsencode(line and line + "\n") + (relay.read_all() if run.moment == "reference-transaction" else b"")
    here = checkout.around_hook(os.getcwd(), run.env)
    updates = {update.git_dir: update for update in concerning(here, os.fsdecode(lines))}
    if updates:
        run.read_settings(here)
    if not all(_passes(run, here, update) for update in updates.values()):
        return False
    if following:
        relay.hand_on(lines, [following, *arguments], here.git_dir)
    return True


def concerning(here: Checkout, lines: str) -> Iterator[Update]:
    """Those of ``OLD NEW REF`` lines that give a checkout of this repository another commit."""
    standing: list[tuple[str, str]] = []
    for line in lines.split("\n"):
        old, _, rest = line.partition(" ")
        new, _, ref = rest.partition(" ")
        if old == new or not new.strip("0") or new.startswith("ref:"):
            continue
        known = old if old.strip("0") and not old.startswith("ref:") else ""
        if git_dir := _headed(here, ref):
            yield Update(git_dir, ref, known, new)
        elif ref.startswith("refs/heads/"):
            standing = standing or list(_standing(here))
            for git_dir, branch in standing:
                if branch in (ref, _STUB):
                    yield Update(git_dir, ref, known, new)


def _headed(here: Checkout, ref: str) -> str:
    """The git dir of the checkout whose HEAD is called ``ref`` here, '' if that is none."""
    if ref == "HEAD":
        return here.git_dir
    owner, _, last = ref.rpartition("/")
    if last != "HEAD" or (owner != "main-worktree" and os.path.dirname(owner) != "worktrees"):
        return ""
    found = here.common_dir if owner == "main-worktree" else f"{here.common_dir}/{owner}"
    return found if os.path.isdir(found) else ""


def _standing(here: Checkout) -> Iterator[tuple[str, str]]:
    """The git dir of each checkout of this repository, and the branch that it stands on."""
    for git_dir in gitdir.every(here.common_dir):
        if branch := _target(git_dir + "/HEAD"):
            yield git_dir, _followed(here, branch)


def _followed(here: Checkout, branch: str) -> str:
    """The branch that ``branch`` is another name of, if it is one. Git itself follows five."""
    for _ in range(5):
        target = _target(f"{here.common_dir}/{branch}")
        if not target:
            break
        branch = target
    return branch


def _target(path: str) -> str:
    """What the symbolic reference at ``path`` leads to; '' if there is none."""
    try:
        # Git once made links of them, and still reads those.
        if os.path.islink(path) and (target := os.readlink(path)).startswith("refs/"):
            return target
        with open(path, "rb") as file:
            content = file.read(8192)
    except OSError:
        return ""
    return os.fsdecode(content[4:]).strip() if content.startswith(b"ref:") else ""


def _passes(run: Run, here: Checkout, update: Update) -> bool:
    there = here
    if not os.path.samefile(update.git_dir, here.git_dir):
        there = checkout.beside(here, update.git_dir, run.env)
    policy = policy_of(there)
    unclaimed = policy.unclaimed if policy else "allow"
    tree, namespace = there.tree(), there.namespace(create=unclaimed != "allow")
    if not tree and not namespace:
        return True
    paths, shared = commits.changed(run.asking, here, update.ref, update.old, update.new)
    if not paths:
        _note_reset(run, there, update)
        return True
    run.warn_if_displaced(here)
    agent = identity.who(None, run.env, here.outer.git_dir)
    change = Change(agent, namespace, tree, "ref", changes.spelled(paths, there), changes.spelled(shared, there))
    change.unclaimed = unclaimed

    def circumstances() -> Circumstances:
        from synapse_hooks import operation, refusal

        interrupted = operation.under_way(here.git_dir, run.moment, run.parent, run.env)
        return refusal.Circumstances(interrupted, paths, change.paths)

    return gate.passes(change, circumstances, policy, run, there)


def _note_reset(run: Run, there: Checkout, update: Update) -> None:
    """No other hook hears of a reset, which may move files under their holder's feet."""
    from synapse_hooks import moves, process

    words = process.words(run.parent, run.env)
    if process.subcommand(words) == "reset" and {"--hard", "--keep", "--merge"} & set(words):
        moves.note(run, there, update.old, update.new)
