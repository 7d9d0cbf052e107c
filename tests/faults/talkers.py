"""Agents that send, read and acknowledge all the time, and what must be true of all they saw. Spec: INV-DG-3, INV-CK-1.

Each remembers what it was told. At the end nothing acknowledged may be missing, nothing may be there that nobody said,
no watermark may have fallen, and everyone must have seen one order: the hub's.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from synapse_git.exchange import Line
from tests.faults.clients import Client
from tests.faults.history import Call, older
from tests.faults.served import ask

AGENTS = 50


class Talker(Client):
    """One agent. It reads the oldest that waits, and acknowledges what it has read or, by mistake, less."""

    _read: int = 0

    def _choose(self, key: str) -> tuple[str, dict[str, Any]]:
        chance = self._chance
        kind = chance.random()
        body: dict[str, Any] = {"agent": self._agent}
        if kind < 0.55:
            to = {} if chance.random() < 0.1 else {"to": f"a{chance.randrange(AGENTS)}"}
            stamp = chance.choice([0.0, 9e12, -1.0])
            return "send", body | to | {
                "body": f"{key} {chance.random()}",
                "client_msg_id": key,
                "client_timestamp": stamp,
            }
        if kind < 0.8 or not self._read:
            return "read", body
        return "ack", body | {"seq": self._read if chance.random() < 0.8 else chance.randrange(self._read)}

    def _exchange(self, line: Line, verb: str, body: dict[str, Any], key: str) -> dict[str, Any]:
        if verb == "read":
            answer = ask(line, f"/v2/messages?agent={self._agent}")
            if answer["messages"]:
                self._read = answer["messages"][-1]["seq"]
            return answer
        return ask(line, "/v2/messages" if verb == "send" else "/v2/ack", body, key)


def check(calls: Sequence[Call], journal: Path) -> list[str]:
    """What is wrong with a history that began on an empty hub; ``journal``: its file, at the end."""
    kept = _kept(journal)
    return [*older(calls), *_lost(calls, kept), *_invented(calls, kept), *_fallen(calls), *_disordered(calls, kept)][
        :20
    ]


def _kept(journal: Path) -> dict[int, dict[str, Any]]:
    """Every message of the journal by its number."""
    with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as connection:
        rows = connection.execute("SELECT seq, body FROM events WHERE kind = 'message_sent'").fetchall()
    return {seq: json.loads(body) for seq, body in rows}


def _done(calls: Iterable[Call], verb: str) -> Iterator[tuple[Call, dict[str, Any]]]:
    """The calls of ``verb`` that were answered with yes."""
    for call in calls:
        if call.verb == verb and call.answer is not None and call.answer["http"] == 200:
            yield call, dict(call.answer)


def _lost(calls: Sequence[Call], kept: dict[int, dict[str, Any]]) -> Iterator[str]:
    """Acknowledged messages that are not there, or that their recipient passed by without having seen them."""
    marks: Counter[str] = Counter()
    seen: dict[str, set[int]] = {}
    for call, answer in _done(calls, "ack"):
        marks[call.body["agent"]] = max(marks[call.body["agent"]], answer["watermark"])
    for call, answer in _done(calls, "read"):
        seen.setdefault(call.body["agent"], set()).update(one["seq"] for one in answer["messages"])
    for call, answer in _done(calls, "send"):
        found = kept.get(answer["seq"], {})
        to = call.body.get("to")
        if (found.get("client_msg_id"), found.get("body")) != (call.body["client_msg_id"], call.body["body"]):
            yield f"message {answer['seq']} of {call.body['agent']} was acknowledged, and is lost"
        elif to and answer["seq"] <= marks[to] and answer["seq"] not in seen.get(to, set()):
            yield f"message {answer['seq']} was acknowledged, and {to} has never seen it"


def _invented(calls: Sequence[Call], kept: dict[int, dict[str, Any]]) -> Iterator[str]:
    """Messages that nobody sent, or more copies than there were attempts."""
    tried: Counter[tuple[Any, ...]] = Counter()
    for call in calls:
        if call.verb == "send" and (call.answer is None or call.answer["http"] == 200):
            tried[tuple(call.body.get(name) for name in ("agent", "to", "body", "client_msg_id"))] += 1
    found = Counter(tuple(one[name] for name in ("sender", "to", "body", "client_msg_id")) for one in kept.values())
    for said, copies in found.items():
        if copies > tried[said]:
            yield f"{said} is there {copies} times, but was sent {tried[said]} times"


def _fallen(calls: Sequence[Call]) -> Iterator[str]:
    """Watermarks below what their agent had been told before, and messages that came back from below one."""
    marks: Counter[str] = Counter()
    for call in calls:
        if call.verb not in ("read", "ack") or call.answer is None or call.answer["http"] != 200:
            continue
        agent, mark = call.body["agent"], call.answer["watermark"]
        if mark < marks[agent]:
            yield f"the watermark of {agent} fell from {marks[agent]} to {mark}"
        marks[agent] = max(marks[agent], mark)
        back = [one["seq"] for one in call.answer.get("messages", ()) if one["seq"] <= mark]
        if back:
            yield f"{agent} was shown {back} again, below its watermark {mark}"


def _disordered(calls: Sequence[Call], kept: dict[int, dict[str, Any]]) -> Iterator[str]:
    """Reads out of the order of the journal, or that show something else than it does."""
    stamps = [kept[seq]["at"] for seq in sorted(kept)]
    if stamps != sorted(stamps):
        yield "the hub's stamps do not rise with its numbers"
    for call, answer in _done(calls, "read"):
        numbers = [one["seq"] for one in answer["messages"]]
        if numbers != sorted(set(numbers)):
            yield f"{call.body['agent']} was shown {numbers}"
        for one in answer["messages"]:
            found = kept.get(one["seq"], {})
            if (one["sender"], one["body"], one["timestamp"]) != tuple(found.get(x) for x in ("sender", "body", "at")):
                yield f"{call.body['agent']} was shown {one}, but the journal has {found}"
