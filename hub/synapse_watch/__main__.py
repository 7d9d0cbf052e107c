"""``python -I -m synapse_watch here DIR [--json]``: watch the checkout around DIR until interrupted.

Prints what it sees, for a person or as one JSON document a line. ``serve`` is the hub's child: it watches what standard
input names, until that ends.
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
from synapse_watch.roster import Roster
from synapse_watch.terminal import Terminal

_USAGE = "usage: python -I -m synapse_watch here DIR [--json] | serve"
_INTERRUPTED = 130

log = logging.getLogger("synapse_watch")


def main(arguments: Sequence[str]) -> int:
    """The exit status: 130 once interrupted."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="synapse-git: %(message)s")
    try:
        match list(arguments):
            case ["here", directory] | ["here", directory, "--json"]:
                here = checkout.find(directory, os.environ)
                Terminal(here, os.environ, json=len(arguments) > 2).run(_interruption())
                return _INTERRUPTED
            case ["serve"]:
                Roster(os.environ).serve(sys.stdin.buffer)
                return 0
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


def _interruption() -> threading.Event:
    """Set by the signals that ask a program to end."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    return stop


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
