"""Git commands that change whatever is changed below some directory: what that is, Git is asked for."""

from __future__ import annotations

import os

from synapse_git import git
from synapse_hooks.tools import stash
from synapse_hooks.tools.stash import Stash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_OTHER_CHECKOUTS = frozenset(("-b", "-B", "-p", "-d", "-t", "--orphan", "--patch", "--detach", "--track"))
_STATUS = ("status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all")


class Sweep:
    """``spec``: what goes, as a pathspec for ``cwd``; ``untracked``: files unknown to Git go, instead of changes."""

    __slots__ = ("cwd", "spec", "untracked")

    def __init__(self, cwd: str, spec: str = ":/", *, untracked: bool = False) -> None:
        self.cwd = cwd
        self.spec = spec
        self.untracked = untracked

    def found(self, env: Mapping[str, str]) -> list[bytes]:
        """The absolute paths; none where Git does not tell."""
        top = git.Question(["-C", self.cwd, "rev-parse", "--show-toplevel"], env)
        mode = "--untracked-files=" + ("all" if self.untracked else "no")
        status, listed, _ = git.ask(["-C", self.cwd, *_STATUS, mode, "--", self.spec], env)
        failed, root, _ = top.finish()
        entries = [] if status or failed else listed.split(b"\0")[:-1]
        return [root[:-1] + b"/" + entry[3:] for entry in entries if (entry[:2] == b"??") == self.untracked]


def read(words: Sequence[str], cwd: str) -> tuple[list[str], list[Sweep | Stash]]:
    """The files, and the sweeps, of ``git WORDS`` in ``cwd``; '' for a word that does not stand for itself."""
    verb, options, named = words[0], *_split(words[1:])
    if verb == "stash" and (moved := stash.read(named, cwd)):
        return [], [moved]
    whole, untracked, given = False, False, [*named]
    if verb == "checkout" and not _OTHER_CHECKOUTS.intersection(options):
        whole = bool({"-f", "--force"}.intersection(options)) and "--" not in words
        given = named if "--" not in words else list(words[words.index("--") + 1 :])
    elif verb == "switch":
        whole, given = bool({"-f", "--force", "--discard-changes"}.intersection(options)), []
    elif verb == "restore" and (not {"-S", "--staged"}.intersection(options) or {"-W", "--worktree"} & set(options)):
        given = [name for name in named if os.path.isdir(os.path.join(cwd, name))]
    elif verb == "reset":
        whole, given = "--hard" in options, []
    elif verb == "stash" and (words[1:2] == ["push"] or not named) and not {"-p", "-S"}.intersection(options):
        given = named[1:]
        whole = not given
    elif verb == "clean" and _forced(options):
        untracked, given = True, named or ["."]
    else:
        given = []
    if whole:
        return [], [Sweep(cwd)]
    there = [name for name in given if name and ("--" in words or os.path.lexists(os.path.join(cwd, name)))]
    trees = [name for name in there if untracked or _several(os.path.join(cwd, name), name)]
    files = [os.path.join(cwd, name) for name in there if name not in trees]
    return files, [Sweep(cwd, name, untracked=untracked) for name in trees]


def _several(path: str, name: str) -> bool:
    """May Git find more than one file under that name?"""
    return os.path.isdir(path) or name.startswith(":") or bool(set("*?[") & set(name))


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Options and what is none."""
    options, named, plain = [], [], False
    rest = iter(words)
    for word in rest:
        if word == "--" and not plain:
            plain = True
        elif plain or not word.startswith("-") or word == "-":
            named.append(word)
        else:
            options.append(word)
            if word in ("-m", "--message", "-e", "--exclude", "-s", "--source"):
                next(rest, None)
    return options, named


def _forced(options: Iterable[str]) -> bool:
    letters = "".join(option[1:] for option in options if not option.startswith("--"))
    long = [option for option in options if option.startswith("--")]
    return ("f" in letters or "--force" in long) and "n" not in letters and "--dry-run" not in long


def swept(sweeps: Iterable[Sweep | Stash], env: Mapping[str, str]) -> list[str]:
    """The absolute paths of what would go or come; nothing where Git does not tell."""
    clean = git.scrubbed(env)
    return [os.fsdecode(path) for one in sweeps for path in one.found(clean)]
