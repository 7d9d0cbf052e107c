"""Claims in words, and commands to type next."""

from __future__ import annotations

import os
import time

from synapse_git import explain, scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from synapse_git.cli.call import Call

_NAMED = 5

shell = explain.shell


def typed(call: Call, verb: str, task: str) -> str:
    """The command that does ``verb`` to ``task`` under the name this call acts under."""
    return command(call, f"{verb} -t {shell(task)}")


def command(call: Call, rest: str) -> str:
    """The program with ``rest``, under the name this call acts under."""
    agent = call.text("agent")
    return f"synapse-git {rest}" + (f" --agent {shell(agent)}" if agent else "")


def paths(claim: Mapping[str, Any], *, most: int = _NAMED) -> str:
    """What a claim covers; up to ``most`` paths are named."""
    return listed([explain.wire_path(path) for path in claim["paths"]], most=most) or everything(claim)


def everything(claim: Mapping[str, Any]) -> str:
    return "the whole worktree" if claim["worktree"] else "the whole shared tree"


def listed(found: Sequence[str], *, most: int = _NAMED) -> str:
    """``a, b and 3 more``."""
    shown = ", ".join(scope.show(path) for path in found[:most])
    return f"{shown} and {len(found) - most} more" if len(found) > most else shown


def place(root: object, env: Mapping[str, str]) -> str:
    """A directory of a document: under the home it starts with ``~``, one that is gone is marked."""
    path = explain.wire_path(root)
    home = env.get("HOME", "")
    shown = f"~{path.removeprefix(home)}" if home and scope.covers(home, path) else path
    return scope.show(shown) + ("" if os.path.isdir(path) else " (gone)")


def until(claim: Mapping[str, Any], now: float) -> str:
    """When a claim ends, by this machine's wall clock; ``now`` is the hub's, at which the claim was told.

    One that was taken away keeps others out until then and is its holder's no more.
    """
    moment = explain.moment(time.time() + claim["lease_expires_at"] - now)
    return f"{moment}, taken away" if claim.get("status") == "revoked" else moment
