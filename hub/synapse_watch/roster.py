"""The hub's watcher: one patrol for each worktree that the hub names on standard input, as long as it names it."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from synapse_git import checkout
from synapse_git.errors import SynapseError
from synapse_git.explain import wire_path
from synapse_watch import post
from synapse_watch.patrol import Patrol
from synapse_watch.report import Edit, Report

log = logging.getLogger("synapse_watch")


class Roster:
    """Who is watched by which thread."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._places: dict[tuple[str, str], threading.Event] = {}

    def serve(self, orders: Iterable[bytes]) -> None:
        """Follow ``orders``, a line for each: ``{"worktrees": [{"worktree", "root", "since"}]}``, whole each time.

        Their end is the end of the hub. Threads that are in the midst of something are not waited for.
        """
        for line in orders:
            wanted = {(str(one["worktree"]), wire_path(one["root"])): one for one in json.loads(line)["worktrees"]}
            for place in self._places.keys() - wanted.keys():
                self._places.pop(place).set()
            for place in wanted.keys() - self._places.keys():
                self._places[place] = over = threading.Event()
                threading.Thread(target=self._watch, args=(wanted[place], over), daemon=True).start()

    def _watch(self, order: Mapping[str, Any], over: threading.Event) -> None:
        worktree, root = str(order["worktree"]), wire_path(order["root"])
        try:
            here = checkout.find(root, self._env)
            if here.outer.tree() != worktree:
                log.warning("%s is not the worktree %s any more", root, worktree)
                return
        except SynapseError as error:
            log.warning("%s cannot be watched: %s", root, error)
            return
        report = Report(here, self._env)
        try:
            held = post.take(here.git_dir, over)
        except SynapseError as error:
            log.warning("%s cannot be watched: %s", root, error)
            return
        if held < 0:
            return

        def stand(state: str, reason: str) -> None:
            if not over.is_set():
                report.stand(state, reason, foreground=False)

        Patrol(here, self._env, tell=_note, stand=stand, since=float(order["since"])).run(over)
        os.close(held)
        if not os.path.isdir(root):
            with suppress(SynapseError):
                stand("off", "its directory is gone")


def _note(edit: Edit, kept: str, why: str) -> None:
    log.info("%s: %s by %s %s", edit.owner, os.fsdecode(edit.path), edit.agent or "unknown", kept or why)
