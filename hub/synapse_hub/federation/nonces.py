"""Which signed requests were here already: each counts once, and is remembered for as long as it could come again."""

from __future__ import annotations

from synapse_git.constants import DEFAULT_MESSAGE_AUTH_WINDOW_SECONDS, MAX_REMEMBERED_NONCES


class Nonces:
    """Nonces by the second they were made in, so that what no window lets through any more goes a second at a time."""

    def __init__(self) -> None:
        self._seen: dict[int, set[tuple[str, str]]] = {}
        self._count = 0
        # The latest instant at which a request was let in.
        self._latest = 0.0

    def __len__(self) -> int:
        return self._count

    def known(self, key_id: str, nonce: str, created: int) -> bool:
        """Was it here?"""
        return (key_id, nonce) in self._seen.get(created, ())

    def outlived(self, created: int) -> bool:
        """Was the window of that second over before? A clock that was set back opens none again."""
        return created < self._latest - DEFAULT_MESSAGE_AUTH_WINDOW_SECONDS

    def remember(self, key_id: str, nonce: str, created: int, now: float) -> bool:
        """Note a nonce that is not `known`; False where there is no room, and then it must not be let in."""
        self._forget(now)
        if self._count >= MAX_REMEMBERED_NONCES:
            return False
        self._latest = max(self._latest, now)
        self._seen.setdefault(created, set()).add((key_id, nonce))
        self._count += 1
        return True

    def _forget(self, now: float) -> None:
        for created in [second for second in self._seen if second < now - DEFAULT_MESSAGE_AUTH_WINDOW_SECONDS]:
            self._count -= len(self._seen.pop(created))
