"""``docs/reference/cli.md``, made from the declarations of the verbs. ``python -m tests.cli_reference`` writes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from synapse_git.cli import catalogue
from synapse_git.cli.verb import EVERYWHERE, Option, Verb

PAGE = Path(__file__).resolve().parent.parent / "docs/reference/cli.md"

_HEAD = """# Command line

`synapse-git VERB …`, or `git synapse VERB …`, which is the same program (for help: `git synapse help`, since Git itself
takes `git synapse --help` for a question about a manual page). This page is made from the declarations that
both parsers use; `synapse-git VERB --help` says the same.

Results go to standard output, messages to standard error. With `--json` every verb prints one JSON document on
standard output, and a refusal is its [problem document](routes.md#refusals).

| exit status | meaning |
|---|---|
| 0 | done |
| 1 | refused; a [reason code](reasons.md) was printed |
| 2 | wrong usage |
| 3 | no hub, or the owner's hub, could be reached |
| 4 | the repository, worktree or path is not usable |
| 70 | a bug; the path of the log was printed |
| 74 | the answer could not be written, to a full disk for example; what was asked for may have been done |

## Everywhere

Before the verb or after it:
"""


def render() -> str:
    """The whole page."""
    parts = [_HEAD, _table(EVERYWHERE), ""]
    for heading, names in catalogue.GROUPS.items():
        parts += [f"## {heading}", ""]
        for name in names:
            verb = catalogue.load(name)
            assert verb is not None
            parts += _verb(verb)
    return "\n".join(parts).rstrip() + "\n"


def _verb(verb: Verb) -> Iterator[str]:
    yield f"### `{verb.name}`\n"
    yield f"    synapse-git {_usage(verb)}\n"
    yield f"{verb.help}\n"
    if verb.options:
        yield _table(verb.options) + "\n"
    width = max(len(line) for line, _ in verb.examples)
    yield "```sh"
    yield from (f"synapse-git {line:<{width}}  # {does}" for line, does in verb.examples)
    yield "```\n"


def _usage(verb: Verb) -> str:
    words = [verb.name]
    if verb.options:
        words.append("[OPTION…]")
    if (argument := verb.argument) is not None:
        shown = argument.metavar + ("…" if argument.many else "")
        words.append(shown if argument.required else f"[{shown}]")
    return " ".join(words)


def _table(options: Iterable[Option]) -> str:
    rows = ["| option | meaning |", "|---|---|"]
    for option in options:
        spelled = ", ".join(f"`{name}{' ' + option.metavar if option.metavar else ''}`" for name in option.names)
        rows.append(f"| {spelled} | {option.help} |")
    return "\n".join(rows)


if __name__ == "__main__":
    PAGE.write_text(render())
