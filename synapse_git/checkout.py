"""Which checkout is it, and what are paths called in it: the side that sees environment and mounts resolves.

A path inside a submodule belongs to the outermost superproject's tree, under the submodule's prefix, so one file
has one name whichever way it is reached. Stdlib only: hooks use it.
"""

from __future__ import annotations

import os

from synapse_git import address, binding, content, git, gitdir, record, scope, settings
from synapse_git.errors import CheckoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from synapse_git import governed

_TRUE = ("true", "yes", "on", "1")


class Checkout:
    """One real checkout.

    ``root``: its top directory; ``git_dir``, ``common_dir``: absolute; ``prefix``: where ``root`` lies in the tree
    that its paths belong to ('' or ``lib``); ``outer``: the checkout that tree is of (itself unless a submodule);
    ``settings``: Git's configuration of ``outer``, lower-case keys, as far as it concerns us; ``state``: the state
    directory of whoever asks.
    """

    __slots__ = ("common_dir", "git_dir", "outer", "prefix", "root", "settings", "state")

    def __init__(self, root: str, git_dir: str, common_dir: str, settings: dict[str, str]) -> None:
        self.root = root
        self.git_dir = git_dir
        self.common_dir = common_dir
        self.settings = settings
        self.state = ""
        self.prefix = scope.ROOT
        self.outer = self

    def inside(self, superproject: Checkout) -> Checkout:
        """This checkout as the submodule it is of ``superproject``."""
        inner = os.path.relpath(os.path.realpath(self.root), os.path.realpath(superproject.root))
        self.prefix = _join(superproject.prefix, _as_git(inner))
        self.outer = superproject.outer
        self.settings = superproject.settings
        return self

    def tree(self, *, create: bool = False) -> str:
        """``wt:<id>``, or '' where no claim was ever made. ``create``: make the id (never in a query)."""
        act = record.ensure if create else record.lookup
        identity = act(self.outer.git_dir, "worktree")
        return "wt:" + identity if identity else ""

    def namespace(self, *, create: bool = False) -> str:
        """The project that tasks belong to: configured, or told by a remote, else ``local:<repository id>``, else ''.

        Raises:
            CheckoutError: the remotes belong to several.
        """
        if configured := self.settings.get("synapse.namespace"):
            return configured
        if shared := self.project():
            return shared.namespace
        act = record.ensure if create else record.lookup
        identity = act(self.outer.common_dir, "repository")
        return "local:" + identity if identity else ""

    def project(self) -> governed.Entry | None:
        """The shared namespace that this repository belongs to, None if there is none. Raises as `namespace`."""
        bound = binding.read(self.outer.common_dir)
        state = (bound and bound.state) or self.outer.state
        if not os.path.lexists(address.namespaces_file(state)):
            return None  # and the import is saved
        from synapse_git import governed

        entries = governed.read(state)
        if not entries:
            return None
        if configured := self.settings.get("synapse.namespace"):
            return next((entry for entry in entries if entry.namespace == configured), None)
        found = governed.matching(entries, self.remotes())
        if len(found) > 1:
            names = " and ".join(entry.namespace for entry in found)
            raise CheckoutError(
                f"the remotes of {self.root} belong to {names}. Say which it is: "
                f"git config synapse.namespace {found[0].namespace}"
            )
        return found[0] if found else None

    def remotes(self) -> list[str]:
        """The URLs of the repository's remotes."""
        return [url for key, url in self.settings.items() if key.startswith("remote.")]

    def shares(self) -> bool:
        """Do claims exclude each other across all worktrees and hosts of the repository? Raises as `namespace`."""
        found = self.project()
        return found is not None and found.exclusion == "repository"

    def owned_elsewhere(self) -> bool:
        """Does a hub on another machine grant in the namespace? Raises as `namespace`."""
        found = self.project()
        return found is not None and found.owner != ""

    def spell(self, path: str) -> str:
        """A path relative to ``root``, as Git names it, in the form that this tree's claims are compared in."""
        return self.fold(_join(self.prefix, path))

    def fold(self, path: str) -> str:
        return scope.fold(path, case=self._is("core.ignorecase"), compose=self._is("core.precomposeunicode"))

    def guarded(self) -> bool:
        """Does Git find here that hook of ours which every commit passes? A look at a file; `doctor` proves it."""
        hooks = self.settings.get("core.hookspath") or self.common_dir + "/hooks"
        return _is_ours(os.path.join(self.root, os.path.expanduser(hooks), "prepare-commit-msg"))

    def installed(self) -> bool:
        """Was the guard put in here, wherever Git is led by now, and whoever has displaced some of it?"""
        return _is_ours(self.common_dir + "/hooks/reference-transaction") or self.guarded()

    def displaced(self) -> str:
        """What keeps Git from a guard that was put in here, in words; '' if nothing does, or there is none."""
        if self.guarded() or not self.installed():
            return ""
        hooks = self.settings.get("core.hookspath", "")
        return f"core.hooksPath leads to {hooks}, past the guard" if hooks else "hooks of the guard were displaced here"

    def folds(self) -> bool:
        """Does `fold` change anything in this tree?"""
        return self._is("core.ignorecase") or self._is("core.precomposeunicode")

    def _is(self, key: str) -> bool:
        return self.settings.get(key, "").lower() in _TRUE

    def locate(self, given: str, cwd: str) -> str:
        """The path that a person typed in ``cwd``, as this tree calls it.

        A symlink is its own path; a path through a symlinked directory is the place it leads to.

        Raises:
            CheckoutError: it lies outside the worktree.
        """
        full = os.path.join(cwd, given)
        parent, last = os.path.split(full)
        if last in ("", ".", ".."):
            parent, last = full, ""
        inner = self._below_root(os.path.realpath(parent), last)
        if inner is None:
            raise CheckoutError(f"{given} is outside the worktree {self.root}")
        if ".git" in inner.lower().split("/"):
            raise CheckoutError(f"{given} is Git's own, which no commit can hold: nothing to claim there")
        return self.fold(scope.normalise(_join(self.prefix, _as_git(inner))))

    def _below_root(self, directory: str, last: str) -> str | None:
        """``directory/last`` relative to the root; the root is known by its inode, whatever it is called."""
        root = os.stat(self.root)
        parts = [last] if last else []
        while True:
            try:
                here = os.stat(directory)
            except OSError:
                pass  # not there yet: claims on files to be made are welcome
            else:
                if (here.st_dev, here.st_ino) == (root.st_dev, root.st_ino):
                    return "/".join(reversed(parts))
            directory, name = os.path.split(directory)
            if not name:
                # The root itself may be named: its parent was walked past, its own name is left in `parts`.
                return scope.ROOT if _same(directory, parts, root) else None
            parts.append(name)


