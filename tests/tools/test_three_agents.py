"""Three agents at once in one checkout, through their tools, their shells and Git: nobody's work is lost."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest

from tests.box import Box
from tests.faults import scale
from tests.tools.agents import Agent, agent

FILES = [f"src/{name}.txt" for name in "abcd"]
# Of each agent: a thousand of all three in the long form, by several seeds.
STEPS = scale.times(30, 334)
SEEDS = range(0, scale.times(3, 15), 3)


class Worker(threading.Thread):
    """Edits what it may, commits now and then, and checks that what it wrote is there until it was committed."""

    def __init__(self, box: Box, session: Agent, seed: int, last: dict[str, str]) -> None:
        super().__init__()
        self._box = box
        self._session = session
        self._choose = random.Random(seed)
        self._mine: dict[str, str] = {}
        self.last = last
        self.refused = self.edits = self.commits = 0
        self.lost: list[str] = []

    def run(self) -> None:
        for step in range(STEPS):
            if self._mine and self._choose.random() < 0.3:
                self._commit()
            else:
                self._edit(self._choose.choice(FILES), f"{self._session.name} {step}\n")
            self._look()
        self._commit()

    def _edit(self, path: str, text: str) -> None:
        file = self._session.cwd / path
        if self._choose.random() < 0.3:
            held = self._session.command(f"echo {text.strip()} > {path}")
            if held or path not in self._mine:  # what a command names is checked, and not claimed
                self.refused += bool(held)
                return
        elif self._session.edit(file):
            self.refused += 1
            return
        file.write_text(text)
        self._mine[path] = text
        self.edits += 1

    def _commit(self) -> None:
        if not self._mine:
            return
        ended = self._box.git(
            "commit", "-qm", self._session.name, "--", *self._mine, cwd=self._session.cwd, env=self._session.env
        )
        if ended.code == 0:
            self.last.update(self._mine)
            self._mine.clear()
            self.commits += 1
        else:
            # Beside another's commit: Git finds HEAD locked or moved, or the guard finds what it brought in undone.
            passed_by = "SCOPE_CONFLICT" in ended.err and not any(path in ended.err for path in self._mine)
            assert "index.lock" in ended.err or "HEAD" in ended.err or passed_by, ended.text

    def _look(self) -> None:
        for path, text in self._mine.items():
            if (found := (self._session.cwd / path).read_text()) != text:
                self.lost.append(f"{path}: {text!r} became {found!r}")


@pytest.mark.parametrize("seed", SEEDS)
def test_no_edit_of_anybody_is_lost(box: Box, repo: Path, seed: int) -> None:
    """Every overlap is refused, every allowed edit stays until its author has committed it."""
    for path in FILES:
        box.write(path, "base\n", cwd=repo)
    box.done("git", "add", ".", cwd=repo)
    box.done("git", "commit", "-qm", "files", cwd=repo)
    box.done("synapse-git", "agents", "install", "claude", cwd=repo)
    workers = []
    for number in range(3):
        session = agent(box, "claude", f"s{number}", repo)
        session.env = {"CLAUDE_CODE_SESSION_ID": session.name}
        workers.append(Worker(box, session, seed + number, {}))
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [loss for worker in workers for loss in worker.lost] == []
    # Three agents and four files: one may find everything held whenever it comes.
    assert sum(worker.edits for worker in workers) > 0
    assert sum(worker.refused for worker in workers) > 0
    committed = {line for worker in workers for line in worker.last.values()}
    for path in FILES:
        text = (repo / path).read_text()
        assert text == "base\n" or text in committed or any(text in worker._mine.values() for worker in workers)
