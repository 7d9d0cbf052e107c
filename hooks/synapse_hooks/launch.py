"""What a shim starts: ``python -I -S launch.py HOOK PPID GENERIC [ARGUMENT…]``. Makes the packages importable.

Python compiles this file anew for every hook, so everything else is in `edge`, of which it keeps the compiled form.
"""

import os
import sys

# Installed, synapse_git lies beside synapse_hooks; in a checkout it lies one level up.
beside = __file__.rpartition("/")[0].rpartition("/")[0]
places = [beside] if os.path.isdir(beside + "/synapse_git") else [beside, beside.rpartition("/")[0]]

# First only while the two packages are found: so Python need not read its own directories for them, and nothing that
# lies beside them is ever taken for a part of Python.
sys.path[:0] = places
import synapse_git  # noqa: E402, F401 - found once, a package knows its own place
import synapse_hooks  # noqa: E402, F401 - as above

sys.path[:] = sys.path[len(places) :] + places

if __name__ == "__main__":
    from synapse_hooks import edge

    # Nothing is buffered, and tearing the interpreter down takes a tenth of the whole check.
    os._exit(edge.main(sys.argv[1:]))
