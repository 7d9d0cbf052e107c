"""Git commands that change whatever is changed below some directory, or in a stash: what that is, Git is asked for."""

from __future__ import annotations

import os

from synapse_git import git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_OTHER_CHECKOUTS = frozenset(("-b", "-B", "-p", "-d", "-t", "--orphan", "--patch", "--detach", "--track"))
_DIFFERENCE = ("diff-tree", "-r", "-z", "--no-renames", "--name-only")
_TREE = ("ls-tree", "-r", "-z", "--name-only", "--full-tree")
_STATUS = ("status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all")


class Sweep:
    """``spec``: what goes, as a pathspec for ``cwd``; ``untracked``: files unknown to Git go, instead of changes;
    ``stash``: the files in that one come, instead.
    """

    __slots__ = ("cwd", "spec", "stash", "untracked")

    def __init__(self, cwd: str, spec: str = ":/", *, untracked: bool = False, stash: str = "") -> None:
        self.cwd = cwd
        self.spec = spec
        self.untracked = untracked
        self.stash = stash

    def found(self, env: Mapping[str, str]) -> Iterator[bytes]:
        """The paths, relative to the top of the checkout; none where Git does not tell."""
        if self.stash:
            came = git.Question(["-C", self.cwd, *_TREE, f"{self.stash}^3"], env)
            yield from self._listed([*_DIFFERENCE, f"{self.stash}^1", self.stash], env)
            failed, unknown, _ = came.finish()
            yield from () if failed else unknown.split(b"\0")[:-1]
            return
        mode = "--untracked-files=" + ("all" if self.untracked else "no")
        for entry in self._listed([*_STATUS, mode, "--", self.spec], env):
            if (entry[:2] == b"??") == self.untracked:
                yield entry[3:]

    def _listed(self, arguments: Sequence[str], env: Mapping[str, str]) -> list[bytes]:
        status, listed, _ = git.ask(["-C", self.cwd, *arguments], env)
        return [] if status else listed.split(b"\0")[:-1]


def read(words: Sequence[str], cwd: str) -> tuple[list[str], list[Sweep]]:
    """The files, and the sweeps, of ``git WORDS`` in ``cwd``; '' for a word that does not stand for itself."""
    verb, options, named = words[0], *_split(words[1:])
    if verb == "stash" and words[1:2] in (["pop"], ["apply"]):
        return [], [Sweep(cwd, stash=stash)] if (stash := _stash(named[1:])) else []
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


def _stash(named: Sequence[str]) -> str:
    """The one that is named, or the last; '' for what is not a number, or not certain."""
    number = (named[0] if named else "0").removeprefix("stash@{").removesuffix("}")
    return f"stash@{{{number}}}" if number.isascii() and number.isdigit() and len(named) < 2 else ""


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


def swept(sweeps: Iterable[Sweep], env: Mapping[str, str]) -> list[str]:
    """The absolute paths of what would go or come; nothing where Git does not tell."""
    clean, found = git.scrubbed(env), list[str]()
    for one in sweeps:
        top = git.Question(["-C", one.cwd, "rev-parse", "--show-toplevel"], clean)
        paths = list(one.found(clean))
        failed, root, _ = top.finish()
        if not failed:
            found += [os.fsdecode(root.rstrip(b"\n") + b"/" + path) for path in paths]
    return found
