"""``synapse-git`` and ``git-synapse``: the command line's process."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run the command line of this process; its exit status."""
    try:
        from synapse_git.cli import edge

        return edge.run(sys.argv, os.environ)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
