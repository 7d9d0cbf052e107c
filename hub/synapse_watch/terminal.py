"""The watcher in somebody's terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress

from synapse_git import document, explain, scope
from synapse_git.checkout import Checkout
from synapse_git.errors import SynapseError
from synapse_watch import post
from synapse_watch.patrol import Patrol
from synapse_watch.report import Edit, Report

# The hub believes in a watcher that it cannot see for three times as long.
_REPEAT_S = 20.0
_PATIENCE_S = 5.0


class Terminal:
    """``json``: one document a line instead of a sentence."""

    def __init__(self, here: Checkout, env: Mapping[str, str], *, json: bool) -> None:
        self._json = json
        self._root = here.root
        self._git_dir = here.git_dir
        self._report = Report(here, env)
        self._patrol = Patrol(here, env, tell=self._tell, stand=self._stand, settle=self._settle, repeat_s=_REPEAT_S)
        self._state = ("", "")

    def run(self, stop: threading.Event) -> None:
        """Until ``stop``. Raises: CheckoutError, where another watcher does not make way."""
        try:
            # The hub's own watcher makes way for one that speaks up.
            self._report.stand("degraded", "it begins", foreground=True)
            if post.take(self._git_dir, stop, _PATIENCE_S) >= 0:
                self._patrol.run(stop)
        finally:
            with suppress(SynapseError):
                self._report.stand("off", "", foreground=True)

    def _tell(self, edit: Edit, kept: str, why: str) -> None:
        path = scope.from_bytes(edit.path)
        who = edit.agent or "unknown"
        done = f"put back, see synapse-git quarantine show {kept}" if kept else "it is on record"
        done += f", and left as it is: {why}" if why else ""
        by = f"{who}'s Git" if edit.by == "git" else who
        self._print(
            f"{edit.owner}'s {scope.show(path)} was changed by {by} (task {edit.task_id}); {done}",
            {
                "kind": "foreign_edit",
                "path": scope.to_wire(path),
                "owner": edit.owner,
                "task_id": edit.task_id,
                "namespace": edit.namespace,
                "by": edit.by,
                "agent": edit.agent,
                "quarantine": kept,
                "left": why,
            },
        )

    def _settle(self, moved: int) -> None:
        self._print(f"Git moved {moved} files along with HEAD", {"kind": "moved", "files": moved})

    def _stand(self, state: str, reason: str) -> None:
        self._report.stand(state, reason, foreground=True)
        if (state, reason) != self._state:
            self._state = (state, reason)
            text = f"watching {scope.show(self._root)}" if state == "live" else f"{state}: {reason}"
            self._print(text, {"kind": "state", "state": state, "reason": reason})

    def _print(self, text: str, fields: Mapping[str, object]) -> None:
        if self._json:
            sys.stdout.write(document.write({"at": time.time(), **fields}) + "\n")
        else:
            moment = explain.moment(time.time())
            sys.stdout.write(f"{moment}  {text}\n")
        sys.stdout.flush()
