"""Which checkout each file belongs to: the one that the file lies in, wherever the agent is."""

from __future__ import annotations

import os

from synapse_git import checkout, git, settings
from synapse_git.errors import CheckoutError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from synapse_git.checkout import Checkout

    Places = list[tuple[Checkout, list[str]]]


def guarded(paths: Iterable[str], cwd: str, env: Mapping[str, str]) -> Places:
    """The guarded checkouts that ``paths`` lie in, each with those paths as its tree calls them.

    What lies outside of any repository, in one without the guard, or in a git dir, is left out. A link counts for
    itself and for the file that it leads to, since tools write through it.
    """
    clean = git.scrubbed(env)
    found: dict[str, tuple[Checkout, list[str]] | None] = {}
    for path in paths:
        full = os.path.join(cwd or os.getcwd(), _at_home(path, env))
        for name in dict.fromkeys((full, os.path.realpath(full))):
            root = _root(os.path.realpath(os.path.dirname(name)))
            if not root:
                continue
            if root not in found:
                here = _open(root, clean)
                found[root] = (here, []) if here else None
            if entry := found[root]:
                _add(entry, name)
    return [entry for entry in found.values() if entry and entry[1]]


def around(cwd: str, env: Mapping[str, str]) -> Checkout | None:
    """The guarded checkout that ``cwd`` is in, if it is in one."""
    root = _root(os.path.realpath(cwd)) if cwd else ""
    return _open(root, git.scrubbed(env)) if root else None


def _at_home(path: str, env: Mapping[str, str]) -> str:
    """Some tools take ``~`` for the home directory, as a shell would."""
    home = env.get("HOME", "")
    return home + path[1:] if path.startswith("~/") and home.startswith("/") else path


def _root(directory: str) -> str:
    """The top of the checkout around ``directory``, which need not be there yet; '' where there is none."""
    while not os.path.lexists(directory + "/.git"):
        parent = os.path.dirname(directory)
        if parent == directory:
            return ""
        directory = parent
    return directory


def _open(root: str, env: Mapping[str, str]) -> Checkout | None:
    """The checkout at ``root`` with its settings, if the guard was put in. A submodule may have its superproject's."""
    question = settings.question(env, "-C", root)
    here = checkout.around_hook(root, env)
    # What asks the hub is imported while Git is at work.
    from synapse_hooks import gate as gate

    status, output, _ = question.finish()
    if status <= 1 and here.outer is here:
        here.settings = settings.parsed(output)
    # Whoever displaces hooks of Git's does not mean these.
    return here if here.installed() or here.outer.installed() else None


def _add(entry: tuple[Checkout, list[str]], path: str) -> None:
    here, names = entry
    try:
        name = here.locate(path, "/")
    except CheckoutError:
        return
    if name not in names:
        names.append(name)
