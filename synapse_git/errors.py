"""Every way in which a command can end without doing what was asked.

A refusal is an expected "no" and travels as data: a reason code, and the members of a problem document
(RFC 9457). The exceptions here exist on the client's side only, to carry it to the exit status.
Stdlib only, and light: hooks import this on their hot path.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# reason code: (HTTP status, exit status). HTTP 0: never on the wire.
REASONS = {
    "LEASE_LIVE": (409, 1),
    "SCOPE_CONFLICT": (409, 1),
    "STALE_EPOCH": (409, 1),
    "VERSION_MISMATCH": (409, 1),
    "IDEMPOTENCY_CONFLICT": (409, 1),
    "NAME_OWNED": (409, 1),
    "NOT_HELD": (409, 1),
    "WAIT_CYCLE": (409, 1),
    "NOT_OWNER": (403, 1),
    "UNCLAIMED": (403, 1),
    "UNGOVERNED": (403, 1),
    "CONTESTED": (403, 1),
    "NOT_AUTHORISED": (403, 1),
    "EXPIRED": (403, 1),
    "INVALID_SCOPE": (400, 1),
    "INVALID_TASK": (400, 1),
    "INVALID_REQUEST": (400, 1),
    "TOO_LARGE": (413, 1),
    "QUOTA_EXCEEDED": (429, 1),
    "JOURNAL_UNAVAILABLE": (503, 3),
    "OWNER_UNREACHABLE": (503, 3),
    "HUB_UNREACHABLE": (0, 3),
}

EXIT_REFUSED = 1
EXIT_USAGE = 2
EXIT_UNREACHABLE = 3
EXIT_CHECKOUT = 4
EXIT_BUG = 70
EXIT_OUTPUT = 74


class SynapseError(Exception):
    """Base of all; ``exit_status`` is what the process ends with, ``reason`` a code of `REASONS` or ''."""

    exit_status = EXIT_BUG
    reason = ""


class UsageError(SynapseError):
    """The command line is wrong: exit 2."""

    exit_status = EXIT_USAGE

    def __init__(self, text: str, reason: str = "") -> None:
        super().__init__(text)
        self.reason = reason


class CheckoutError(SynapseError):
    """The repository, worktree or path cannot be used: exit 4."""

    exit_status = EXIT_CHECKOUT


class HubUnreachable(SynapseError):
    """No hub answered in time: exit 3. The text says how to go on."""

    exit_status = EXIT_UNREACHABLE
    reason = "HUB_UNREACHABLE"


class AnotherHub(HubUnreachable):
    """The hub that granted in the repository is not the one to be had: that one knows nothing of what is held."""


class Refused(SynapseError):
    """The hub said no. ``problem`` is its problem document, with ``reason`` in it."""

    def __init__(self, problem: Mapping[str, Any]) -> None:
        self.problem = dict(problem)
        self.reason = str(problem.get("reason", ""))
        self.exit_status = REASONS.get(self.reason, (0, EXIT_REFUSED))[1]
        super().__init__(str(problem.get("detail") or self.reason))


class InvalidScope(SynapseError):
    """A path that cannot be claimed. On the command line the client sees it first: exit 2."""

    exit_status = EXIT_USAGE
    reason = "INVALID_SCOPE"
