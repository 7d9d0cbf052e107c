"""Which files a shell command names for certain as what it will write or remove.

What is quoted plainly and named outright counts, and what fits ``*`` or ``?`` now. A variable, a substitution, a
here-document or a block makes uncertain what it touches, and what is uncertain is not guessed: the watcher sees what
was written.
"""

from __future__ import annotations

import os

from synapse_hooks.tools import shell, sweep
from synapse_hooks.tools.shell import Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from synapse_hooks.tools.sweep import Sweep

_MOST_FITTING = 10_000
# What may stand before the command itself, which then runs all the same.
_BEFORE = frozenset(("then", "do", "else", "if", "elif", "while", "until", "!", "time", "command"))
_STARTING = frozenset(("exec", "nohup", "env", "sudo", "nice"))
_BLOCKS = frozenset(("if", "while", "until", "for", "case", "{", "function", "select"))
_SED_VALUES = ("-e", "-f", "-l", "--expression", "--file", "--line-length")
_GIT = ("add", "rm", "mv", "restore")
# Options of commands that write what they name: those whose value is the next word, and those that make it uncertain
# what is written, or whether.
_VALUES = frozenset(
    ("--date", "--reference", "--time", "--suffix", "--source", "--chmod", "--size", "--pathspec-from-file")
)
_SHORT_VALUES = {"touch": "drt", "cp": "S", "mv": "S", "ln": "S", "truncate": "sr", "git": "s"}
_UNSURE = frozenset(
    ("--target-directory", "--no-target-directory", "--parents", "--dry-run", "--patch", "--interactive")
)
_SHORT_UNSURE = {"cp": "tT", "mv": "tT", "ln": "tT", "git": "npie"}
# Whatever these do, it may end in another directory.
_ELSEWHERE = frozenset(("pushd", "popd", "builtin", "eval", "source", ".", "chdir"))


def written(command: str, cwd: str) -> list[str]:
    """The paths, each once, absolute if ``cwd`` is; nothing for a command that cannot be read."""
    return read(command, cwd)[0]


def read(command: str, cwd: str) -> tuple[list[str], list[Sweep]]:
    """As `written`, and what else Git would throw away."""
    sweeps: list[Sweep] = []
    here: str | None = cwd
    nested = "CDPATH" in command  # or in a block, which may or may not run
    before, perhaps = "", False  # entered only if something else went well: certain as long as that goes on
    found: dict[str, None] = {}
    for words, targets, end in shell.commands(command):
        for target in targets:
            _add(found, here, target)
        nested = nested or (bool(words) and words[0].text in _BLOCKS)
        argv = _proper(words)
        if argv and argv[0].certain:
            name = argv[0].text.rpartition("/")[2]
            if name == "cd":
                sure = end in (";", "&&", "\n", "") and before != "||" and not nested
                here, perhaps = _entered(here, argv[1:]) if sure else None, perhaps or before == "&&"
            elif name in _ELSEWHERE:
                here = None
            elif name == "git":
                sweeps += _git(found, here, argv[1:])
            else:
                for target in _TARGETS.get(name, _nothing)(argv, here):
                    found.update(dict.fromkeys(_fitting(here, target)) if target.pattern else {})
                    _add(found, here, target)
        if perhaps and end != "&&":
            here = None
        before = end
    return list(found), sweeps


def _add(found: dict[str, None], here: str | None, token: Token) -> None:
    if token.certain and token.text and (here is not None or token.text.startswith("/")):
        found[os.path.join(here or "/", token.text)] = None


def _fitting(here: str | None, token: Token) -> list[str]:
    """What the shell puts in the place of a pattern."""
    from glob import glob  # costs more than all else here

    known = here is not None or token.text.startswith("/")
    return sorted(glob(os.path.join(here or "/", token.text)))[:_MOST_FITTING] if known else []


def _entered(here: str | None, words: Sequence[Token]) -> str | None:
    """Where ``cd`` leads; None: nobody knows."""
    if len(words) != 1 or not words[0].certain or words[0].text in ("", "-"):
        return None
    if not words[0].text.startswith("/") and here is None:
        return None
    return os.path.join(here or "/", words[0].text)


def _proper(words: list[Token]) -> list[Token]:
    """``words`` from the command on: without assignments and what else may go before."""
    at = 0
    starting = False  # of another program, which changes no directory of the shell's
    while at < len(words) and words[at].certain:
        text = words[at].text
        if text not in _BEFORE and text not in _STARTING and not _assigns(text):
            break
        starting = starting or text in _STARTING
        at += 1
    return [] if starting and words[at:] and words[at].text == "cd" else words[at:]


