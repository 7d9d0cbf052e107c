"""What comes to stand where files are copied, moved or linked to: the files that are written, each by its name."""

from __future__ import annotations

import os

from synapse_hooks.tools.operands import operands
from synapse_hooks.tools.shell import Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST = 1000


def written(command: str, words: Sequence[Token], here: str | None) -> list[Token]:
    """By ``cp``, ``mv``, ``ln`` or ``install``; nothing where it is not to be told."""
    words = _aimed(words) if command != "rsync" else words
    *sources, target = operands(words) or [Token("")]
    if command == "ln" and target.text and not target.text.endswith("/") and not sources:
        sources, target = [target], Token(".")
    if not sources or (here is None and not all(one.text.startswith("/") for one in (*sources, target))):
        return []
    found = [one for one in sources if command == "mv"]
    if not (target.certain and target.text) or not all(one.certain for one in sources):
        return found  # which goes where is uncertain, and not that they go
    at = here or "/"
    into = os.path.isdir(os.path.join(at, target.text))
    if not into and (len(sources) > 1 or target.text.endswith("/")):
        return found
    for source in sources:
        name = os.path.basename(source.text.rstrip("/"))
        place = os.path.join(target.text, name) if into else target.text
        full = os.path.join(at, source.text)
        if command in ("mv", "ln") or not os.path.isdir(full):
            found.append(Token(place))
        elif command == "cp" and _recursive(words) and name not in ("", ".."):
            found += [Token(os.path.join(place, inner)) for inner in _beneath(full)]
    return found


def _aimed(words: Sequence[Token]) -> Sequence[Token]:
    """``cp -t DIR a b`` as ``cp a b DIR/``; the command alone where it cannot be run."""
    found: list[Token] = []
    aims: list[Token] = []
    rest = iter(words)
    for word in rest:
        text = word.text
        if text == "--":
            found += [word, *rest]
        elif text in ("-t", "--target-directory"):
            aims.append(next(rest, Token("")))
        elif text.startswith("--target-directory="):
            aims.append(Token(text.partition("=")[2], certain=word.certain))
        elif text.startswith("-t"):
            aims.append(Token(text[2:], certain=word.certain))
        else:
            found.append(word)
    if not aims:
        return words
    if len(aims) > 1 or not aims[0].text:
        return words[:1]
    return [*found, Token(aims[0].text.rstrip("/") + "/", certain=aims[0].certain)]


def _recursive(words: Sequence[Token]) -> bool:
    letters = {letter for word in words[1:] if word.text[:2] != "--" and word.text[:1] == "-" for letter in word.text}
    return bool({"r", "R", "a"} & letters) or any(word.text in ("--recursive", "--archive") for word in words)


def _beneath(directory: str) -> list[str]:
    """The files of a directory, relative to it; none where they are too many to be told one by one."""
    found: list[str] = []
    for folder, folders, files in os.walk(directory):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        found += [os.path.relpath(os.path.join(folder, name), directory) for name in (*files, *links)]
        if len(found) > _MOST:
            return []
    return found
