"""A claim in the hub's own process, with few and with many claims live beside it."""

from __future__ import annotations

import itertools
import queue
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from synapse_hub.clock import open_clock
from synapse_hub.core.commands import AnyCommand
from synapse_hub.core.commands.claims import ReleaseClaim, TakeClaim
from synapse_hub.core.outcome import Refusal
from synapse_hub.hub import Answered, Hub
from synapse_hub.journal.journal import Journal
from tests.bench.measure import Row, medians
from tests.box import Box

CROWDS = (10, 10_000, 100_000)
ROUNDS = 200
GOAL = 1.3
AGEING = 3_000
TTL_S = 86_400.0
# The quota is per principal, so a crowd is made of many.
CLAIMS_PER_PRINCIPAL = 100


def rows(box: Box) -> list[Row]:
    """A row for each crowd but the smallest, which is the floor."""
    with ExitStack() as stack:
        actions, before = {}, {}
        for crowd in CROWDS:
            hub = stack.enter_context(_hub(box.cwd / f"crowd-{crowd}"))
            _submit(hub, map(_claim, range(crowd)))
            _age(hub)
            actions[f"{crowd}"], before[f"{crowd}"] = _pair(hub)
        found = medians(actions, ROUNDS, before)
    floor = found[f"{CROWDS[0]}"] * 1e3
    what = "claim in the hub, {:,} live claims; floor: {:,}"
    return [Row(what.format(crowd, CROWDS[0]), found[f"{crowd}"] * 1e3, floor, GOAL) for crowd in CROWDS[1:]]


@contextmanager
def _hub(directory: Path) -> Iterator[Hub]:
    directory.mkdir()
    journal = Journal(str(directory))
    state = journal.replay()
    hub = Hub(journal, open_clock(str(directory), state.last_at), state=state)
    hub.start()
    try:
        yield hub
    finally:
        hub.stop()


def _submit(hub: Hub, commands: Iterable[AnyCommand]) -> None:
    answers: queue.SimpleQueue[Answered] = queue.SimpleQueue()
    submitted = list(commands)
    for command in submitted:
        hub.submit(command, answers.put)
    for _ in submitted:
        _expect_granted(answers.get())


def _age(hub: Hub) -> None:
    """A new journal's file grows at every sync, which costs more than writing over what is there."""
    for number in range(AGEING):
        _submit(hub, [_new(number), ReleaseClaim(agent="ana", namespace="", task_id=f"new-{number}")])


def _claim(number: int) -> TakeClaim:
    name = f"crowd-{number // CLAIMS_PER_PRINCIPAL}"
    path = f"src/{number // 1000}/{number}"
    return TakeClaim(
        agent=name, principal=name, namespace="", task_id=f"t{number}", worktree="w", paths=(path,), ttl_s=TTL_S
    )


def _new(number: int) -> TakeClaim:
    task, path = f"new-{number}", f"src/0/new-{number}"
    return TakeClaim(agent="ana", principal="ana", namespace="", task_id=task, worktree="w", paths=(path,), ttl_s=TTL_S)


def _pair(hub: Hub) -> tuple[Callable[[], None], Callable[[], None]]:
    """A claim of a free path amid the crowd's, and its release."""
    numbers = itertools.count()
    held: list[str] = []

    def claim() -> None:
        command = _new(next(numbers))
        held.append(command.task_id)
        _transact(hub, command)

    def release() -> None:
        if held:
            _transact(hub, ReleaseClaim(agent="ana", namespace="", task_id=held.pop()))

    return claim, release


def _transact(hub: Hub, command: AnyCommand) -> None:
    _expect_granted(hub.transact(command))


def _expect_granted(answered: Answered) -> None:
    if isinstance(answered.outcome, Refusal):
        raise RuntimeError(answered.outcome.detail)
