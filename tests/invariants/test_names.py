"""Names that belong to sessions: one holder, by its secret, for as long as it is there and an hour longer."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from synapse_git.constants import DEFAULT_LEASE_OFFLINE_TTL, KEY_RETENTION_SECONDS
from synapse_hub.core import binding, names
from synapse_hub.core.commands.claims import ClaimEdit, HandOff, Heartbeat, SaveCheckpoint, UpdateTask
from synapse_hub.core.commands.names import BindName, EndSessions, ReclaimName, ReleaseName
from synapse_hub.core.commands.talk import Acknowledge, AddNote, OfferResource, SendMessage, WithdrawResource
from synapse_hub.core.events.names import NameBound, NameDisconnected, NameReleased
from synapse_hub.core.guard import Question, Verdict
from synapse_hub.core.outcome import Decided
from synapse_hub.core.state import State, apply_all
from synapse_hub.journal.snapshot import capture, restore
from synapse_hub.web.session.roster import Link, Roster
from tests.hub.desk import FakeClock, Rig, give, keyed, running, take

MINE, OTHER = (hashlib.sha256(text).hexdigest() for text in (b"mine", b"other"))
HOUR = DEFAULT_LEASE_OFFLINE_TTL


def bind(agent: str = "ana", secret: str = MINE, key: str = "", principal: str = "uid:1") -> BindName:
    """A registration with the usual defaults."""
    return BindName(agent=agent, principal=principal, secret_sha256=secret, key=key)


def end(agent: str = "ana", secret: str = MINE) -> EndSessions:
    return EndSessions(sessions=((agent, secret),))


def reclaim(agent: str = "ana", principal: str = "uid:1") -> ReclaimName:
    return ReclaimName(agent=agent, principal=principal)


def kinds(rig: Rig, command: Any) -> list[str]:
    """The events of a decision that is not a refusal."""
    outcome = rig.do(command)
    assert isinstance(outcome, Decided), outcome
    return [type(event).__name__ for event in outcome.events]


VERBS: list[Any] = [
    take("t9", paths=("elsewhere",)),
    give(),
    UpdateTask(agent="ana", namespace="", task_id="t1", status="x"),
    HandOff(agent="ana", namespace="", task_id="t1", to="ben"),
    SaveCheckpoint(agent="ana", namespace="", task_id="t1", data=1),
    Heartbeat(agent="ana"),
    ClaimEdit(agent="ana", principal="uid:1", namespace="", worktree="wt:1", paths=("new",)),
    SendMessage(agent="ana", to="ben", body="hello"),
    Acknowledge(agent="ana", seq=1),
    AddNote(agent="ana", namespace="", task_id="", text="so far"),
    OfferResource(agent="ana", namespace="", name="gpu", note="", ttl_s=60.0),
    WithdrawResource(agent="ana", namespace="", name="gpu"),
    ReleaseName(agent="ana"),
]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: type(verb).__name__)
def test_under_a_bound_name_only_its_session_acts(tmp_path: Path, verb: Any) -> None:
    """Every verb without the secret, or with another one, is NAME_OWNED and does nothing; with it, it is done."""
    with running(tmp_path) as rig:
        rig.answer(take())
        rig.answer(OfferResource(agent="ana", namespace="", name="gpu", note="", ttl_s=60.0))
        rig.answer(bind())
        seq = rig.hub.state.seq
        assert rig.reason(verb) == "NAME_OWNED"
        assert rig.reason(msgspec.structs.replace(verb, session=OTHER)) == "NAME_OWNED"
        assert rig.hub.state.seq == seq
        rig.answer(msgspec.structs.replace(verb, session=MINE))


def test_an_unbound_name_is_anybodys(tmp_path: Path) -> None:
    """Before a session has it, and under another one's secret as well."""
    with running(tmp_path) as rig:
        rig.answer(take())
        rig.answer(Heartbeat(agent="ana", session=OTHER))


def test_an_answered_key_is_not_given_to_an_impostor(tmp_path: Path) -> None:
    """A retry under the idempotency key of the session needs its secret as well."""
    with running(tmp_path) as rig:
        rig.answer(bind())
        mine = take(session=MINE)
        rig.answer(keyed(mine))
        assert rig.reason(keyed(msgspec.structs.replace(mine, session=""))) == "NAME_OWNED"
        assert rig.answer(keyed(mine))["replayed"]


