"""The edge of a hook's process: whatever goes wrong ends in one clear line and in a refusal."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# 1 is how Python itself ends when it cannot start, so that a refusal needs a status of its own.
PASS, REFUSED, BROKEN = 0, 10, 11


def main(arguments: Sequence[str]) -> int:
    """The exit status, as the shims understand it: may Git go on?

    ``tool HARNESS EVENT`` is a coding agent's hook, whose answer is what it prints: any status but 0 stops nothing.
    """
    try:
        _open_standard_streams()
        if arguments[0] == "tool":
            from synapse_hooks.tools import hook

            return hook.main(*arguments[1:])
        from synapse_hooks import check

        return PASS if check.main(arguments) else REFUSED
    except KeyboardInterrupt:
        return REFUSED
    except Exception as error:  # noqa: BLE001 - the edge of the process
        try:  # noqa: SIM105 - as in run
            os.write(2, f"synapse-git: {_log(error)}\n".encode("utf-8", "backslashreplace"))
        except OSError:
            pass  # nobody listens; the status tells Git
        return BROKEN


def _open_standard_streams() -> None:
    """A closed one would be handed out as the descriptor of a pipe."""
    while os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC) <= 2:
        pass


def _log(error: Exception) -> str:
    """Write down what happened; one line that says so."""
    import traceback

    kind = f"{type(error).__name__}: {error}"
    try:
        from synapse_git import address

        state = address.state_dir(os.environ)
        os.makedirs(state, mode=0o700, exist_ok=True)
        log = os.open(state + "/hooks.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(log, "".join(traceback.format_exception(error)).encode("utf-8", "backslashreplace"))
        os.close(log)
    except (OSError, ImportError, KeyError):
        return f"the check failed ({kind}), and that could not be logged"
    return f"the check failed ({kind}); details are in {state}/hooks.log"
