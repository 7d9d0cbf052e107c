"""Which files ``find … -delete`` takes away, where it asks for nothing but names, kinds and depths."""

from __future__ import annotations

import os
import stat

from synapse_hooks.tools.shell import Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MOST_SEEN, _MOST = 20_000, 1000
_KINDS = {"f": stat.S_ISREG, "d": stat.S_ISDIR, "l": stat.S_ISLNK}


def deleted(words: Sequence[Token], here: str | None) -> list[Token]:
    """The files, or the starting points where all beneath them goes; nothing for what is not read here."""
    tops: list[str] = []
    for word in words:
        if word.text.startswith(("-", "(", "!")):
            break
        tops.append(word.text)
    tests = _tests(words[len(tops) :])
    if tests is None or not all(word.certain for word in words[: len(tops)]):
        return []
    if here is None and not (tops and all(top.startswith("/") for top in tops)):
        return []
    found: list[Token] = []
    for top in tops or ["."]:
        if not tests and os.path.basename(top) not in ("", ".", ".."):
            found.append(Token(top))
        else:
            found += [Token(path) for path in _fitting(os.path.join(here or "/", top), tests)]
    return found if len(found) <= _MOST else []


def _tests(words: Sequence[Token]) -> dict[str, str] | None:
    """The tests before ``-delete``, which comes last; None where there is another, or one that is not read here."""
    if not words or words[-1].text != "-delete" or len(words) % 2 == 0:
        return None
    found: dict[str, str] = {}
    for name, value in zip(words[:-1:2], words[1::2], strict=True):
        known = name.text in ("-name", "-type", "-maxdepth", "-mindepth") and name.text not in found
        if not known or not value.certain or (name.text == "-type" and value.text not in _KINDS):
            return None
        if name.text.endswith("depth") and not value.text.isdecimal():
            return None
        found[name.text] = value.text
    return found


def _fitting(top: str, tests: dict[str, str]) -> Iterator[str]:
    from fnmatch import fnmatchcase

    least, most = int(tests.get("-mindepth", 0)), int(tests.get("-maxdepth", _MOST_SEEN))
    kind, pattern = _KINDS.get(tests.get("-type", ""), bool), tests.get("-name", "*")
    for path, depth in _walk(top, most):
        name = os.path.basename(path.rstrip("/"))
        if depth >= least and fnmatchcase(name, pattern) and kind(os.lstat(path).st_mode) and path != top:
            yield path


def _walk(top: str, most: int) -> Iterator[tuple[str, int]]:
    """All beneath ``top`` and how deep; links are not followed. Ends early where there is too much."""
    pending, seen = [(top, 0)], 0
    while pending and seen < _MOST_SEEN:
        path, depth = pending.pop()
        seen += 1
        yield path, depth
        if depth < most and os.path.isdir(path) and not os.path.islink(path):
            try:
                pending += [(os.path.join(path, name), depth + 1) for name in sorted(os.listdir(path))]
            except OSError:
                continue
