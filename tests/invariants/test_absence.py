"""Whether a holder still shows signs of life: refusals say so where it does not, and to people what to type then."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from synapse_git.cli import edge
from synapse_git.cli.call import Call
from synapse_git.cli.verb import Verb
from synapse_git.errors import EXIT_REFUSED, Refused
from synapse_hooks import operation, refusal
from synapse_hub.core.commands.claims import ExtendLeases
from synapse_hub.core.commands.names import BindName, EndSessions
from synapse_hub.core.guard import Question, Verdict
from synapse_hub.core.outcome import Refusal
from tests.hub.desk import FakeClock, Rig, running, take

SECRET = hashlib.sha256(b"mine").hexdigest()
BIND = BindName(agent="ana", principal="uid:1", secret_sha256=SECRET, key="")
END = EndSessions(sessions=(("ana", SECRET),))
HOUR_S = 3600.0


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """Ana has just claimed ``src`` for an hour, in a session where a test binds her name."""
    with running(tmp_path, FakeClock()) as made:
        made.answer(take("t1", ttl_s=HOUR_S))
        yield made


def quiet(rig: Rig, after_s: float) -> float:
    """What the guard's refusal says of it, and that of a claim."""
    rig.clock.at += after_s
    verdict = Verdict(rig.hub.state, Question("ben", "", "wt:1", "commit"), rig.clock.at)
    verdict.judge(["src/a"])
    (found,) = verdict.document()["conflicts"]
    refused = rig.do(take("t2", "ben", ("src/b",)))
    assert isinstance(refused, Refusal)
    assert [one.quiet_s for one in refused.conflicts] == [found.get("quiet_s", 0.0)]
    return float(found.get("quiet_s", 0.0))


def test_a_holder_that_may_have_worked_a_moment_ago_is_not_quiet(rig: Rig) -> None:
    """Work does not move the end of a lease at first; after that its end tells."""
    assert quiet(rig, 900 + 59) == 0.0
    assert quiet(rig, 1) == 60.0
    assert quiet(rig, 600) == 660.0
    rig.answer(ExtendLeases(agent="ana", tasks=(("", "t1"),)))
    assert quiet(rig, 900 + 59) == 0.0


def test_a_session_tells_at_once(rig: Rig) -> None:
    """Connected it is there however little it does; gone it is gone, unless its holder has worked since."""
    rig.answer(BIND)
    assert quiet(rig, 3000) == 0.0
    rig.answer(END)
    assert quiet(rig, 100) == 100.0
    rig.answer(take("t1", session=SECRET))
    assert quiet(rig, 100) == 0.0


@pytest.mark.parametrize(("agent", "known"), [("", True), ("CLAUDECODE", False)])
def test_a_person_is_told_how_to_take_it_away(agent: str, known: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """That the holder is quiet is said to all, what to type to people; by hooks and by commands."""
    around = refusal.Circumstances(operation.Operation("commit", "", "git commit …"), b"a\0", b"a\0")
    held: dict[str, Any] = {"owner": "ana", "task_id": "my task", "paths": ["a"], "changed": ["a"], "worktree": "wt:1"}
    env = {"HOME": "/nowhere", agent: "1"}
    problem = {"reason": "SCOPE_CONFLICT", "conflicts": [held | {"quiet_s": 720.0}]}

    def refuse(_: Call) -> int:
        raise Refused(problem)

    assert (
        edge._carry_out(Verb("claim", refuse, summary="", help="", examples=()), Call({"json": False}, env))
        == EXIT_REFUSED
    )
    for text in (refusal.denied(problem, around, env), capsys.readouterr().err):
        assert ", and has shown nothing for 12 min" in text
        assert ("synapse-git release -t 'my task' --force --reason WHY" in text) is known
    assert "release" not in refusal.denied({"reason": "SCOPE_CONFLICT", "conflicts": [held]}, around, env).replace(
        "hand over or release", ""
    )
