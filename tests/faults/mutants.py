"""Breaks each guard in a copy of the tree and runs the quick tests there: ``python -m tests.faults.mutants [WORD…]``.

Prints the breakages that no test noticed. A test that never ends has noticed, too.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tests.faults import mutations, tree
from tests.faults.tree import Breakage

DEADLINE_S = 75.0
_PATIENCE = 5
"""How many times as long as without a breakage the tests may take before they count as never ending."""
QUICK = (
    "tests/unit/test_scope.py",
    "tests/unit/test_clock.py",
    "tests/unit/test_attempt.py",
    "tests/unit/test_attribution.py",
    "tests/unit/test_picture.py",
    "tests/unit/test_origin.py",
    "tests/unit/test_switches.py",
    "tests/unit/test_writes.py",
    "tests/watch/test_quarantine.py",
    "tests/unit/test_binding.py",
    "tests/unit/test_hooks_include.py",
    "tests/unit/test_record.py",
    "tests/unit/test_hooks_changes.py",
    "tests/unit/test_hooks_commits.py",
    "tests/unit/test_hooks_gate.py",
    "tests/unit/test_hooks_judged.py",
    "tests/unit/test_hooks_omission.py",
    "tests/unit/test_hooks_operation.py",
    "tests/unit/test_hooks_updates.py",
    "tests/unit/test_cli_output.py",
    "tests/unit/shim",
    "tests/machine/test_core_machine.py",
    "tests/machine/test_talk_machine.py",
    "tests/machine/test_names_machine.py",
    "tests/invariants",
    "tests/faults/test_salvage.py",
    "tests/tools/test_edits.py",
    "tests/tools/test_command.py",
    "tests/tools/test_written.py",
    "tests/team/test_telling.py",
    "tests/team/test_ownership.py",
    "tests/team/test_receipts.py",
    "tests/team/test_forwarding.py",
    "tests/team/test_alike.py",
    "tests/team/test_letters.py",
    "tests/team/test_resumed.py",
    "tests/team/test_reports.py",
    "tests/team/test_init.py",
    "tests/team/test_moves.py",
    "tests/team/test_waiting.py",
    "tests/team/test_succession.py",
    "tests/team/test_line.py",
    "tests/team/test_listening.py",
    "tests/team/test_relocation.py",
    "tests/unit/test_checkout.py",
    "tests/team/test_settlement.py",
    "tests/team/test_witness.py",
)
WHOLE = Breakage("nothing broken", ())
_AT_ONCE = 2


def main(words: Sequence[str]) -> int:
    """Try the breakages whose name holds one of ``words``, or all; how many survived."""
    chosen = [one for one in mutations.BREAKAGES if not words or any(word in one.name for word in words)]
    start = time.monotonic()
    # One copy for all, so that an edit made meanwhile is not taken for what a breakage did.
    with tree.copy() as source, ThreadPoolExecutor(_AT_ONCE) as pool:
        if found := noticed_by(WHOLE, source=source, deadline_s=900.0):
            print(f"{found} fails without any breakage")
            return 1
        deadline_s = max(DEADLINE_S, _PATIENCE * (time.monotonic() - start))
        noticed = list(pool.map(partial(_tried, source, deadline_s), chosen))
    survivors = [one.name for one, found in zip(chosen, noticed, strict=True) if not found]
    for name in survivors:
        print(f"survived: {name}")
    print(f"{len(chosen)} breakages, {len(survivors)} survived, {time.monotonic() - start:.0f} s")
    return min(len(survivors), 100)


def _tried(source: Path, deadline_s: float, broken: Breakage) -> str:
    found = noticed_by(broken, source=source, deadline_s=deadline_s)
    print(f"{broken.name}: {found or 'SURVIVED'}", flush=True)
    return found


def noticed_by(
    broken: Breakage, tests: Sequence[str] = QUICK, source: Path = tree.ROOT, *, deadline_s: float = DEADLINE_S
) -> str:
    """The test that fails on a copy of the tree with ``broken`` in it, or ''.

    Raises:
        RuntimeError: pytest ran no tests or was used wrongly.
    """
    with tree.copy(broken, source=source) as root:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "tests.faults.hasty"]
        command += ["-p", "no:cacheprovider", f"--basetemp={root / 'tmp'}", *tests]
        try:
            ended = subprocess.run(
                command,
                cwd=root,
                env=_environment(root),
                capture_output=True,
                text=True,
                timeout=deadline_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "the deadline"
    if ended.returncode == 0:
        return ""
    failed = [line for line in ended.stdout.splitlines() if line.startswith(("FAILED tests/", "ERROR tests/"))]
    if ended.returncode not in (1, 2) or not failed:
        raise RuntimeError(f"{broken.name}: pytest ended with {ended.returncode}\n{ended.stdout[-2000:]}{ended.stderr}")
    return failed[0].split(" - ")[0].split(" ", 1)[1]


def _environment(root: Path) -> dict[str, str]:
    home = str(root / "home")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "SYNAPSE_", "GIT_"))}
    return kept | {"HOME": home, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": tree.python_path(root)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
