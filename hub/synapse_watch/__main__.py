"""``python -I -m synapse_watch here DIR [--json]``: watch the checkout around DIR until interrupted.

Prints what it sees, for a person or as one JSON document a line.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence

from synapse_git import checkout
from synapse_git.errors import EXIT_BUG, EXIT_USAGE, SynapseError
from synapse_watch.terminal import Terminal

_USAGE = "usage: python -I -m synapse_watch here DIR [--json]"
_INTERRUPTED = 130

log = logging.getLogger("synapse_watch")


def main(arguments: Sequence[str]) -> int:
    """The exit status: 130 once interrupted."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="synapse-git: %(message)s")
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        match list(arguments):
            case ["here", directory] | ["here", directory, "--json"]:
                json = len(arguments) > 2
                Terminal(checkout.find(directory, os.environ), os.environ, json=json).run(stop)
                return _INTERRUPTED
    except SynapseError as error:
        sys.stderr.write(f"synapse-git: {error}\n")
        return error.exit_status
    except BrokenPipeError:
        return 0
    except Exception:
        log.exception("a bug in the watcher")
        return EXIT_BUG
    sys.stderr.write(_USAGE + "\n")
    return EXIT_USAGE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
