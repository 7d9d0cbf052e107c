"""The express lane: reads plain, unambiguous command lines, and declines all others.

Importing click costs three times an empty interpreter. So what most commands look like is read here, by the same
declarations; help, completion, anything doubtful or wrong is declined, and click gives the answer. Whatever is
accepted here click reads to the same values; a property test holds the two together.
"""

from __future__ import annotations

from synapse_git.cli import catalogue
from synapse_git.cli.verb import EVERYWHERE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from synapse_git.cli.verb import Argument, Option, Verb


class _Declined(Exception):
    """Not for this lane."""


def parse(words: Sequence[str]) -> tuple[Verb, dict[str, object]] | None:
    """The verb and all its values, by key; None where click has to look at ``words`` (without the program's name)."""
    values: dict[str, object] = {}
    try:
        at = _options(words, _spelled(EVERYWHERE), values)
        verb, at = _verb(words, at)
        _rest(words[at:], verb, values)
    except (_Declined, ValueError):
        return None
    return verb, verb.complete(values)


def _spelled(options: Iterable[Option]) -> dict[str, Option]:
    return {name: option for option in options for name in option.names}


def _options(words: Sequence[str], known: dict[str, Option], values: dict[str, object]) -> int:
    """Read options up to the first word that is none; where that word stands."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at = _option(words, at, known, values)
    return at


def _option(words: Sequence[str], at: int, known: dict[str, Option], values: dict[str, object]) -> int:
    """Read the option at ``at``; where the next word stands."""
    name, given, value = words[at], "", ""
    if name.startswith("--"):
        name, given, value = name.partition("=")
    option = known.get(name)
    # Given twice: which one counts is click's affair.
    if option is None or option.key in values:
        raise _Declined
    if not option.metavar:
        if given:
            raise _Declined
        values[option.key] = True
        return at + 1
    if not given:
        at += 1
        value = words[at] if at < len(words) else ""
    if not value or value.startswith("-"):
        raise _Declined
    values[option.key] = (option.convert(value),) if option.many else option.convert(value)
    return at + 1


def _verb(words: Sequence[str], at: int) -> tuple[Verb, int]:
    name = words[at] if at < len(words) else ""
    if name in catalogue.FAMILIES:
        at += 1
        name += " " + (words[at] if at < len(words) else "")
    verb = catalogue.load(name)
    if verb is None:
        raise _Declined
    return verb, at + 1


def _rest(words: Sequence[str], verb: Verb, values: dict[str, object]) -> None:
    known = _spelled((*EVERYWHERE, *verb.options))
    positional: list[str] = []
    at = 0
    while at < len(words):
        if words[at] == "--":
            positional += words[at + 1 :]
            break
        if words[at].startswith("-"):
            at = _option(words, at, known, values)
        else:
            positional.append(words[at])
            at += 1
    _place(positional, verb.argument, values)


def _place(positional: list[str], argument: Argument | None, values: dict[str, object]) -> None:
    if argument is None:
        if positional:
            raise _Declined
        return
    if not all(positional) or (argument.required and not positional) or (not argument.many and len(positional) != 1):
        raise _Declined
    converted = tuple(argument.convert(word) for word in positional)
    values[argument.key] = converted if argument.many else converted[0]
