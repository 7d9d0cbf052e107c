"""What a shim starts: ``python -I -S launch.py HOOK PPID GENERIC [ARGUMENT…]``. Makes the packages importable.

Python compiles this file anew for every hook, so everything else is in `edge`, of which it keeps the compiled form.
"""

import os
import sys

# Installed, synapse_git lies beside synapse_hooks; in a checkout it lies one level up.
beside = __file__.rpartition("/")[0].rpartition("/")[0]
sys.path.append(beside)
if not os.path.isdir(beside + "/synapse_git"):
    sys.path.append(beside.rpartition("/")[0])

if __name__ == "__main__":
    from synapse_hooks import edge

    # Nothing is buffered, and tearing the interpreter down takes a tenth of the whole check.
    os._exit(edge.main(sys.argv[1:]))
