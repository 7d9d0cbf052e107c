"""What becomes of a change that is refused, or that nobody can judge."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from synapse_git.checkout import Checkout
from synapse_hooks import gate
from synapse_hooks.verdict import Change


@contextmanager
def hanging_up(path: Path) -> Iterator[list[str]]:
    """Somebody listens at ``path`` and hangs up on whoever comes; the requests that came."""
    came: list[str] = []
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    path.chmod(0o600)
    listener.listen()

    def serve() -> None:
        while True:
            try:
                line, _ = listener.accept()
            except OSError:
                return
            with line:
                came.append(line.recv(65536).decode().partition(" HTTP")[0])

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield came
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        listener.close()


def test_whoever_asked_in_vain_is_not_told_of_the_override(tmp_path: Path) -> None:
    """It waits in a file, without a second wait for the same silence."""
    here = Checkout(str(tmp_path), str(tmp_path), str(tmp_path), {})
    env = {
        "HOME": str(tmp_path),
        "SYNAPSE_HUB": str(tmp_path / "s"),
        "SYNAPSE_OVERRIDE": "it burns",
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    change = Change("ana", "n", "wt:1", "commit", b"a\0", b"a\0")
    with hanging_up(tmp_path / "s") as came:
        assert gate.objection(change, None, env, here) is None
    assert set(came) == {"POST /v2/guard"}
    (left,) = (tmp_path / "state/synapse-git/overrides").iterdir()
    assert json.loads(left.read_text())["reason_text"] == "it burns"