def _is_ours(hook: str) -> bool:
    try:
        return b"\n# synapse-git hook " in content.read(hook, 256)
    except OSError:
        return False


def _as_git(path: str) -> str:
    """A path of the operating system as `scope` has Git's: the same bytes, whatever the locale's encoding is."""
    return scope.from_bytes(os.fsencode(path))


def _same(directory: str, parts: list[str], root: os.stat_result) -> bool:
    try:
        here = os.stat(os.path.join(directory, *reversed(parts)))
    except OSError:
        return False
    return (here.st_dev, here.st_ino) == (root.st_dev, root.st_ino)


def _join(prefix: str, path: str) -> str:
    return f"{prefix}/{path}" if prefix and path else prefix or path


def find(cwd: str, env: Mapping[str, str]) -> Checkout:
    """The checkout around ``cwd``. Inherited ``GIT_*`` are ignored.

    Raises:
        CheckoutError: there is none that has files, or Git will not open it (its own words are given).
    """
    clean = git.scrubbed(env)
    asked = settings.question(clean, "-C", cwd)
    ask = ("--show-toplevel", "--git-dir", "--git-common-dir", "--show-superproject-working-tree")
    status, output, complaint = git.ask(["-C", cwd, "rev-parse", "--path-format=absolute", *ask], clean)
    found = settings.parsed(asked.finish()[1])
    if status:
        raise CheckoutError(_unusable(cwd, complaint, clean))
    lines = output.removesuffix(b"\n").split(b"\n")
    if len(lines) not in (3, 4):  # a newline in a directory's name: one question each
        lines = [git.ask(["-C", cwd, "rev-parse", "--path-format=absolute", flag], clean)[1][:-1] for flag in ask]
    root, git_dir, common_dir, *superproject = (os.fsdecode(line) for line in lines)
    checkout = Checkout(root, git_dir, common_dir, found)
    checkout.state = address.state_dir(env)
    if any(superproject):
        checkout.inside(find(superproject[0], env))
    return checkout


