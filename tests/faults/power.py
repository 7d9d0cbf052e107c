"""What a power cut may leave of a run, told from a log of its writes and syncs.

What was synced is there. Of what was written since, a disk may hold none, all, the first few, any few, or parts.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from synapse_hub.core.state import State
from synapse_hub.journal.journal import Journal, JournalBroken
from synapse_hub.journal.store import StoreError
from tests.faults import child

FILES = ("journal.db", "journal.db-wal", "journal.mark")
SECTOR = 512
_CALL = re.compile(r'^(\w+)\(\d+<([^>]*)>(?:, "((?:\\x[0-9a-f]{2})*)", (\d+))?(?:, (\d+))?\) += (-?\d+)')


class Step(NamedTuple):
    """A write at ``at``, a cut to ``at``, a sync, or an acknowledgement, whose text is ``data``."""

    kind: Literal["write", "cut", "sync", "said"]
    file: str = ""
    at: int = 0
    data: bytes = b""


def logged(directory: Path, strace: str, root: Path, count: int) -> tuple[dict[str, bytes], list[Step]]:
    """The files before a run on the tree at ``root``, and what it did to them."""
    directory.mkdir()
    env = child.environment(root, directory)
    command = [sys.executable, "-m", "tests.faults.steady", str(directory)]
    subprocess.run([*command, "0", "3"], cwd=root, env=env, check=True, timeout=60, capture_output=True)
    before = {name: (directory / name).read_bytes() for name in FILES if (directory / name).exists()}
    log = directory.with_suffix(".log")
    traced = [strace, "-f", "--seccomp-bpf", "-qq", "-y", "-xx", "-s", "100000", "-o", str(log)]
    traced += ["-e", "trace=pwrite64,write,fdatasync,fsync,ftruncate", "-e", "signal=none"]
    command = [*traced, *command, "3", str(count)]
    subprocess.run(command, cwd=root, env=env, check=True, timeout=120, capture_output=True)
    return before, list(_steps(log.read_text().splitlines(), str(directory)))


def _steps(lines: list[str], directory: str) -> Iterator[Step]:
    unfinished: dict[str, str] = {}
    for line in lines:
        thread, _, text = line.partition(" ")
        text = text.strip()
        if text.endswith("<unfinished ...>"):
            unfinished[thread] = text.removesuffix("<unfinished ...>")
            continue
        if text.startswith("<... "):
            text = unfinished.pop(thread) + text.partition(" resumed>")[2]
        found = _CALL.match(text)
        if found is None or int(found[6]) < 0:
            continue
        call, path, data = found[1], _bytes(found[2]).decode(), _bytes(found[3] or "")
        folder, _, name = path.rpartition("/")
        if call == "write":
            if data.startswith(b"["):
                yield Step("said", data=data)
        elif folder != directory or name not in FILES:
            continue
        elif call == "pwrite64":
            yield Step("write", name, int(found[5]), data[: int(found[6])])
        elif call == "ftruncate":
            yield Step("cut", name, int(found[5]))
        else:
            yield Step("sync", name)


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", "")) if text.startswith("\\x") else text.encode()


class Cut(NamedTuple):
    """A moment at which the power may go."""

    durable: dict[str, bytes]
    pending: list[Step]
    said: dict[str, int]


def cuts(before: dict[str, bytes], steps: list[Step]) -> Iterator[Cut]:
    """After each step."""
    durable, pending, said = dict(before), list[Step](), dict[str, int]()
    for step in steps:
        if step.kind == "said":
            key, epoch = json.loads(step.data)
            said = {**said, key: epoch}
        elif step.kind == "sync":
            mine = [one for one in pending if one.file == step.file]
            durable = applied(durable, mine)
            pending = [one for one in pending if one.file != step.file]
        else:
            pending = [*pending, step]
        yield Cut(durable, pending, said)


def applied(files: dict[str, bytes], steps: list[Step]) -> dict[str, bytes]:
    changed = {name: bytearray(raw) for name, raw in files.items()}
    for step in steps:
        raw = changed.setdefault(step.file, bytearray())
        if step.kind == "cut":
            del raw[step.at :]
            raw.extend(bytes(step.at - len(raw)))
            continue
        raw.extend(bytes(max(step.at - len(raw), 0)))
        raw[step.at : step.at + len(step.data)] = step.data
    return {name: bytes(raw) for name, raw in changed.items()}


def image(cut: Cut, chance: random.Random) -> dict[str, bytes]:
    """One of the ways in which the disk may look."""
    kept = list(cut.pending)
    match chance.choice(["none", "all", "first", "some", "torn"]):
        case "none":
            kept = []
        case "first":
            kept = kept[: chance.randrange(len(kept) + 1)]
        case "some":
            kept = [one for one in kept if chance.random() < 0.5]
        case "torn":
            kept = [_torn(one, chance) for one in kept if chance.random() < 0.8]
    return applied(cut.durable, kept)


def _torn(step: Step, chance: random.Random) -> Step:
    """Whole sectors from its start. The mark's slots are one sector each, which a disk writes whole."""
    if step.kind == "cut" or len(step.data) <= SECTOR or chance.random() < 0.5:
        return step
    return step._replace(data=step.data[: SECTOR * chance.randrange(len(step.data) // SECTOR + 1)])


def judged(directory: Path, files: dict[str, bytes], said: dict[str, int]) -> str:
    """What is wrong with a start from ``files``; '' if all that was acknowledged is there."""
    for name in (*FILES, "journal.db-shm"):
        (directory / name).unlink(missing_ok=True)
    for name, raw in files.items():
        (directory / name).write_bytes(raw)
    try:
        state = _opened(directory)
    except (JournalBroken, StoreError, OSError) as error:
        return f"it does not start: {str(error)[:200]}"
    for key, epoch in said.items():
        known = state.answers.get(("ana", "claim", key))
        if known is None or known[1][1]["epoch"] != epoch:
            return f"{key} with epoch {epoch} was acknowledged and is lost"
    return ""


def _opened(directory: Path) -> State:
    journal = Journal(str(directory))
    try:
        return journal.replay()
    finally:
        journal._store.abandon()
        journal._mark_file.close()
