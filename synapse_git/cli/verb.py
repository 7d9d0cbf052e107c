"""What a verb is: name, arguments, options, help and the function that runs it, as plain values.

Both parsers, the express one and click, are built from these declarations, and so is the reference. Cheap to
import: a command that goes through the express lane loads the declaration of its own verb and nothing else.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from synapse_git.cli.call import Call


def text(given: str) -> str:
    """The converter of plain values.

    Raises:
        ValueError: it is empty, as an unset variable of a script would make it, or not UTF-8.
    """
    if any("\ud800" <= c <= "\udfff" for c in given):
        raise ValueError("this is not UTF-8 text")
    return raw(given)


def raw(given: str) -> str:
    """The converter of paths: any bytes a file name can hold.

    Raises:
        ValueError: it is empty.
    """
    if not given:
        raise ValueError("the value is empty")
    return given


def count(given: str) -> int:
    """A whole number from 0.

    Raises:
        ValueError: it is none.
    """
    if not (given.isascii() and given.isdigit()) or len(given) > 18:
        raise ValueError(f"{given!r} is not a whole number")
    return int(given)


class Option:
    """One option.

    ``key``: under which a `Call` finds the value; ``names``: its spellings; ``metavar``: what stands for the value,
    '' for a flag; ``convert``: text to value, ValueError says what is wrong; ``completes``: what a shell offers;
    ``many``: it may be given again and again, and the value is a tuple.
    """

    __slots__ = ("completes", "convert", "help", "key", "many", "metavar", "names")

    def __init__(
        self,
        key: str,
        *names: str,
        metavar: str = "",
        help: str,  # noqa: A002 - what everybody calls it
        convert: Callable[[str], object] = text,
        completes: str = "",
        many: bool = False,
    ) -> None:
        self.key = key
        self.many = many
        self.names = names
        self.metavar = metavar
        self.help = help
        self.convert = convert
        self.completes = completes

    @property
    def absent(self) -> object:
        """The value when it is not given."""
        return () if self.many else None if self.metavar else False


class Argument:
    """The positional part: one value that must be there, or ``many`` (0 or more; ``required``: 1 or more)."""

    __slots__ = ("completes", "convert", "key", "many", "metavar", "required")

    def __init__(
        self,
        key: str,
        metavar: str,
        *,
        many: bool = False,
        required: bool = True,
        convert: Callable[[str], object] = text,
        completes: str = "",
    ) -> None:
        self.key = key
        self.metavar = metavar
        self.many = many
        self.required = required
        self.convert = convert
        self.completes = completes


# Every verb takes these, before its name or after it.
EVERYWHERE = (
    Option("json", "--json", help="Print one JSON document instead of text."),
    Option("agent", "--agent", metavar="NAME", help="Act under this name."),
    Option("directory", "-C", metavar="DIR", help="Act as if started in DIR.", convert=raw, completes="dir"),
)

TASK = Option(
    "task",
    "-t",
    "--task",
    metavar="TASK",
    help="The task. With exactly one live claim in this worktree it may be left out.",
    completes="task",
)
EPOCH = Option("epoch", "--epoch", metavar="N", help="Only if the claim's epoch is still N.", convert=count)


class Verb:
    """One command.

    ``name``: one word, or two (``hub start``); ``summary``: its line in the list of verbs; ``help``: one paragraph;
    ``examples``: (command line without the program's name, what it does); ``run``: gives the exit status, and reports
    whatever goes wrong by raising a `SynapseError`.
    """

    __slots__ = ("argument", "examples", "help", "name", "options", "run", "summary")

    def __init__(
        self,
        name: str,
        run: Callable[[Call], int],
        *,
        summary: str,
        help: str,  # noqa: A002 - what everybody calls it
        examples: tuple[tuple[str, str], ...],
        options: tuple[Option, ...] = (),
        argument: Argument | None = None,
    ) -> None:
        self.name = name
        self.run = run
        self.summary = summary
        self.help = help
        self.examples = examples
        self.options = options
        self.argument = argument

    def complete(self, given: Mapping[str, object]) -> dict[str, object]:
        """``given`` with every value that was left out."""
        values = {option.key: option.absent for option in (*EVERYWHERE, *self.options)}
        if self.argument:
            values[self.argument.key] = () if self.argument.many else None
        values.update(given)
        return values
