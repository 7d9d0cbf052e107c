"""The files that Git runs: where their text comes from, and whether a file is one of them."""

from __future__ import annotations

import os
import sys

from synapse_hooks.setup import whole

JUDGING: tuple[str, ...] = (
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "pre-applypatch",
    "reference-transaction",
)
"""The hooks that judge what goes into a checkout's history."""

DECISIVE: tuple[str, ...] = ("prepare-commit-msg", "pre-applypatch", "reference-transaction")
"""Those of them that nothing gets past: without any of these there is no guard. The others only say it sooner."""

OURS: tuple[str, ...] = (*JUDGING, "update", "pre-push", "post-commit", "post-merge", "post-checkout", "post-rewrite")
"""All hooks that have something to do."""

EVERY: tuple[str, ...] = (
    *OURS,
    *("applypatch-msg", "commit-msg", "post-applypatch", "post-index-change", "post-receive", "post-update"),
    *("pre-auto-gc", "pre-rebase", "pre-receive", "proc-receive", "push-to-checkout", "sendemail-validate"),
    *("p4-changelist", "p4-post-changelist", "p4-pre-submit", "p4-prepare-changelist"),
)
"""All hooks that ``core.hooksPath`` displaces; fsmonitor-watchman is named by a setting of its own."""

_MARK = b"# synapse-git hook "
_FIRST = _MARK + b"1"
_BEFORE = b" before "
_READ = 16384


def text(name: str, *, kept: str = "", here: str = "") -> bytes:
    """The hook ``name``. ``kept``: the file beside it to run next; ``here``: its directory, for ``core.hooksPath``."""
    source = os.path.dirname(os.path.abspath(__file__))
    with open(source + "/shim.sh", "rb") as file:
        template = file.read()
    values = {
        "name": name,
        "kept": kept,
        "here": here,
        "python": interpreter(),
        "launch": os.path.dirname(source) + "/launch.py",
    }
    lines = []
    for line in template.split(b"\n"):
        variable = line.partition(b"=")[0].decode("ascii", "replace")
        if line == _FIRST and kept:
            line += _BEFORE + os.fsencode(kept)
        elif line.partition(b"=")[2][:2] == b"''" and variable in values:
            line = f"{variable}=".encode() + quoted(values.pop(variable))
        lines.append(line)
    return b"\n".join(lines)


def interpreter() -> str:
    """What the hooks start: this interpreter, by the name that it always has, whatever it was called by now."""
    usual = os.path.dirname(sys.executable) + "/python3"
    return usual if os.path.exists(usual) and os.path.samefile(usual, sys.executable) else sys.executable


def quoted(value: str) -> bytes:
    """``value`` as one word of a shell."""
    return b"'" + os.fsencode(value).replace(b"'", b"'\\''") + b"'"


class Shim:
    """A hook file of ours. ``kept``: the name of the file beside it that it runs next, or ''.

    ``python``, ``launch``: what it starts.
    """

    __slots__ = ("kept", "launch", "python")

    def __init__(self, kept: str, python: str, launch: str) -> None:
        self.kept = kept
        self.python = python
        self.launch = launch

    @property
    def works(self) -> bool:
        """Is what it starts still there?"""
        return os.access(self.python, os.X_OK) and os.access(self.launch, os.R_OK)


def read(path: str) -> Shim | None:
    """The shim at ``path``; None if something else is there, or nothing."""
    try:
        if os.path.islink(path):
            return None
        with open(path, "rb") as file:
            lines = file.read(_READ).split(b"\n")
    except OSError:
        return None
    if len(lines) < 2 or not lines[1].startswith(_MARK):
        return None
    kept = lines[1].partition(_BEFORE)[2]
    return Shim(os.fsdecode(kept), _value(lines, b"python='"), _value(lines, b"launch='"))


def state(path: str, wanted: bytes) -> str:
    """How the hook at ``path`` stands.

    ``current``; ``outdated``: ours and at work, but not as we would write it now; ``broken``: ours, and it cannot
    work; ``foreign``: somebody else's; ``missing``.
    """
    shim = read(path)
    if shim is None:
        return "foreign" if os.path.lexists(path) else "missing"
    if not shim.works or not os.access(path, os.X_OK):
        return "broken"
    return "current" if whole.holds(path, wanted, 0o755) else "outdated"


def _value(lines: list[bytes], start: bytes) -> str:
    found = next((line[len(start) : -1] for line in lines if line.startswith(start)), b"")
    return os.fsdecode(found.replace(b"'\\''", b"'"))
