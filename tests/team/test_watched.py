"""The watcher covers what a team holds, also where the guard came before the team."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from synapse_git import client
from tests.box import Box
from tests.team.hosts import NAMESPACE, Host, found, origin, until
from tests.tools.harness import Session


def listed(host: Host, root: Path) -> dict[str, Any]:
    """What the hub's register has of a worktree."""
    known = client.query(host.env, "/v2/worktrees").document["worktrees"]
    return next(dict(item) for item in known if item["root"] == str(root))


def test_who_joins_after_the_installation_is_watched(team: tuple[Host, Host]) -> None:
    """On both hosts, as soon as somebody holds something in what they share."""
    for host in team:
        assert listed(host, host.repo)["namespace"] == NAMESPACE
        assert host.synapse("claim", f"src/{host.name}.py", agent="ana").code == 0
    for host in team:
        until(lambda host=host: listed(host, host.repo)["watch"]["state"] == "live")  # type: ignore[misc]  # mypy infers no such lambda


def test_other_clones_are_listed_anew_by_the_next_that_looks(box: Box, tmp_path: Path) -> None:
    """A claim, a look at status, an edit that claims; each in a clone that knew nothing of the team."""
    upstream = origin(box)
    with Host(tmp_path, "a") as host:
        clones = []
        for name in ("claimed", "seen", "edited", "first"):
            host.cwd = host.home.parent
            host.clone(upstream)
            shutil.move(host.repo, host.repo.parent / name)
            host.cwd = host.repo.parent / name
            host.done("synapse-git", "install")
            clones.append(host.cwd)
        found(host)
        claimed, seen, edited, _ = clones
        assert [listed(host, root)["namespace"] == NAMESPACE for root in clones] == [False, False, False, True]
        host.done("synapse-git", "claim", "src/a.py", agent="ana", cwd=claimed)
        host.done("synapse-git", "status", cwd=seen)
        host.done("synapse-git", "agents", "install", "claude", cwd=edited)
        assert Session(host, "claude", "s1", edited).say("PreToolUse", "write", path=str(edited / "src/b.py")) == ""
        assert [listed(host, root)["namespace"] for root in clones] == [NAMESPACE] * 4