def test_the_guard_refuses_an_impostor_and_puts_it_on_record(tmp_path: Path) -> None:
    """Whatever it changes, also what ana holds herself; the session itself is judged as ever."""
    with running(tmp_path) as rig:
        rig.answer(take())
        rig.answer(bind())
        now = rig.hub.now()
        for session, word in (("", "refuse"), (OTHER, "refuse"), (MINE, "allow")):
            verdict = Verdict(rig.hub.state, Question("ana", "", "wt:1", "commit", session=session), now)
            verdict.judge(["src/a", "free"])
            assert verdict.document()["verdict"] == word
            if word == "refuse":
                assert verdict.document()["reason"] == "NAME_OWNED"
        verdict = Verdict(rig.hub.state, Question("ana", "", "wt:1", "commit"), now)
        verdict.judge(["free"])
        assert kinds(rig, verdict.evidence()) == ["GuardDenied"]


def test_a_name_waits_for_its_session(tmp_path: Path) -> None:
    """For DEFAULT_LEASE_OFFLINE_TTL after it was last seen, to the instant; only the secret brings it back."""
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        assert kinds(rig, bind()) == ["NameBound"]
        clock.at += 10 * HOUR
        assert rig.reason(bind(secret=OTHER)) == "NAME_OWNED"
        assert kinds(rig, end()) == ["NameDisconnected"]
        clock.at += HOUR - 1
        assert rig.reason(bind(secret=OTHER)) == "NAME_OWNED"
        assert rig.reason(Heartbeat(agent="ana")) == "NAME_OWNED"
        assert kinds(rig, bind()) == ["NameBound"]
        rig.answer(end())
        clock.at += HOUR
        rig.answer(Heartbeat(agent="ana"))
        assert kinds(rig, bind(secret=OTHER)) == ["NameBound"]
        assert rig.reason(bind()) == "NAME_OWNED"


def test_a_second_connection_of_a_session_is_no_event(tmp_path: Path) -> None:
    """And another session's end is not this one's."""
    with running(tmp_path) as rig:
        rig.answer(bind())
        assert kinds(rig, bind()) == []
        assert kinds(rig, end(secret=OTHER)) == []
        assert kinds(rig, end("ben")) == []
        assert rig.reason(bind(secret=OTHER)) == "NAME_OWNED"


def test_another_user_with_the_secret_is_another(tmp_path: Path) -> None:
    """A secret that leaked does not carry a name to another user."""
    with running(tmp_path) as rig:
        rig.answer(bind())
        assert rig.reason(bind(principal="uid:2")) == "NAME_OWNED"


def test_a_name_that_is_given_up_is_free_at_once(tmp_path: Path) -> None:
    """By its session; what is pinned to it stays."""
    with running(tmp_path) as rig:
        rig.answer(bind(key="K"))
        assert kinds(rig, ReleaseName(agent="ana", session=MINE)) == ["NameReleased"]
        assert kinds(rig, ReleaseName(agent="ana", session=MINE)) == []
        rig.answer(Heartbeat(agent="ana"))
        assert rig.reason(bind(secret=OTHER)) == "NOT_AUTHORISED"
        assert kinds(rig, bind(secret=OTHER, key="K")) == ["NameBound"]


def test_a_restart_counts_from_the_restart(tmp_path: Path) -> None:
    """Nobody is connected to a hub that has just begun; nobody loses the name by that, or keeps it for ever."""
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        rig.answer(bind())
    clock.at += 10 * HOUR
    with running(tmp_path, clock) as rig:
        assert rig.reason(bind(secret=OTHER)) == "NAME_OWNED"
        assert not rig.hub.state.names.live
        clock.at += HOUR
        rig.answer(bind(secret=OTHER))


def test_a_key_is_pinned_on_first_use(tmp_path: Path) -> None:
    """From then on the name is bound with it or not at all, also long after the session."""
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        rig.answer(bind())
        assert kinds(rig, bind(key="K1")) == ["KeyPinned"]
        assert rig.reason(bind()) == "NOT_AUTHORISED"
        assert rig.reason(bind(key="K2")) == "NOT_AUTHORISED"
        rig.answer(end())
        clock.at += 100 * HOUR
        assert rig.reason(bind(secret=OTHER, key="K2")) == "NOT_AUTHORISED"
        assert kinds(rig, bind(secret=OTHER, key="K1")) == ["NameBound"]