def _assigns(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


# ---- commands that write what they name ----


def _nothing(_: Sequence[Token], __: str | None) -> list[Token]:
    return []


def _operands(words: Sequence[Token]) -> list[Token]:
    """What is neither the command, the first of ``words``, nor an option or its value; nothing where one of the options
    makes all the rest mean something else.
    """
    name = words[0].text.rpartition("/")[2]
    valued, unsure = _SHORT_VALUES.get(name, ""), _SHORT_UNSURE.get(name, "")
    found, plain = [], False
    rest = iter(words[1:])
    for word in rest:
        text = word.text
        if text == "--" and not plain:
            plain = True
        elif plain or not text.startswith("-") or text == "-" or not word.certain:
            found.append(word)
        elif text.startswith("--"):
            if text.partition("=")[0] in _UNSURE:
                return []
            if text in _VALUES:
                next(rest, None)
        elif set(unsure) & set(text):
            return []
        elif text[-1] in valued and not set(valued) & set(text[1:-1]):
            next(rest, None)
    return found


def _all(words: Sequence[Token], _: str | None) -> list[Token]:
    return _operands(words)


def _sed(words: Sequence[Token], _: str | None) -> list[Token]:
    """The files of ``sed -i``; where it does not write in place it writes nothing."""
    in_place = scripted = False
    found: list[Token] = []
    rest = iter(words[1:])
    for word in rest:
        text = word.text
        if text in _SED_VALUES:
            scripted = scripted or text in _SED_VALUES[:2] + _SED_VALUES[3:5]
            next(rest, None)
        elif text.startswith(("--expression=", "--file=")):
            scripted = True
        elif text.startswith("--"):
            in_place = in_place or text == "--in-place" or text.startswith("--in-place=")
        elif text.startswith("-") and len(text) > 1 and word.certain:
            in_place = in_place or "i" in text
            scripted = scripted or (text.endswith("e") and "i" not in text)
            if scripted and text.endswith("e"):
                next(rest, None)
        elif text or not in_place or found:  # an empty word after -i is BSD's way of asking for no copy
            found.append(word)
    return (found if scripted else found[1:]) if in_place else []


def _moved(words: Sequence[Token], here: str | None) -> list[Token]:
    """Of ``mv``: what goes, and where to."""
    operands = _operands(words)
    return [*operands[:-1], *_copied(words, here)] if len(operands) > 1 else []


def _copied(words: Sequence[Token], here: str | None) -> list[Token]:
    """Of ``cp``: the files that are written. What a whole directory is copied onto is not to be told."""
    *sources, target = _operands(words) or [words[0]]
    if not sources or not target.certain:
        return []
    files = [one for one in sources if one.certain and not os.path.isdir(os.path.join(here or "/", one.text))]
    if not os.path.isdir(os.path.join(here or "/", target.text)):
        return [target] if len(files) == len(sources) == 1 and not target.text.endswith("/") else []
    return [Token(os.path.join(target.text, os.path.basename(one.text))) for one in files]


def _perl(words: Sequence[Token], here: str | None) -> list[Token]:
    """The files of ``perl -pi -e``."""
    return _sed([word for word in words if not word.text.startswith(("-M", "-m", "-I"))], here)


def _dd(words: Sequence[Token], _: str | None) -> list[Token]:
    return [Token(word.text[3:], certain=word.certain) for word in words if word.text.startswith("of=")]


def _patched(words: Sequence[Token], _: str | None) -> list[Token]:
    """Of ``patch FILE``; whatever else it changes its input says."""
    return [word for word in words[1:2] if not word.text.startswith("-")]


def _git(found: dict[str, None], here: str | None, words: Sequence[Token]) -> list[Sweep]:
    """Of ``git add``, ``rm``, ``mv`` and ``restore``: single files. What it sweeps away comes back."""
    if len(words) > 2 and words[0].text == "-C":
        here, words = _entered(here, words[1:2]), words[2:]
    if not words or here is None:
        return []
    # A commit may be named in a way that could be a pattern: HEAD~1, stash@{0}.
    files, swept = sweep.read([word.text if word.certain else "" for word in words], here)
    found.update(dict.fromkeys(files))
    if words[0].text not in _GIT or not words[0].certain:
        return swept
    for word in _operands([Token("git"), *words[1:]]):
        if word.certain and not word.text.startswith(":"):
            path = os.path.join(here, word.text)
            if not os.path.isdir(path) and "=" not in word.text:
                found[path] = None
    return swept


_TARGETS = {
    "tee": _all,
    "rm": _all,
    "unlink": _all,
    "touch": _all,
    "sed": _sed,
    "gsed": _sed,
    "perl": _perl,
    "truncate": _all,
    "dd": _dd,
    "patch": _patched,
    "mv": _moved,
    "cp": _copied,
    "ln": _copied,
}
