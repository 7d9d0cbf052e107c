"""Which files a shell command names for certain as what it will write or remove.

What is quoted plainly and named outright counts, and what fits ``*`` or ``?`` now. A variable or a substitution makes
uncertain what it touches, and what is uncertain is not guessed: the watcher sees what was written.
"""

from __future__ import annotations

import os

from synapse_hooks.tools import shell, starter, sweep, targets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from synapse_hooks.tools.shell import Command, Token
    from synapse_hooks.tools.stash import Stash
    from synapse_hooks.tools.sweep import Sweep

_MOST_FITTING = 10_000
_DEEPEST = 5
_BLOCKS = frozenset(("if", "while", "until", "for"))
_SHELLS = ("sh", "bash", "dash", "zsh")
# What makes of Git's paths those of another checkout.
_ANOTHER_CHECKOUT = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "core.worktree", "core.bare")
# What these start may have another home.
_ANOTHER_HOME = ("env", "sudo", "doas", "su")
# Whatever these do, it may end in another directory.
_ELSEWHERE = frozenset(("pushd", "popd", "builtin", "eval", "source", ".", "chdir"))


def written(command: str, cwd: str) -> list[str]:
    """The paths, each once, absolute if ``cwd`` is; nothing for a command that cannot be read."""
    return read(command, cwd)[0]


def read(command: str, cwd: str) -> tuple[list[str], list[Sweep | Stash]]:
    """As `written`, and what else Git would throw away."""
    found = _Reading(os.environ.get("HOME", ""))
    found.read(command, cwd)
    return list(found.paths), found.sweeps


class _Place:
    """Where the shell is: ``here``, None where nobody knows; ``perhaps``: entered only if something else went well, and
    certain as long as that goes on; ``before``: the operator before; ``over``: it has left.
    """

    __slots__ = ("before", "here", "over", "perhaps")

    def __init__(self, here: str | None, *, over: bool = False) -> None:
        self.here = here
        self.before = ""
        self.perhaps = False
        self.over = over

    def goes_on(self, end: str) -> None:
        """A command is over that ended with ``end``."""
        if self.perhaps and end != "&&":
            self.here = None
        self.before = end


class _Reading:
    """``paths`` and ``sweeps`` as found so far."""

    def __init__(self, home: str, depth: int = 0) -> None:
        self.paths: dict[str, None] = {}
        self.sweeps: list[Sweep | Stash] = []
        self._home = home
        self._depth = depth
        self._nested = False  # in a block, which may or may not run
        self._another_checkout = False

    def read(self, text: str, here: str | None) -> None:
        self._nested = "CDPATH" in text
        self._another_checkout = any(name in text for name in _ANOTHER_CHECKOUT)
        place, around = _Place(here), list[_Place]()
        if _speaks_of_another_home(text):
            self._home = ""
        for command in shell.commands(text, self._home):
            if command.kind in ("(", "{"):
                around.append(place)
                place = _Place(place.here, over=place.over)
                continue
            if command.kind:
                inner, place = place, around.pop()
                self._redirected(command, place)
                if command.kind == "}":
                    place.over = inner.over
                    place.here = place.here if inner.here == place.here else None
            elif not place.over:
                self._redirected(command, place)
                self._run(command, place)
            if command.end not in ("(", "{"):
                place.goes_on(command.end)

    def _redirected(self, command: Command, place: _Place) -> None:
        for target in () if place.over else command.targets:
            self._add(place.here, target)

    def _run(self, command: Command, place: _Place) -> None:
        words = command.words
        self._nested = self._nested or any(word.text in _BLOCKS for word in words[:1])
        argv, starting = starter.program(words)
        name = targets.name(argv)
        always = (
            place.before not in ("&&", "||", "|", "|&") and command.end not in ("|", "|&", "&") and not self._nested
        )
        if starting == "exec" or (name in ("exit", "return") and not starting):
            place.over = always
        if name == "cd":
            if not starting:
                self._enter(command, argv[1:], place)
        elif name in _ELSEWHERE:
            place.here = None
        elif name == "git":
            self._git(place.here, argv[1:], command)
        elif name in _SHELLS:
            self._script(place.here, argv[1:], command)
        else:
            for target in targets.of(name, argv, place.here, command.given):
                self._add(place.here, target)

    def _enter(self, command: Command, words: Sequence[Token], place: _Place) -> None:
        sure = command.end in (";", "&&", "\n", "") and place.before not in ("||", "|", "|&") and not self._nested
        place.here = targets.entered(place.here, words) if sure else None
        # Where it is not there, all goes on where the shell was.
        place.perhaps = place.perhaps or place.before == "&&" or not os.path.isdir(place.here or "/")

    def _script(self, here: str | None, words: Sequence[Token], command: Command) -> None:
        """Of ``sh -c SCRIPT``, or of a script that is given as a here-document."""
        script: str | None = None
        if not words and len(command.given) == 1:
            script = command.given[0].body
        elif (
            len(words) > 1
            and words[1].certain
            and words[0].text.startswith("-")
            and set(words[0].text[1:]) <= set("ceux")
        ):
            script = words[1].text if words[0].text.endswith("c") else None
        if script is None or self._depth == _DEEPEST:
            return
        inner = _Reading(self._home, self._depth + 1)
        inner.read(script, here)
        self.paths |= inner.paths
        self.sweeps += inner.sweeps

    def _git(self, here: str | None, words: Sequence[Token], command: Command) -> None:
        """Of ``git add``, ``rm``, ``mv`` and ``restore``: single files. What it sweeps away comes back."""
        here, words = starter.git(here, words)
        if not words or here is None or self._another_checkout or not words[0].certain:
            return
        # A commit may be named in a way that could be a pattern: HEAD~1, stash@{0}.
        said = [word.text if word.certain or word.text.startswith("stash@{") else "" for word in words]
        files, swept = sweep.read(said, here)
        self.paths.update(dict.fromkeys(files))
        self.sweeps += swept
        for target in targets.git(words, here, command.given):
            self._add(here, target)

    def _add(self, here: str | None, token: Token) -> None:
        known = here is not None or token.text.startswith("/")
        if token.certain and token.text and known:
            self.paths[os.path.join(here or "/", token.text)] = None
        elif token.pattern and known:
            self.paths.update(dict.fromkeys(_fitting(here, token)))


def _speaks_of_another_home(text: str) -> bool:
    words = (word for command in shell.commands(text) for word in command.words) if "~" in text else ()
    return "HOME" in text or any(word.text.rpartition("/")[2] in _ANOTHER_HOME for word in words)


def _fitting(here: str | None, token: Token) -> list[str]:
    """What the shell puts in the place of a pattern."""
    from glob import glob  # costs more than all else here

    return sorted(glob(os.path.join(here or "/", token.text)))[:_MOST_FITTING]
