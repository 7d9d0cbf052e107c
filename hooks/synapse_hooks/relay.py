"""The lines that Git gives a hook on standard input: read, and handed on to the hook that runs next."""

from __future__ import annotations

import os

from synapse_git.record import FOLDER


def read_all() -> bytes:
    """Everything on standard input."""
    parts = []
    while part := os.read(0, 262144):
        parts.append(part)
    return b"".join(parts)


def hand_on(lines: bytes, command: list[str], git_dir: str) -> None:
    """Become ``command``, with ``lines`` on standard input."""
    path = f"{git_dir}/{FOLDER}/lines.{os.getpid()}"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w+b", buffering=0) as file:
        os.unlink(path)
        file.write(lines)
        file.seek(0)
        os.dup2(file.fileno(), 0)
    try:
        os.execv(command[0], command)  # noqa: S606 - as Git would run it
    except OSError as error:
        import errno

        if error.errno != errno.ENOEXEC:
            raise
        os.execv("/bin/sh", ["/bin/sh", *command])  # noqa: S606 - as Git runs what has no interpreter
