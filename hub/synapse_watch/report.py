"""What a watcher asks of the hub and tells it, about one checkout."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from synapse_git import client, scope
from synapse_git.checkout import Checkout
from synapse_git.explain import wire_path
from synapse_watch.content import Content

# Paths in one question: a body has a limit, and an answer should not be waited for long.
_AT_ONCE = 2000


class Edit:
    """A change in a live scope, as the hub sees it: ``owner`` holds ``path`` for ``task_id``; ``agent`` made it.

    ``by``: ``holder``, ``agent``, ``git`` (run by ``agent``) or ``unknown``; ``certain``: known, not only excused.
    ``path``: as Git has it.
    """

    __slots__ = ("agent", "by", "certain", "namespace", "owner", "path", "task_id")

    def __init__(self, path: bytes, found: Mapping[str, Any]) -> None:
        self.path = path
        self.owner = str(found["owner"])
        self.task_id = str(found["task_id"])
        self.namespace = str(found["namespace"])
        self.by = str(found["by"])
        self.agent = str(found["agent"])
        self.certain = bool(found["certain"])


class Report:
    """Raises whatever `client.command` does."""

    def __init__(self, here: Checkout, env: Mapping[str, str]) -> None:
        self._here = here
        self._env = env

    def judge(self, paths: Iterable[bytes]) -> list[Edit]:
        """Which of ``paths`` somebody holds, content unseen."""
        return self._ask([(path, {}) for path in paths], settled=False)

    def weigh(self, found: Sequence[tuple[bytes, Content]], *, settled: bool) -> list[Edit]:
        """The same, by what stands there. ``settled`` puts what is foreign on record."""
        now = time.time()
        return self._ask([(path, _members(content, now)) for path, content in found], settled=settled)

    def stand(self, state: str, reason: str, *, foreground: bool) -> None:
        """Say how the checkout is watched from now on."""
        body = {"worktree": self._here.tree(), "state": state, "reason": reason[:1000], "foreground": foreground}
        client.command(self._env, "/v2/watchers", body)

    def announce(self, agent: str, path: bytes, sha256: str) -> None:
        """Say on behalf of ``agent`` what is about to stand at ``path``."""
        edits = [{"path": self._spelled(path), "sha256": sha256}]
        client.command(self._env, "/v2/edits", {"agent": agent, **self._place(), "edits": edits})

    def quarantined(self, agent: str, namespace: str, task_id: str, path: bytes, name: str) -> None:
        """Have it on record that the holder's content is back."""
        client.command(
            self._env,
            "/v2/quarantined",
            {
                "agent": agent,
                "namespace": namespace,
                "worktree": self._here.tree(),
                "task_id": task_id,
                "path": self._spelled(path),
                "quarantine": name,
            },
        )

    def _place(self) -> dict[str, object]:
        return {"namespace": self._here.namespace(), "worktree": self._here.tree()}

    def _spelled(self, path: bytes) -> object:
        return scope.to_wire(self._here.spell(scope.from_bytes(path)))

    def _ask(self, changes: Sequence[tuple[bytes, dict[str, object]]], *, settled: bool) -> list[Edit]:
        edits = []
        for start in range(0, len(changes), _AT_ONCE):
            part = changes[start : start + _AT_ONCE]
            spelled = [self._here.spell(scope.from_bytes(path)) for path, _ in part]
            # Two files whose names differ in case only are one to a tree that folds, and may both be meant.
            named = dict(zip(spelled, (path for path, _ in part), strict=True))
            body = {
                **self._place(),
                "settled": settled,
                "changes": [
                    {"path": scope.to_wire(name), **members} for name, (_, members) in zip(spelled, part, strict=True)
                ],
            }
            answer = client.command(self._env, "/v2/watched", body).document
            edits += [Edit(named[wire_path(found["path"])], found) for found in answer["edits"]]
        return edits


def _members(content: Content, now: float) -> dict[str, object]:
    members: dict[str, object] = {"age_s": max(0.0, now - content.changed_at), "git": content.git}
    if content.kind == "gone":
        members["sha256"] = None
    elif content.sha256:
        members["sha256"] = content.sha256
    return members
