"""Sessions of harnesses whose shells do not say which one they belong to: found by the process that started both.

A harness's hook and its shell are children of the same process. The hook writes down which session that is, and what
runs in the shell finds it among its ancestors. Needs ``/proc``; stdlib only.
"""

from __future__ import annotations

import os

from synapse_git import address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FOLDER = "sessions"
_SHELLS = (b"sh", b"bash", b"dash", b"zsh", b"fish", b"agent-hook")
_FURTHEST = 16


def note(agent: str, env: Mapping[str, str]) -> None:
    """The process that started this hook is the session of ``agent``. Where that cannot be written it is not known."""
    for pid, start, name in _ancestors():
        if name in _SHELLS:
            continue
        try:
            folder = f"{address.state_dir(env)}/{_FOLDER}"
            target, text = f"{folder}/{pid}", f"{start}\n{agent}\n"
            if _read(target) == text:
                return
            os.makedirs(folder, mode=0o700, exist_ok=True)
            draft = f"{target}.{os.getpid()}"
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(draft, target)
            _sweep(folder)
        except OSError:
            pass
        return


def session(env: Mapping[str, str]) -> str:
    """The agent whose session this process runs in; '' if none is known."""
    folder = f"{address.state_dir(env)}/{_FOLDER}"
    if not os.path.isdir(folder):
        return ""
    for pid, start, _ in _ancestors():
        found = _read(f"{folder}/{pid}").split("\n")
        if found[0] == start and len(found) > 1:
            return found[1]
    return ""


def _sweep(folder: str) -> None:
    """Forget processes that are over."""
    for name in os.listdir(folder):
        if not os.path.isdir(f"/proc/{name.partition('.')[0]}"):
            os.unlink(f"{folder}/{name}")


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(4096).decode("utf-8", "replace")
    except OSError:
        return ""


def _ancestors() -> Iterator[tuple[int, str, bytes]]:
    """Pid, start and name of the parent, its parent, and so on."""
    pid = os.getppid()
    for _ in range(_FURTHEST):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                head, _, rest = file.read(4096).rpartition(b") ")
        except OSError:
            return
        fields = rest.split()
        yield pid, fields[19].decode("ascii"), head.partition(b"(")[2]
        pid = int(fields[1])
        if pid <= 1:
            return
