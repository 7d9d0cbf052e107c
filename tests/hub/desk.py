"""A hub in this process, on a real journal, with a clock that the test turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from synapse_hub.core.commands import AnyCommand, Keyed
from synapse_hub.core.commands.claims import FamilyCommand, ReleaseClaim, TakeClaim
from synapse_hub.core.outcome import Decided, Outcome, Refusal
from synapse_hub.hub import Hub
from synapse_hub.journal.journal import Journal
from synapse_hub.journal.sqlite import SqliteStore
from synapse_hub.journal.store import Store


class FakeClock:
    """Stands still until it is turned. Unix seconds."""

    def __init__(self, at: float = 1_000_000.0) -> None:
        self.at = at

    def now(self) -> float:
        return self.at


class Rig:
    """A started hub over a directory."""

    def __init__(self, directory: Path, clock: FakeClock, open_store: Callable[[str], Store]) -> None:
        self.clock = clock
        self.journal = Journal(str(directory), open_store)
        self.hub = Hub(self.journal, clock, state=self.journal.replay())
        self.hub.start()

    def do(self, command: AnyCommand) -> Outcome:
        return self.hub.transact(command).outcome

    def answer(self, command: AnyCommand) -> dict[str, Any]:
        outcome = self.do(command)
        assert isinstance(outcome, Decided), outcome
        return outcome.answer

    def reason(self, command: AnyCommand) -> str:
        outcome = self.do(command)
        assert isinstance(outcome, Refusal), outcome
        return outcome.reason


@contextmanager
def running(
    directory: Path, clock: FakeClock | None = None, open_store: Callable[[str], Store] = SqliteStore
) -> Iterator[Rig]:
    """A hub over ``directory`` until the block ends."""
    rig = Rig(directory, clock or FakeClock(), open_store)
    try:
        yield rig
    finally:
        rig.hub.stop()


def take(task_id: str = "t1", agent: str = "ana", paths: tuple[str, ...] | None = ("src",), **more: Any) -> TakeClaim:
    """A claim with the usual defaults."""
    fields: dict[str, Any] = {"principal": "uid:1", "namespace": "", "worktree": "wt:1", "ttl_s": 3600.0} | more
    return TakeClaim(agent=agent, task_id=task_id, paths=paths, **fields)


def give(task_id: str = "t1", agent: str = "ana", epoch: int | None = None) -> ReleaseClaim:
    """A release with the usual defaults."""
    return ReleaseClaim(agent=agent, namespace="", task_id=task_id, epoch=epoch)


def keyed(command: FamilyCommand, key: str = "k", digest: str = "d") -> Keyed:
    """``command`` with an idempotency key."""
    verb = type(command).__name__
    return Keyed(sender=f"uid:1/{command.agent}", verb=verb, key=key, digest=digest, command=command)
