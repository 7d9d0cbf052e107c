"""What of a command's words are its operands, and what are options and their values."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from synapse_hooks.tools.shell import Token

# Options whose value is the next word, and those that make it uncertain what is written, or whether.
_VALUES = frozenset(
    ("--date", "--reference", "--time", "--suffix", "--source", "--chmod", "--size", "--mode", "--owner", "--group")
)
_SHORT_VALUES = {"touch": "drt", "cp": "S", "mv": "S", "ln": "S", "truncate": "sr", "git": "s", "install": "mogS"}
_UNSURE = frozenset(
    (
        *(
            "--target-directory",
            "--no-target-directory",
            "--parents",
            "--dry-run",
            "--patch",
            "--interactive",
            "--help",
        ),
        *("--version", "--no-clobber", "--update", "--no-create", "--no-dereference", "--directory", "--compare"),
        *("--pathspec-from-file", "--attributes-only", "--io-blocks", "--one-file-system"),
    )
)
_SHORT_UNSURE = {
    "cp": "tTnui",
    "mv": "tTnui",
    "ln": "tTnid",
    "git": "npie",
    "rm": "iI",
    "touch": "ach",
    "truncate": "co",
    "install": "dtTC",
}


def operands(words: Sequence[Token]) -> list[Token]:
    """What is neither the command, the first of ``words``, nor an option or its value; nothing where one of the options
    makes all the rest mean something else.
    """
    command = words[0].text.rpartition("/")[2]
    valued, unsure = _SHORT_VALUES.get(command, ""), _SHORT_UNSURE.get(command, "")
    found, plain = [], False
    rest = iter(words[1:])
    for word in rest:
        text = word.text
        if text == "--" and not plain:
            plain = True
        elif plain or not text.startswith("-") or text == "-":
            found.append(word)
        elif not word.certain:
            return []
        elif text.startswith("--"):
            if any(long.startswith(text.partition("=")[0]) for long in _UNSURE):
                return []
            if text in _VALUES:
                next(rest, None)
        else:
            letters = letter_by_letter(text, valued)
            if set(unsure) & set(letters):
                return []
            if letters[-1] in valued and text.endswith(letters[-1]):
                next(rest, None)
    return found


def letter_by_letter(text: str, valued: str) -> str:
    """The options of ``-abc``, up to the first that takes the rest of it, or the next word, for its value."""
    end = next((at for at, letter in enumerate(text[1:], 2) if letter in valued), len(text))
    return text[1:end]
