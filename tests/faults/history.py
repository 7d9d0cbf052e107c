"""A concurrent history, and the search for what no correct hub could have answered.

Every answer carries the ``seq`` and ``now`` it was decided at, so no solver is needed: by call time no answer is older
than one before it, and in order of ``seq`` the shadow model must come to the same answers. What was never answered is
looked up in the journal by its key.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from tests.machine.shadow import Shadow

PRINCIPAL = "the user"
Answer = Mapping[str, Any]


class Call(NamedTuple):
    """A request and its answer, None where none came. Times by one monotonic clock; ``verb`` "look" is a read."""

    verb: str
    body: Mapping[str, Any]
    key: str
    called: float
    answered: float
    answer: Answer | None


class Step(NamedTuple):
    """A call at its place in the journal."""

    seq: int
    follows: bool
    now: float
    call: Call
    answer: Answer


Applied = Mapping[tuple[str, str, str], tuple[int, float, Answer]]
"""By agent, verb and key: where the journal says that a request was applied, when, and with what answer."""


def check(calls: Sequence[Call], journal: Path, known: Applied | None = None) -> list[str]:
    """What is wrong with a history that began on an empty hub.

    ``journal``: its file, at the end; ``known``: what stood there before it was compacted.
    """
    return [*older(calls), *_replayed(calls, {**(known or {}), **applied(journal)})][:20]


def older(calls: Iterable[Call]) -> Iterator[str]:
    """Answers decided on a state from before an answer that had been given when they were asked for."""
    moments: list[tuple[float, int, Call]] = []
    for call in calls:
        if call.answer is not None:
            moments += [(call.called, 1, call), (call.answered, 0, call)]
    newest = 0
    due: dict[int, int] = {}
    for _, begins, call in sorted(moments, key=lambda one: one[:2]):
        seq = call.answer["seq"] if call.answer else 0
        if begins:
            due[id(call)] = newest
        else:
            if seq < due[id(call)]:
                yield f"{call.verb} {dict(call.body)} was answered at {seq}, after an answer at {due[id(call)]}"
            newest = max(newest, seq)


def applied(journal: Path, after: int = 0) -> dict[tuple[str, str, str], tuple[int, float, Answer]]:
    """What it tells of later than event ``after``."""
    chosen = "SELECT seq, body FROM events WHERE kind = 'command_answered' AND seq > ?"
    with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as connection:
        rows = connection.execute(chosen, (after,)).fetchall()
    found = {}
    for seq, body in rows:
        event = json.loads(body)
        agent = event["sender"].partition("/")[2]
        found[agent, event["verb"], event["key"]] = (seq, event["at"], event["answer"])
    return found


def _replayed(calls: Sequence[Call], keys: Applied) -> Iterator[str]:
    steps: list[Step] = []
    done: dict[tuple[str, str, str], Answer] = {}
    for call in calls:
        key = (call.body["agent"], call.verb, call.key)
        if call.answer is None or call.answer["http"] == 503:
            continue
        if call.answer.get("replayed"):
            if key not in keys or keys[key][2]["epoch"] != call.answer["epoch"]:
                yield f"{call.verb} under {call.key} was answered again, but otherwise"
            continue
        changes = call.answer["http"] == 200 and call.verb != "look"
        if changes:
            if key in done:
                yield f"{call.verb} under {call.key} was applied twice"
            done[key] = call.answer
            if key not in keys:
                yield f"{call.verb} under {call.key} was acknowledged, and is lost"
        steps.append(Step(call.answer["seq"], not changes, call.answer["now"], call, call.answer))
    for call in calls:
        key = (call.body["agent"], call.verb, call.key)
        if key in keys and key not in done:
            seq, at, answer = keys[key]
            done[key] = answer
            steps.append(Step(seq, False, at, call, {**answer, "http": 200}))
    yield from _compared(sorted(steps, key=lambda step: step[:2]))


def _compared(steps: Iterable[Step]) -> Iterator[str]:
    shadow = Shadow()
    for step in steps:
        if step.call.verb == "look":
            yield from _seen(shadow, step)
            continue
        expected = _expected(shadow, step.call, step.now)
        got = step.answer.get("reason", "")
        if got != expected:
            what = f"{step.call.verb} {dict(step.call.body)}"
            yield f"at {step.seq}: {what}: {got or 'granted'}, not {expected or 'granted'}"
            return  # from here on the model is elsewhere
        if not got and step.call.verb in ("claim", "handoff") and step.answer["epoch"] != shadow.epoch:
            yield f"at {step.seq}: epoch {step.answer['epoch']} where {shadow.epoch} was next"
            return


def _expected(shadow: Shadow, call: Call, now: float) -> str:
    body = call.body
    agent, key, epoch = body["agent"], ("", body["task_id"]), body.get("epoch")
    match call.verb:
        case "claim":
            return shadow.claim(
                now, agent, PRINCIPAL, key, body["worktree"], body.get("paths"), body.get("ttl_s"), False, epoch
            )
        case "release":
            return shadow.release(now, agent, key, epoch, False)
        case "task_update":
            return shadow.update(now, agent, key, epoch, body.get("expected_version"), body["status"])
        case "handoff":
            return shadow.handoff(now, agent, key, epoch, body["to"])
    raise AssertionError(call.verb)


def _seen(shadow: Shadow, step: Step) -> Iterator[str]:
    key = ("", step.call.body["task_id"])
    held = shadow.live(step.now).get(key)
    seen = [(one["owner"], one["epoch"]) for one in step.answer["claims"]]
    if seen != ([(held.owner, held.epoch)] if held else []):
        yield f"at {step.seq}: {key[1]} was shown as {seen}, but is {held}"
