"""``python -I -m synapse_hooks install|uninstall|status [--cwd DIR]``: one JSON object on standard output.

``tools …`` is the same for the hooks of coding agents, see `tools.agents`.
``judge`` is for tools that run hooks of their own: it does what the hook before a commit does, and prints as that does.
"""

from __future__ import annotations

import json
import os
import sys

from synapse_git.errors import EXIT_BUG, EXIT_REFUSED, SynapseError, UsageError
from synapse_hooks import edge
from synapse_hooks.setup import installation, standing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_VERBS = {"install": installation.install, "uninstall": installation.uninstall, "status": standing.status}
_USAGE = f"usage: python -I -m synapse_hooks {'|'.join(_VERBS)} [--cwd DIR] | judge"


def main(arguments: Sequence[str]) -> int:
    """The exit status: that of the error, if one is reported."""
    if list(arguments) == ["judge"]:
        return _judge()
    try:
        report = _act(arguments)
        status = 0
    except SynapseError as error:
        report = {"error": str(error)} | ({"reason": error.reason} if error.reason else {})
        status = error.exit_status
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001 - the edge of the process
        report = {"error": f"this is a bug: {type(error).__name__}: {error}"}
        status = EXIT_BUG
    sys.stdout.write(json.dumps(report) + "\n")
    return status


def _act(arguments: Sequence[str]) -> dict[str, Any]:
    if arguments[:1] == ["tools"]:
        from synapse_hooks.tools import agents

        return agents.act(arguments[1:], os.environ)
    verb, cwd = _parse(arguments)
    return _VERBS[verb](cwd, os.environ)


def _judge() -> int:
    """Judge what is about to be committed in the current directory, the top of a checkout."""
    merging = any(name.startswith("GITHEAD_") for name in os.environ) and not os.path.lexists(
        _git_dir() + "/MERGE_HEAD"
    )
    moment = "pre-merge-commit" if merging else "pre-commit"
    return 0 if edge.main([moment, str(os.getppid()), ""]) == edge.PASS else EXIT_REFUSED


def _git_dir() -> str:
    return os.environ.get("GIT_DIR", ".git")


def _parse(arguments: Sequence[str]) -> tuple[str, str]:
    verb, *rest = arguments or [""]
    if verb not in _VERBS or len(rest) not in (0, 2) or rest[:1] not in ([], ["--cwd"]):
        raise UsageError(_USAGE)
    return verb, os.path.abspath(rest[1] if rest else ".")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
