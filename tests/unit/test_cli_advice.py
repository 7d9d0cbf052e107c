"""Every command that a text of the product tells the user to type exists, with the options it is given."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from synapse_git.cli import catalogue
from synapse_git.cli.verb import EVERYWHERE

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    *(ROOT / "synapse_git").rglob("*.py"),
    *(ROOT / "hub/synapse_hub").rglob("*.py"),
    *(ROOT / "hooks/synapse_hooks").rglob("*.py"),
    *(ROOT / "docs").rglob("*.md"),
    ROOT / "README.md",
]
# The program's name, and what follows it up to the end of the command as far as a text tells one.
_COMMAND = re.compile(r"(?:\bsynapse-git|\bgit synapse) ((?:[^\s`\"')(.,;:|&>][^\s`\"')(,;:|&>]*[ ]*)+)")
_VALUE = "\N{REPLACEMENT CHARACTER}"


def _texts(source: Path) -> Iterator[str]:
    """Every text in a source; a value put into one stands as `_VALUE`. Neighbours that belong together are one."""
    if source.suffix != ".py":
        yield source.read_text()
        return
    tree = ast.parse(source.read_text())
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else _VALUE for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield node.value


def _advice() -> Iterator[tuple[str, str]]:
    for source in SOURCES:
        for text in _texts(source):
            for found in _COMMAND.finditer(text):
                yield str(source.relative_to(ROOT)), found[1].strip()


def _words(command: str) -> list[str]:
    """The command's words, without options that stand before the verb."""
    words = command.split()
    while words and words[0].startswith("-"):
        takes = next((option.metavar for option in EVERYWHERE if words[0] in option.names), "")
        words = words[2:] if takes else words[1:]
    return words


def _verb(words: list[str]) -> str:
    return " ".join(words[:2]) if words and words[0] in catalogue.FAMILIES else words[0] if words else ""


# Words that follow the program's name where a text speaks about it instead of telling what to type.
_PROSE = ("is",)
# What a session's proof begins with, on the wire, and what Gemini CLI calls our hook.
_LABELS = (["session"], ["BeforeTool"])
ADVICE = sorted(set(_advice()))


def test_there_is_advice_to_check() -> None:
    """The search finds what it is meant to find."""
    assert ("synapse_git/cli/status.py", "claim PATH") in ADVICE
    assert len(ADVICE) > 60


@pytest.mark.parametrize(("source", "command"), ADVICE)
def test_advice_names_a_command_that_exists(source: str, command: str) -> None:
    """The verb is one, and so are its options."""
    words = _words(command)
    words = words[1:] if words[:1] == ["help"] else words
    # `synapse-git …` and `synapse-git -C DIR …` stand for any command; `VERB` for any verb.
    if not words or words[0] in ("…", "VERB", _VALUE) or words[0] in _PROSE or words in _LABELS:
        return
    name = _verb(words)
    verb = catalogue.load(name)
    assert verb is not None, f"{source} says: synapse-git {command}"
    known = {spelled for option in (*EVERYWHERE, *verb.options) for spelled in option.names} | {"--help", "-h", "--"}
    own = words[: words.index("--")] if "--" in words else words  # what follows is another program's
    given = [word.partition("=")[0] for word in own[len(name.split()) :] if re.match(r"--?[a-zA-Z]", word)]
    assert set(given) <= known, f"{source} says: synapse-git {command}"
