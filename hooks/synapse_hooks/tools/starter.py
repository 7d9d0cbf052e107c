"""What stands before a command on its line: assignments, programs that start another one, Git's options of its own."""

from __future__ import annotations

from synapse_hooks.tools import targets
from synapse_hooks.tools.shell import BEFORE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from synapse_hooks.tools.shell import Token

# What starts another program: its options without a value, those whose value is the next word, and how many words of
# its own come before the program. With any other option nobody knows what is started, or where.
_STARTING = {
    "env": ("i0v", "u", 0),
    "sudo": ("nEHSb", "ugpC", 0),
    "nice": ("", "n", 0),
    "nohup": ("", "", 0),
    "exec": ("cl", "a", 0),
    "timeout": ("v", "ks", 1),
    "stdbuf": ("", "ioe", 0),
    "setsid": ("cfw", "", 0),
}
_GIT_PLAIN = frozenset(("--no-pager", "-P", "-p", "--paginate", "--no-optional-locks", "--no-replace-objects"))


def program(words: Sequence[Token]) -> tuple[Sequence[Token], str]:
    """``words`` from the program on that runs, and what starts it, '' for the shell itself; no words where that is not
    certain.
    """
    starting = ""
    while words and words[0].certain:
        text = words[0].text
        if text in _STARTING:
            starting = text
            rest = _behind(words[1:], *_STARTING[text])
            if rest is None:
                return [], starting
            words = rest
        elif (text in BEFORE and not starting) or _assigns(text):
            words = words[1:]
        else:
            break
    return words, starting


def _behind(words: Sequence[Token], plain: str, valued: str, own: int) -> Sequence[Token] | None:
    """What comes after the options and ``own`` words; None where that is not certain."""
    while words and words[0].text.startswith("-") and words[0].text != "--":
        letters = words[0].text[1:]
        if not words[0].certain or letters.startswith("-"):
            return None
        if letters in ("", *valued):
            words = words[2:] if letters else words[1:]
        elif letters[0] in valued or set(letters) <= set(plain):
            words = words[1:]
        else:
            return None
    words = words[1:] if words and words[0].text == "--" else words
    return words[own:]


def git(here: str | None, words: Sequence[Token]) -> tuple[str | None, Sequence[Token]]:
    """Where Git works, and its words from the verb on; none where an option makes that uncertain."""
    while words and words[0].text.startswith("-"):
        text = words[0].text
        if not words[0].certain or (text in ("-C", "-c") and len(words) < 2):
            return None, []
        if text in ("-C", "-c"):
            here = targets.entered(here, words[1:2]) if text == "-C" else here
            words = words[2:]
        elif text in _GIT_PLAIN:
            words = words[1:]
        else:
            return None, []
    return here, words


def _assigns(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()