def test_its_own_user_takes_a_name_back(tmp_path: Path) -> None:
    """From a session that is connected or expected back and from a lost key, on record; another user cannot."""
    with running(tmp_path) as rig:
        assert rig.reason(reclaim()) == "NOT_HELD"
        rig.answer(bind(key="K1"))
        assert rig.reason(reclaim(principal="uid:2")) == "NOT_AUTHORISED"
        assert rig.answer(reclaim())["was_connected"]
        rig.answer(Heartbeat(agent="ana"))
        rig.answer(bind(secret=OTHER, key="K2"))
        rig.answer(end(secret=OTHER))
        assert kinds(rig, reclaim()) == ["NameReclaimed"]
        rig.answer(bind())
        rig.answer(ReleaseName(agent="ana", session=MINE))
        assert rig.reason(reclaim()) == "NOT_HELD"


def test_reclaiming_leaves_claims_alone(tmp_path: Path) -> None:
    """They are the name's."""
    with running(tmp_path) as rig:
        rig.answer(bind())
        rig.answer(take(session=MINE))
        rig.answer(reclaim())
        assert rig.answer(Heartbeat(agent="ana"))["claims"]


def test_inv_rr_2_names_and_keys_have_their_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a bound what somebody may rely on is not forgotten; what lapsed makes room; a replay knows the same."""
    for module in (binding, names):
        monkeypatch.setattr(module, "MAX_BOUND_NAMES", 3)
        monkeypatch.setattr(module, "MAX_PINNED_KEYS", 2)
    clock = FakeClock()
    with running(tmp_path, clock) as rig:
        for name in ("a", "b", "c"):
            rig.answer(bind(name))
        assert rig.reason(bind("d")) == "QUOTA_EXCEEDED"
        rig.answer(end("a"))
        assert rig.reason(bind("d")) == "QUOTA_EXCEEDED"
        rig.answer(bind("a"))
        rig.answer(end("b"))
        clock.at += HOUR
        rig.answer(bind("d"))
        assert len(rig.hub.state.names.live) == 3 and not len(rig.hub.state.names.absent)
        rig.answer(bind("a", key="K"))
        rig.answer(bind("c", key="K"))
        assert rig.reason(bind("d", key="K")) == "QUOTA_EXCEEDED"
        clock.at += KEY_RETENTION_SECONDS
        rig.answer(bind("d", key="K"))
        assert sorted(rig.hub.state.names.keys.entries) == ["c", "d"]
        before = rig.hub.state.names
    with running(tmp_path, clock) as rig:
        rig.hub.transact(end("nobody"))
        after = rig.hub.state.names
        assert set(after.absent.entries) == set(before.live)
        assert after.keys.entries == before.keys.entries


def test_inv_rr_1_a_snapshot_knows_the_names(tmp_path: Path) -> None:
    """Who is connected, who is expected back until when, and the keys."""
    with running(tmp_path) as rig:
        rig.answer(bind(key="K"))
        rig.answer(bind("ben"))
        rig.answer(end("ben"))
        told = restore(capture(rig.hub.state, b"")).names
        known = rig.hub.state.names
        assert told.live == known.live
        assert list(told.absent.items()) == list(known.absent.items())
        assert list(told.keys.items()) == list(known.keys.items())


def test_only_links_that_had_the_name_end_with_it(tmp_path: Path) -> None:
    """Not the one that has just got it, in the same commit, and is about to hear so."""
    with running(tmp_path) as rig:
        roster = Roster(rig.hub, lambda _: None)
        before, after = Link("ana", MINE), Link("ana", OTHER)
        before.bound = True
        for link in (before, after):
            roster.enter(link)
        roster.follow([NameReleased(at=0.0, agent="ana")])
        assert before.ending == (1000, "released") and after.ending is None


def test_inv_rr_2_a_replay_keeps_to_the_bound_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were it lower than when the journal was written, those who went first are forgotten."""
    monkeypatch.setattr(names, "MAX_BOUND_NAMES", 2)
    events = [
        one
        for name in ("ana", "ben", "cyd")
        for one in (
            NameBound(at=1.0, agent=name, principal="uid:1", secret_sha256=MINE),
            NameDisconnected(at=2.0, agent=name),
        )
    ]
    assert set(apply_all(State(), events).names.absent.entries) == {"ben", "cyd"}
