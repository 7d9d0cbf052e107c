"""What the hub tells agents of their claims, and that a loop cannot make it say more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from synapse_git.constants import (
    HUB_AGENT,
    MAX_MAILBOX_NOTICES,
    NOTICE_COALESCE_SECONDS,
    REVOCATION_SECONDS,
)
from synapse_hub.core import mail, messages
from synapse_hub.core.commands.claims import ExpireDue, HandOff, ReleaseClaim, SaveCheckpoint
from synapse_hub.core.commands.guard import RecordDenial, RecordForeignEdit, RecordOverride, RegisterWorktree
from synapse_hub.core.commands.talk import SendMessage
from synapse_hub.core.state import State, apply_all
from synapse_hub.journal.journal import Journal
from synapse_hub.journal.snapshot import capture, restore
from tests.hub.desk import FakeClock, Rig, keyed, running, take


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with running(tmp_path, FakeClock()) as made:
        yield made


def told(rig: Rig, agent: str) -> list[str]:
    """What the hub said to ``agent`` and nobody has acknowledged."""
    return [one.sent.body for one in rig.hub.state.mail.box(agent) if one.sent.sender == HUB_AGENT]


CHANGE: dict[str, Any] = {"agent": "ben", "namespace": "", "worktree": "wt:1", "paths": ("src/a",)}
DENIAL = RecordDenial(**CHANGE, action="commit", paths_total=1, tasks=(("", "t1"),))


def test_a_holder_hears_of_a_claim_that_was_refused_for_its_sake(rig: Rig) -> None:
    """Who wanted which paths, and what to type; whoever was refused has heard it already."""
    rig.answer(take("t1", "ana", ("src",)))
    rig.answer(take("my docs", "cyd", ("docs",)))
    rig.reason(take("t2", "ben", ("src/a", "docs/x")))
    assert told(rig, "ana") == [
        "ben was refused a claim of src/a, docs/x, which you hold, or part of it, for task t1. When you are done: "
        "synapse-git release -t t1, or hand it over: synapse-git handoff ben -t t1"
    ]
    assert "synapse-git release -t 'my docs'" in told(rig, "cyd")[0] and told(rig, "ben") == []
    rig.reason(take("t1", "dee", ("elsewhere",)))
    assert told(rig, "ana")[1].startswith("dee was refused the task itself, which you hold for task t1.")


@pytest.mark.parametrize("action", ["edit", "commit", "merge", "push", "ref"])
def test_a_holder_hears_of_a_change_that_was_refused(rig: Rig, action: str) -> None:
    """Of each kind, with the paths."""
    rig.answer(take("t1", "ana", ("src",)))
    rig.answer(RecordDenial(**CHANGE, action=action, paths_total=30, tasks=(("", "t1"), ("", "gone"))))
    (text,) = told(rig, "ana")
    assert text.startswith("ben ") and "refused" in text and "src/a and 29 more, which you hold for task t1" in text


def test_each_message_says_in_which_checkout(rig: Rig) -> None:
    """Whoever works in several would look in the wrong one."""
    place: dict[str, Any] = {"repository": "", "namespace": "", "branch": "", "agent": "", "layers": ()}
    rig.answer(RegisterWorktree(worktree="wt:1", root="/work/a b", **place))
    rig.answer(take("t1", "ana", ("src",)))
    rig.reason(take("t2", "ben", ("src/a",)))
    rig.answer(RecordDenial(**CHANGE, action="ref", paths_total=1, tasks=(("", "t1"),), moved=True))
    rig.answer(RecordOverride(**CHANGE, action="commit", reason_text="urgent " * 100))
    texts = told(rig, "ana")
    assert len(texts) == 3 and all("in /work/a b" in text for text in texts)
    assert all(len(text) < 500 for text in texts)


def test_a_holder_hears_of_what_moved_under_its_feet(rig: Rig) -> None:
    """That is another thing than a refusal, and both are said."""
    rig.answer(take("t1", "ana", ("src",)))
    rig.answer(RecordDenial(**CHANGE, action="ref", paths_total=1, tasks=(("", "t1"),), moved=True))
    rig.answer(DENIAL)
    assert told(rig, "ana")[0].startswith("src/a, which you hold for task t1, changed under you: ben merged")
    assert len(told(rig, "ana")) == 2


def test_an_override_is_told_to_those_it_went_over(rig: Rig) -> None:
    """Each time, with the reason, whose control characters are shown and not sent."""
    rig.answer(take("t1", "ana", ("src",)))
    for reason in ("urgent\x1b[2J", "again"):
        rig.answer(RecordOverride(**CHANGE, action="commit", reason_text=reason))
    first, second = told(rig, "ana")
    assert first.startswith(
        "ben went over your claim: the guard let through a commit that changes src/a, which you hold for task t1, "
        'because "urgent\\x1b[2J". Whether it was made then: git log'
    )
    assert '"again"' in second


def test_an_override_names_what_is_held_and_of_what(rig: Rig) -> None:
    """What nobody holds is counted, not named, and is nobody's; where none of it is held all of it is named."""
    rig.answer(take("t1", "ana", ("src/a",)))
    free = tuple(f"free/{number}" for number in range(20))
    command = RecordOverride(**CHANGE, action="commit", reason_text="urgent")
    command = msgspec.structs.replace(command, paths=(*free, "src/a"))
    rig.answer(command)
    assert "changes src/a, which you hold for task t1, because" in told(rig, "ana")[0]
    rig.answer(msgspec.structs.replace(command, paths=free))
    held, none = (msgspec.json.decode(one.body) for one in rig.journal._store.replay(0) if "overr" in one.kind)
    assert (held["paths"], held["paths_total"], held["changed_total"]) == (["src/a"], 1, 21)
    assert (len(none["paths"]), none["paths_total"], none["holders"]) == (20, 20, [])


