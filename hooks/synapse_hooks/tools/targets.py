"""What the commands write that name it: by their operands, and by what their options make of these."""

from __future__ import annotations

import os

from synapse_hooks.tools.operands import letter_by_letter, operands
from synapse_hooks.tools.shell import Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


_PROGRAMS = ("", "/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin")
_GIT = ("add", "rm", "mv", "restore")


def name(argv: Sequence[Token]) -> str:
    """Of the command, '' where that is uncertain, or a program of somebody's own."""
    if not argv or not argv[0].certain:
        return ""
    folder, _, found = argv[0].text.rpartition("/")
    return found if folder in _PROGRAMS and not argv[0].text.startswith(f"/{found}") else ""


def of(command: str, argv: Sequence[Token], here: str | None, given: Sequence[Token]) -> Sequence[Token]:
    """What ``argv``, which runs ``command`` in ``here`` with ``given`` for its input, writes."""
    if command in _TARGETS:
        return _TARGETS[command](argv)
    if command in ("cp", "mv", "ln", "install", "rsync"):
        from synapse_hooks.tools import copies

        return copies.written(command, argv, here)
    if command == "patch":
        from synapse_hooks.tools import diff

        return diff.patched(argv[1:], here, given)
    if command == "find":
        from synapse_hooks.tools import search

        return search.deleted(argv[1:], here)
    return ()


def git(words: Sequence[Token], here: str, given: Sequence[Token]) -> Iterator[Token]:
    """Of ``git WORDS``: single files."""
    verb = words[0].text
    if verb == "apply":
        from synapse_hooks.tools import diff

        yield from diff.applied(words[1:], here, given)
    elif verb in _GIT:
        for word in operands([Token("git"), *words[1:]]):
            plain = word.certain and not word.text.startswith(":") and "=" not in word.text
            if plain and not os.path.isdir(os.path.join(here, word.text)):
                yield word


def entered(here: str | None, words: Sequence[Token]) -> str | None:
    """Where ``cd`` leads from ``here``; None: nobody knows. The shell takes `..` by the name, and not by the link."""
    if len(words) != 1 or not words[0].certain or words[0].text in ("", "-"):
        return None
    if not words[0].text.startswith("/") and here is None:
        return None
    return os.path.normpath(os.path.join(here or "/", words[0].text))


def _sed(words: Sequence[Token]) -> list[Token]:
    """The files of ``sed -i``; where it does not write in place it writes nothing."""
    return _in_place(words, "efl", "ef", "")


def _perl(words: Sequence[Token]) -> list[Token]:
    """The files of ``perl -pi -e``."""
    return _in_place(words, "eEMmIFxCD", "eE", "pn")


def _in_place(words: Sequence[Token], valued: str, scripts: str, looping: str) -> list[Token]:
    """What is edited with ``-i``. ``scripts``: options that give a script, without one of which the first operand is
    it; ``looping``: those of which there must be one.
    """
    seen: set[str] = set()
    found: list[Token] = []
    rest = iter(words[1:])
    for word in rest:
        text = word.text
        long = text.partition("=")[0] if text.startswith("--") else ""
        if not word.certain and text.startswith("-"):
            return []
        if long in ("--expression", "--file"):
            seen.add("e")
            if "=" not in text:
                next(rest, None)
        elif long == "--in-place":
            seen.add("i")
        elif long and long in ("--quiet", "--silent", "--regexp-extended", "--null-data", "--separate"):
            continue
        elif long:
            return []
        elif text.startswith("-") and len(text) > 1:
            letters = letter_by_letter(text, valued + "i")
            seen |= set(letters)
            if letters[-1] in valued and len(letters) == len(text) - 1:
                next(rest, None)
        elif text or "i" not in seen or found:  # an empty word after -i is BSD's way of asking for no copy
            found.append(word)
    if "i" not in seen or (looping and not seen & set(looping)):
        return []
    return found if seen & set(scripts) else found[1:]


def _dd(words: Sequence[Token]) -> list[Token]:
    return [Token(word.text[3:], certain=word.certain) for word in words if word.text.startswith("of=")]


_TARGETS: dict[str, Callable[[Sequence[Token]], list[Token]]] = {
    "tee": operands,
    "rm": operands,
    "unlink": operands,
    "touch": operands,
    "sed": _sed,
    "gsed": _sed,
    "perl": _perl,
    "truncate": operands,
    "dd": _dd,
}
