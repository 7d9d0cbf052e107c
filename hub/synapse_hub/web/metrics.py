"""What the hub holds and does, in the text format of Prometheus."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import accumulate

from starlette.requests import Request
from starlette.responses import Response

from synapse_hub.tally import BOUNDS_S, Tally
from synapse_hub.web.desk import Desk

_TYPE = "text/plain; version=0.0.4; charset=utf-8"


async def metrics(desk: Desk, _: Request) -> Response:
    """``GET /v2/metrics``"""
    lines = [*_gauges(desk), *_counters(desk.hub.tally), *_batches(desk.hub.tally)]
    return Response("\n".join([*lines, ""]), media_type=_TYPE)


def _gauges(desk: Desk) -> Iterator[str]:
    hub, state = desk.hub, desk.hub.state
    for name, about, value in (
        ("claims", "Claims that are held.", len(state.claims)),
        ("agents", "Names that hold claims.", len(state.by_owner)),
        ("worktrees", "Worktrees in the register.", len(state.worktrees)),
        ("waiting", "Claims that wait for others to end.", hub.waiting),
        ("followers", "Streams that follow the journal.", desk.followers),
        ("sessions", "Names that are bound to a session which is connected.", len(state.names.live)),
        (
            "absent_sessions",
            "Names kept for a session that may come back.",
            sum(1 for _ in state.names.expected(hub.now())),
        ),
        ("connections", "Connections of sessions.", desk.roster.connections),
        ("chat", "Messages to everyone that are kept.", len(state.mail.chat)),
        ("letters", "Messages that wait for the one agent they are for.", len(state.mail.letters)),
        (
            "dead_letters",
            "Those among them whose agent was not there.",
            sum(not x.sent.delivered for x in state.mail.unread()),
        ),
        ("notices", "Messages of the hub that wait.", len(state.mail.notices)),
        ("idempotency_keys", "Answers kept for retries.", len(state.answers)),
        ("granting", "1 while claims can be granted.", int(hub.granting)),
        ("epoch", "The highest epoch ever stamped.", state.epoch),
        ("incarnation", "Incarnation of the journal.", hub.incarnation),
        ("journal_seq", "Number of the last event.", state.seq),
        ("journal_bytes", "Size of the journal's files.", _size(desk.journal_path)),
    ):
        yield from _one(name, "gauge", about, {"": value})


def _counters(tally: Tally) -> Iterator[str]:
    for name, about, label, counts in (
        ("commands_total", "Commands that were applied.", "command", tally.commands),
        ("refusals_total", "Commands that were refused.", "reason", tally.refusals),
        ("verdicts_total", "Changes that were judged.", "verdict", tally.verdicts),
    ):
        # A copy, since the writer may add a word meanwhile.
        yield from _one(name, "counter", about, {f'{{{label}="{word}"}}': count for word, count in [*counts.items()]})


def _batches(tally: Tally) -> Iterator[str]:
    name = "synapse_batch_seconds"
    yield from (f"# HELP {name} Time to decide, sync and publish a batch.", f"# TYPE {name} histogram")
    sums = list(accumulate(tally.batches))
    for bound, count in zip((*BOUNDS_S, "+Inf"), sums, strict=True):
        yield f'{name}_bucket{{le="{bound}"}} {count}'
    yield from (f"{name}_sum {tally.batch_seconds:.6f}", f"{name}_count {sums[-1]}")


def _one(name: str, kind: str, about: str, values: Mapping[str, int]) -> Iterator[str]:
    yield f"# HELP synapse_{name} {about}"
    yield f"# TYPE synapse_{name} {kind}"
    for labels, value in values.items():
        yield f"synapse_{name}{labels} {value}"


def _size(path: str) -> int:
    total = 0
    for suffix in ("", "-wal"):
        with suppress(OSError):
            total += os.path.getsize(path + suffix)
    return total
