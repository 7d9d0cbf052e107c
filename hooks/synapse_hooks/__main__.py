"""``python -I -m synapse_hooks install|uninstall|status [--cwd DIR]``: one JSON object on standard output."""

from __future__ import annotations

import json
import os
import sys

from synapse_git.errors import EXIT_BUG, SynapseError, UsageError
from synapse_hooks import installation, standing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_VERBS = {"install": installation.install, "uninstall": installation.uninstall, "status": standing.status}
_USAGE = f"usage: python -I -m synapse_hooks {'|'.join(_VERBS)} [--cwd DIR]"


def main(arguments: Sequence[str]) -> int:
    """The exit status: that of the error, if one is reported."""
    try:
        verb, cwd = _parse(arguments)
        report: dict[str, Any] = _VERBS[verb](cwd, os.environ)
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


def _parse(arguments: Sequence[str]) -> tuple[str, str]:
    verb, *rest = arguments or [""]
    if verb not in _VERBS or len(rest) not in (0, 2) or rest[:1] not in ([], ["--cwd"]):
        raise UsageError(_USAGE)
    return verb, os.path.abspath(rest[1] if rest else ".")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
