"""One watcher for one checkout: whoever holds its post, by a lock of the operating system."""

from __future__ import annotations

import fcntl
import os
import threading
import time

from synapse_git import record
from synapse_git.errors import CheckoutError

_POLL_S = 0.1


def take(git_dir: str, stop: threading.Event, patience_s: float = float("inf")) -> int:
    """The descriptor that holds the post once nobody else does; -1 if told to stop before. It ends with the process.

    Raises:
        CheckoutError: another watcher has it all the time, or nothing can be written there.
    """
    deadline = time.monotonic() + patience_s
    folder = f"{git_dir}/{record.FOLDER}"
    try:
        os.makedirs(folder, exist_ok=True)
        descriptor = os.open(f"{folder}/watching", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise CheckoutError(f"cannot write to {folder}: {error.strerror}. Make the git dir writable") from error
    while not stop.is_set():
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(descriptor)
                raise CheckoutError("somebody else's synapse-git watch is at work in this checkout") from None
        stop.wait(_POLL_S)
    os.close(descriptor)
    return -1
