"""How guards stand, without a close look where nothing has moved since the last one.

A close look costs an interpreter of its own. What it found is remembered beside a mark of all that it depends on:
which directory Git takes hooks from, and the files in it.
"""

from __future__ import annotations

import os
import sys

from synapse_git import __version__, address, document, git
from synapse_git.cli import guard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from synapse_git.cli.guard import Standing

# How many checkouts Git is asked about side by side.
_AT_ONCE = 8


def survey(roots: Iterable[str], env: Mapping[str, str]) -> dict[str, Standing]:
    """How the guard of each of ``roots`` stands."""
    marks = _marks(list(dict.fromkeys(roots)), env)
    remembered = _read(env)
    found = {root: standing for root, mark in marks.items() if (standing := _recall(remembered.get(root), mark))}
    moved = [root for root in marks if root not in found]
    if moved:
        found |= guard.survey(moved, env)
        _write(env, {root: _entry(found[root], mark) for root, mark in marks.items() if mark and found[root].certain})
    return found


def _marks(roots: list[str], env: Mapping[str, str]) -> dict[str, str]:
    """What the standing of each of ``roots`` depends on; '' where that cannot be told."""
    marks: dict[str, str] = {}
    clean = git.scrubbed(env)
    while roots:
        batch, roots = roots[:_AT_ONCE], roots[_AT_ONCE:]
        ask = ("rev-parse", "--path-format=absolute", "--git-path", "hooks")
        asked = [(root, git.Question(["-C", root, *ask], clean)) for root in batch]
        for root, question in asked:
            status, output, _ = question.finish()
            marks[root] = "" if status else _mark(os.fsdecode(output.removesuffix(b"\n")))
    return marks


def _mark(directory: str) -> str:
    files = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                found = entry.stat(follow_symlinks=False)
                files.append(f"{entry.name}:{found.st_ino}:{found.st_mtime_ns}:{found.st_size}:{found.st_mode}")
    except FileNotFoundError:
        pass
    except OSError:
        return ""
    import hashlib

    text = "\n".join([__version__, os.path.dirname(sys.executable), directory, *sorted(files)])
    return hashlib.sha256(os.fsencode(text)).hexdigest()


def _recall(entry: Any, mark: str) -> Standing | None:
    """What was found under the same ``mark``, unless what the hooks start has gone since."""
    match entry:
        case {"mark": str(known), "cover": bool(cover), "mend": str(mend), "interpreter": str(interpreter)}:
            if mark and known == mark and (not interpreter or os.access(interpreter, os.X_OK)):
                return guard.Standing(cover, mend, interpreter)
    return None


def _entry(standing: Standing, mark: str) -> dict[str, object]:
    return {"mark": mark, "cover": standing.cover, "mend": standing.mend, "interpreter": standing.interpreter}


def _file(env: Mapping[str, str]) -> str:
    return address.state_dir(env) + "/standings"


def _read(env: Mapping[str, str]) -> dict[str, Any]:
    try:
        with open(_file(env), "rb") as file:
            found = document.read(file.read())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(env: Mapping[str, str], entries: Mapping[str, object]) -> None:
    """Whole or not at all; where it cannot be remembered the next look is a close one again."""
    draft = f"{_file(env)}.{os.getpid()}"
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(document.write(dict(entries)))
        os.replace(draft, _file(env))
    except OSError:
        pass
