"""Which files ``git apply`` and ``patch`` change, where the patch is a file or stands on the command line."""

from __future__ import annotations

import os

from synapse_hooks.tools.operands import letter_by_letter
from synapse_hooks.tools.shell import Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LARGEST = 4 * 1024 * 1024
_NOTHING = "/dev/null"
# Of `git apply`: those that change nothing of what is named, and those that change what is.
_APPLY_PLAIN = frozenset(
    ("-R", "--reverse", "-3", "--3way", "--index", "-v", "--verbose", "-q", "--quiet", "--recount", "--unidiff-zero")
)
_PATCH_PLAIN = frozenset("RNsufElbt")


def applied(words: Sequence[Token], here: str, given: Sequence[Token]) -> list[Token]:
    """Of ``git apply WORDS`` at the top of a checkout, all or nothing; below it Git passes over what is not below."""
    strip, files = 1, list[Token]()
    for word in words:
        text = word.text
        if not word.certain:
            return []
        if text.startswith("-p") and text[2:].isdecimal():
            strip = int(text[2:])
        elif not text.startswith("-"):
            files.append(word)
        elif text not in _APPLY_PLAIN and not text.startswith("--whitespace="):
            return []
    if not os.path.lexists(os.path.join(here, ".git")):
        return []
    texts = [_text(file, here, ()) for file in files] or [_text(None, here, given)]
    found = [name for text in texts for name in _named(text, strip, here)]
    return [Token(name) for name in found] if all(found) else []


def patched(words: Sequence[Token], here: str | None, given: Sequence[Token]) -> list[Token]:
    """Of ``patch WORDS``: the file that is named, else those in the patch, if it is said how much of a name counts."""
    strip, operands, source = -1, list[Token](), None
    rest = iter(words)
    for word in rest:
        text = word.text
        letters = letter_by_letter(text, "pi") if text.startswith("-") and not text.startswith("--") else ""
        value = text[len(letters) + 1 :]
        if not word.certain or set(letters) - _PATCH_PLAIN - {"p", "i"} or text.startswith("--"):
            return []
        if letters.endswith("p") and value.isdecimal():
            strip = int(value)
        elif letters.endswith("i") and not value:
            source = next(rest, None)
        elif {"p", "i"} & set(letters):
            return []
        elif not letters:
            operands.append(word)
    if operands or strip < 0 or here is None:
        return operands[:1]
    return [Token(name) for name in _named(_text(source, here, given), strip, here) if name]


def _text(file: Token | None, here: str, given: Sequence[Token]) -> str:
    """The patch; '' where it is not to be had."""
    if file is None and len(given) == 1:
        if given[0].body is not None:
            return given[0].body
        file = given[0]
    if file is None or not file.certain:
        return ""
    try:
        with open(os.path.join(here, file.text), "rb") as patch:
            text = patch.read(_LARGEST + 1)
    except OSError:
        return ""
    return text.decode("utf-8", "surrogateescape") if len(text) <= _LARGEST else ""


def _named(text: str, strip: int, here: str) -> Iterator[str]:
    """The file of each section of ``text``, less ``strip`` leading parts of its name; '' where it has two names, or is
    to be changed and is not there.
    """
    old, lines = "", iter(text.splitlines())
    for line in lines:
        if line.startswith("@@ -"):
            _skip(lines, line)
        elif line.startswith("+++ ") and old:
            both = [_stripped(name.partition("\t")[0], strip) for name in (old, line[4:])]
            names = {*both} - {_NOTHING}
            name = names.pop() if len(names) == 1 else ""
            there = both[0] == _NOTHING or os.path.lexists(os.path.join(here, name))
            yield name if there and ".." not in name.split("/") else ""
        old = line[4:] if line.startswith("--- ") else ""


def _skip(lines: Iterator[str], head: str) -> None:
    """The lines of a hunk, some of which may look like names."""
    left = [int(part.partition(",")[2] or 1) for part in head.split()[1:3]]
    while left[0] > 0 or left[1] > 0:
        line = next(lines, None)
        if line is None:
            return
        left[0] -= line[:1] in ("-", " ", "")
        left[1] -= line[:1] in ("+", " ", "")


def _stripped(name: str, strip: int) -> str:
    """'' for one with fewer parts, or that is quoted."""
    if name == _NOTHING:
        return name
    parts = name.split("/")
    return "" if name.startswith('"') or len(parts) <= strip or "" in parts else "/".join(parts[strip:])
