"""The Git hooks of a repository, set up and looked at by processes of their own."""

from __future__ import annotations

import sys

from synapse_git import document
from synapse_git.errors import EXIT_CHECKOUT, EXIT_USAGE, CheckoutError, Refused, SynapseError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    Process = subprocess.Popen[bytes]

# How many checkouts are looked at side by side.
_AT_ONCE = 4


class Standing:
    """How the guard of a checkout stands: does it ``cover`` commits there, and what is there to ``mend``, in words?

    ``interpreter``: what its hooks start, '' where there are none. ``certain``: False where it could not be looked at.
    """

    __slots__ = ("certain", "cover", "interpreter", "mend")

    def __init__(self, cover: bool, mend: str, interpreter: str = "", *, certain: bool = True) -> None:
        self.cover = cover
        self.mend = mend
        self.interpreter = interpreter
        self.certain = certain


def act(verb: str, root: str, env: Mapping[str, str]) -> dict[str, Any]:
    """``install`` or ``uninstall`` the hooks of the checkout at ``root``; what was done.

    Raises:
        SynapseError: of the kind that the process ended with.
    """
    return _finish(verb, _begin(verb, root, env))


def act_each(verb: str, roots: Iterable[str], env: Mapping[str, str]) -> dict[str, dict[str, Any] | SynapseError]:
    """`act` for each of ``roots``; what was done, or why not."""
    done: dict[str, dict[str, Any] | SynapseError] = {}
    for root, process in _begin_each(verb, roots, env):
        try:
            done[root] = _finish(verb, process)
        except SynapseError as error:
            done[root] = error
    return done


def tools(arguments: Sequence[str], env: Mapping[str, str]) -> dict[str, Any]:
    """Have something done about the hooks of coding agents; what was done. Raises as `act`."""
    return _finish(arguments[0], _start(["tools", *arguments], env))


def standing(root: str, env: Mapping[str, str]) -> Standing:
    """How it stands at ``root``; what cannot be looked at is not covered."""
    return _standing(_begin("status", root, env))


def survey(roots: Iterable[str], env: Mapping[str, str]) -> dict[str, Standing]:
    """How it stands at each of ``roots``."""
    return {root: _standing(process) for root, process in _begin_each("status", roots, env)}


def _begin_each(verb: str, roots: Iterable[str], env: Mapping[str, str]) -> Iterator[tuple[str, Process]]:
    """A few at a time."""
    rest = list(dict.fromkeys(roots))
    while rest:
        batch, rest = rest[:_AT_ONCE], rest[_AT_ONCE:]
        yield from [(root, _begin(verb, root, env)) for root in batch]


def _begin(verb: str, root: str, env: Mapping[str, str]) -> Process:
    return _start([verb, "--cwd", root], env)


def _start(arguments: Sequence[str], env: Mapping[str, str]) -> Process:
    import subprocess  # costs more than Git itself, and is not wanted where everything is remembered

    return subprocess.Popen(
        [sys.executable, "-I", "-m", "synapse_hooks", *arguments],
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _finish(verb: str, process: Process) -> dict[str, Any]:
    output, complaints = process.communicate()
    try:
        report = document.read(output)
    except ValueError:
        report = None
    if not isinstance(report, dict):
        last: Sequence[str] = complaints.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise SynapseError(f"{verb} of the hooks ended with {process.returncode}: {' '.join(last) or 'no word why'}")
    if process.returncode or "error" in report:
        raise _failure(report, process.returncode)
    return report


def _failure(report: dict[str, Any], status: int) -> SynapseError:
    text = str(report.get("error", ""))
    if reason := report.get("reason"):
        return Refused({"reason": reason, "detail": text})
    if status == EXIT_CHECKOUT:
        return CheckoutError(text)
    if status == EXIT_USAGE:
        return UsageError(text)
    return SynapseError(text)


def _standing(process: Process) -> Standing:
    try:
        report = _finish("status", process)
    except SynapseError as error:
        return Standing(False, str(error), certain=False)
    cover = bool(report["mode"]) and report["guarded"] and report["interpreter_exists"]
    return Standing(cover, str(report["detail"]), str(report["interpreter"]))
