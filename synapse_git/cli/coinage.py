"""Task ids that nobody had to think of, and that a person can say aloud: ``quiet-otter-048213``."""

from __future__ import annotations

import os

# With six digits: billions of ids, so that two live ones are never the same by chance.
_FIRST = """
amber brave brisk calm clear coral crisp dusky eager early fair fleet fond glad golden grand green happy keen kind
light lively lucky lunar mellow merry misty noble pale plain proud quick quiet rapid ready royal rosy rusty sandy
sharp shy silent silver sleek small smart snowy solar solid steady stout sunny sure swift tall tidy trusty vivid
warm wide wild windy wise young
"""
_SECOND = """
ant badger bear beaver bee bison crane crow deer dove duck eagle elk falcon finch fox frog gecko goose hare hawk
heron horse ibex jay kite koala lark lion lynx magpie mole moose moth newt orca otter owl panda perch pike puma
quail raven robin salmon seal shrew sparrow stork swan tapir tern thrush tiger toad trout turtle viper vole whale
wolf wren yak zebra
"""


def task() -> str:
    """A new task id."""
    first, second, *digits = os.urandom(6)
    number = int.from_bytes(bytes(digits), "big") % 1_000_000
    return f"{_pick(_FIRST, first)}-{_pick(_SECOND, second)}-{number:06}"


def _pick(words: str, number: int) -> str:
    choice = words.split()
    return choice[number % len(choice)]