def test_what_was_taken_away_does_not_run_out_as_well(rig: Rig) -> None:
    """It keeps others out for a while yet, which is no lease of its holder's."""
    rig.answer(take("t1", "b/ben", ("src",), principal="b/uid:1"))
    rig.answer(ReleaseClaim(agent=HUB_AGENT, namespace="", task_id="t1", force=True, reason_text="b left the team"))
    rig.clock.at += REVOCATION_SECONDS
    rig.answer(ExpireDue(tasks=(("", "t1"),)))
    (text,) = told(rig, "b/ben")
    assert text.startswith("task t1 (src) was taken away from you, since b left the team. ")
    assert not rig.hub.state.claims


def test_each_task_is_told_with_its_own_paths(rig: Rig) -> None:
    """One message to an owner of several claims, which says what lies in which."""
    rig.answer(take("t1", "ana", ("src/a", "lib")))
    rig.answer(take("t2", "ana", ("src/new",)))
    changed: dict[str, Any] = CHANGE | {"paths": ("lib/x", "src/a", "src/new")}
    which = "lib/x, src/a, which you hold for task t1, and src/new, which you hold for task t2"
    rig.answer(RecordDenial(**changed, action="commit", paths_total=3, tasks=(("", "t1"), ("", "t2"))))
    rig.answer(RecordOverride(**changed, action="commit", reason_text="urgent"))
    rig.answer(RecordForeignEdit(**changed, paths_total=3, tasks=(("", "t1"), ("", "t2"))))
    assert [which in text for text in told(rig, "ana")] == [True, True, True]
    assert "lib/x, src/a, which ana holds for task t1, and src/new, which ana holds for task t2" in told(rig, "ben")[0]


def test_an_edit_that_was_seen_is_told_to_both(rig: Rig) -> None:
    """Nobody knows who: then to the holder alone."""
    rig.answer(take("t1", "ana", ("src",)))
    rig.answer(RecordForeignEdit(**CHANGE, paths_total=1, tasks=(("", "t1"),)))
    rig.answer(RecordForeignEdit(**{**CHANGE, "agent": ""}, paths_total=1, tasks=(("", "t1"),), quarantine="q-1"))
    assert told(rig, "ben")[0].startswith("you changed src/a, which ana holds for task t1.")
    known, unknown = told(rig, "ana")
    assert known.startswith("ben changed src/a") and unknown.startswith("somebody unknown changed src/a")
    assert "q-1" in unknown and set(rig.hub.state.mail.boxes) == {"ana", "ben"}


def test_a_takeover_is_told_to_whom_it_was_taken_from(rig: Rig) -> None:
    """With where it was, why, and how to go on; giving back one's own is no news."""
    place = RegisterWorktree(
        worktree="wt:1", root="/srv/shop", repository="", namespace="", branch="", agent="", layers=()
    )
    rig.answer(place)
    rig.answer(take("t1", "ana", ("src", "a b")))
    rig.answer(ReleaseClaim(agent="ben", namespace="", task_id="t1", force=True, reason_text="ana is away"))
    assert told(rig, "ana") == [
        'ben took task t1 (src, a b in /srv/shop) away from you: "ana is away". Before you go on there, claim it '
        "again: synapse-git claim -t t1 src 'a b'"
    ]
    rig.answer(take("t2", "cyd", ()))
    rig.answer(ReleaseClaim(agent="cyd", namespace="", task_id="t2", force=True, reason_text="mine"))
    assert told(rig, "cyd") == []


def test_a_handover_is_told_to_its_recipient(rig: Rig) -> None:
    """Under a key too, with what was left for it."""
    rig.answer(take("t1", "ana", ()))
    rig.answer(SaveCheckpoint(agent="ana", namespace="", task_id="t1", data=1))
    rig.answer(keyed(HandOff(agent="ana", namespace="", task_id="t1", to="ben")))
    rig.answer(keyed(HandOff(agent="ana", namespace="", task_id="t1", to="ben")))
    assert told(rig, "ben") == [
        "ana handed task t1 (the whole tree) over to you; you hold it now. What was left with it: "
        "synapse-git checkpoint --show -t t1"
    ]
    assert told(rig, "ana") == []