def _unusable(cwd: str, complaint: str, env: Mapping[str, str]) -> str:
    if "not a git repository" in complaint:
        return f"{os.path.normpath(cwd)} is not in a Git repository. Go into one, or name it: synapse-git -C DIR …"
    if "must be run in a work tree" in complaint:
        where, known = os.path.normpath(cwd), _work_trees(cwd, env)
        go = f"Go into a worktree: cd {' or '.join(known[:3])}" if known else "Make a worktree: git worktree add DIR"
        return f"{where} is in a bare repository or a git dir, which has no files to claim. {go}"
    _, told, trust = complaint.partition("git config --global --add safe.directory ")
    if told:
        return (
            f"{trust} belongs to another user, so that Git does not open it. "
            f"If you trust it: git config --global --add safe.directory {trust}"
        )
    return complaint.removeprefix("fatal: ")


def _work_trees(cwd: str, env: Mapping[str, str]) -> list[str]:
    """The worktrees of the repository around ``cwd``, ready to be typed."""
    from synapse_git import explain

    listed = git.ask(["-C", cwd, "worktree", "list", "--porcelain"], env)[1]
    blocks = [block.split(b"\n") for block in listed.split(b"\n\n")]
    found = [os.fsdecode(lines[0].removeprefix(b"worktree ")) for lines in blocks if b"bare" not in lines]
    return [explain.shell(path) for path in found if os.path.isdir(path)]


def around_hook(cwd: str, env: Mapping[str, str]) -> Checkout:
    """The checkout whose hook Git started in ``cwd``, read from what Git hands to hooks, without asking again.

    `Checkout.settings` are left empty, for the caller to ask about, unless this is a submodule.
    """
    git_dir = gitdir.of_hook(cwd, env)
    root = cwd if _is_top(cwd, git_dir, env) else work_tree(git_dir, env)
    if root == git_dir and env.get("GIT_WORK_TREE"):
        root = cwd  # files that no setting of the repository's names
    checkout = Checkout(root, git_dir, gitdir.shared_of_hook(git_dir, env), {})
    checkout.state = address.state_dir(env)
    return _placed(checkout, env)


def _is_top(cwd: str, git_dir: str, env: Mapping[str, str]) -> bool:
    """Is ``cwd`` the top of the checkout of ``git_dir``?

    A commit has its hooks run there, what takes a push in has them in the git dir, and plumbing wherever it is typed.
    """
    if git_dir == os.path.normpath(cwd):
        return False
    if "GIT_DIR" not in env:
        return True
    try:
        return os.path.samefile(gitdir.at(cwd), git_dir)
    except OSError:
        return False


def beside(here: Checkout, git_dir: str, env: Mapping[str, str]) -> Checkout:
    """The checkout of ``git_dir``, another one of the repository of ``here``, whose settings have been read."""
    there = Checkout(work_tree(git_dir, env), git_dir, here.common_dir, here.settings)
    there.state = here.state
    if here.outer is not here:  # those are its superproject's
        there.settings = settings.parsed(settings.question(git.scrubbed(env) | {"GIT_DIR": git_dir}).finish()[1])
    return _placed(there, env)


def _placed(checkout: Checkout, env: Mapping[str, str]) -> Checkout:
    """``checkout``, in the superproject that it is a submodule of, if it is one."""
    if _nested(checkout.root):
        asked = ["-C", checkout.root, "rev-parse", "--show-superproject-working-tree"]
        if superproject := os.fsdecode(git.ask(asked, git.scrubbed(env))[1].removesuffix(b"\n")):
            checkout.inside(find(superproject, env))
    return checkout


def work_tree(git_dir: str, env: Mapping[str, str]) -> str:
    """The top directory of the checkout that ``git_dir`` belongs to; ``git_dir`` itself where it has no files."""
    try:
        found = gitdir.linked(git_dir)
    except OSError:
        _, output, _ = git.ask(["--git-dir", git_dir, "config", "--get", "core.worktree"], git.scrubbed(env))
        usual = os.path.dirname(git_dir) if os.path.basename(git_dir) == ".git" else git_dir
        found = os.path.normpath(os.path.join(git_dir, os.fsdecode(output[:-1]))) if output else usual
    return found if os.path.isdir(found) else git_dir


def _nested(root: str) -> bool:
    """Does any directory above ``root`` hold a repository? Costs a few stats, asking Git costs a process."""
    while (parent := os.path.dirname(root)) != root:
        root = parent
        if os.path.lexists(root + "/.git"):
            return True
    return False