def test_an_expiry_is_told_to_its_owner(rig: Rig) -> None:
    """All that ended at once in one message; who has taken it over; nothing to an owner who claims it again."""
    for number in range(12):
        rig.answer(take(f"t{number:02}", "ana", (f"d{number:02}",), ttl_s=30.0))
    rig.answer(take("b1", "ben", ("b1",), ttl_s=30.0))
    rig.answer(take("b2", "ben", ("b2",), ttl_s=30.0))
    rig.clock.at += 30
    rig.answer(take("b1", "cyd", ("b1",)))
    rig.answer(ExpireDue(tasks=tuple(rig.hub.state.claims)))
    (text,) = told(rig, "ana")
    assert text.startswith("your lease ran out on tasks t")
    assert "d00" in text and " and 2 more. If you are still at it, claim again: synapse-git claim -t t" in text
    one, other = sorted(told(rig, "ben"))
    assert one == (
        "your lease ran out on task b1 (b1). cyd holds the task now; ask before you go on: "
        "synapse-git send --to cyd TEXT"
    )
    assert other.endswith("claim again: synapse-git claim -t b2 b2")
    rig.answer(take("d1", "dee", ("x",), ttl_s=30.0))
    rig.clock.at += 30
    rig.answer(take("d1", "dee", ("x",)))
    assert told(rig, "dee") == []


def test_nobody_is_told_of_itself(rig: Rig) -> None:
    """Not even where the claim in the way has come to whoever was refused."""
    rig.answer(take("t1", "ana", ("src",)))
    rig.answer(HandOff(agent="ana", namespace="", task_id="t1", to="ben"))
    rig.answer(DENIAL)
    assert len(told(rig, "ben")) == 1  # of the handover


def test_a_loop_that_is_refused_is_mentioned_once(rig: Rig) -> None:
    """Under ever new tasks and paths, acknowledged or not; after a while it is said again."""
    rig.answer(take("t1", "ana", ("src",)))
    for number in range(200):
        rig.reason(take(f"try-{number}", "ben", (f"src/{number}",)))
        rig.answer(
            RecordDenial(**{**CHANGE, "paths": (f"src/{number}",)}, action="commit", paths_total=1, tasks=(("", "t1"),))
        )
    assert len(told(rig, "ana")) == 1
    again = restore(capture(rig.hub.state, b""))
    assert list(again.mail.noticed.items()) == list(rig.hub.state.mail.noticed.items()) != []
    rig.clock.at += NOTICE_COALESCE_SECONDS - 1
    rig.reason(take("late", "ben", ("src/x",)))
    assert len(told(rig, "ana")) == 1
    rig.clock.at += 1
    rig.reason(take("later", "ben", ("src/y",)))
    assert len(told(rig, "ana")) == 2


def test_inv_rr_2_notices_are_bounded_and_crowd_out_no_letter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest notices go; letters stay; a replay and a snapshot keep no more."""
    monkeypatch.setattr(mail, "MAX_NOTICES", 100)
    monkeypatch.setattr(mail, "MAX_REMEMBERED_NOTICES", 7)
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        rig.answer(SendMessage(agent="dee", to="ana", body="keep me"))
        for owner in ("ana", "cyd"):
            rig.answer(take(f"t-{owner}", owner, (owner,)))
            for number in range(MAX_MAILBOX_NOTICES + 10):
                rig.reason(take("x", f"b{number}", (owner,)))
        live = rig.hub.state
    journal = Journal(str(tmp_path))
    replayed = journal.replay()
    journal.close()
    for state in (live, replayed, restore(capture(live, b""))):
        ana, cyd = state.mail.box("ana"), state.mail.box("cyd")
        assert [one.sent.body for one in ana if not one.notice] == ["keep me"]
        assert len(cyd) == MAX_MAILBOX_NOTICES and len(ana) == 100 - MAX_MAILBOX_NOTICES + 1  # and the letter
        assert len(state.mail.notices) == 100 and len(state.mail.noticed) == 7 and len(state.mail.letters) == 1
        assert ana[-1].sent.about.startswith("conflict b73 ")


def test_notices_fill_no_mailbox(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much the hub has to say, there is room for what agents say."""
    monkeypatch.setattr(messages, "MAX_MAILBOX_LETTERS", 2)
    rig.answer(take("t1", "ana", ("src",)))
    for agent in ("ben", "cyd", "dee"):
        rig.reason(take("t2", agent, ("src",)))
    rig.answer(SendMessage(agent="ben", to="ana", body="may I?"))
    assert len(rig.hub.state.mail.box("ana")) == 4


def test_inv_rr_3_notices_touch_no_lease(rig: Rig) -> None:
    """With them and without them the same claims are there."""
    rig.answer(take("t1", "ana", ("src",)))
    before = rig.hub.state
    rig.reason(take("t2", "ben", ("src",)))
    rig.answer(DENIAL)
    after = rig.hub.state
    assert told(rig, "ana") and (after.claims, after.trees, after.epoch) == (before.claims, before.trees, before.epoch)
    assert apply_all(State(), ()).mail == State().mail
