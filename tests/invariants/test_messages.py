"""Messages: sent at least once, kept until acknowledged, ordered by the hub. Spec: INV-DG-1, INV-DG-3, INV-CK-1."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from synapse_git.constants import CHAT_RETENTION_SECONDS, LETTER_RETENTION_SECONDS
from synapse_hub.core import mail, messages
from synapse_hub.core.commands.talk import Acknowledge, OfferResource, SendMessage
from synapse_hub.core.state import State
from synapse_hub.journal.journal import Journal
from synapse_hub.journal.snapshot import Snapshot, capture, restore
from tests.hub.desk import FakeClock, Rig, keyed, running, take


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with running(tmp_path / "hub", FakeClock()) as made:
        yield made


@pytest.fixture(autouse=True)
def _directory(tmp_path: Path) -> None:
    (tmp_path / "hub").mkdir()


def say(body: str, sender: str = "ana", to: str | None = None, **more: Any) -> SendMessage:
    return SendMessage(agent=sender, to=to, body=body, **more)


def inbox(rig: Rig, agent: str, after: int = 0) -> list[str]:
    found = rig.hub.state.mail.waiting(agent, rig.hub.now(), after)
    return [message.sent.body for message in found]


def ack(rig: Rig, agent: str, seq: int) -> int:
    watermark: int = rig.answer(Acknowledge(agent=agent, seq=seq))["watermark"]
    return watermark


def replayed(directory: Path) -> State:
    journal = Journal(str(directory))
    try:
        return journal.replay()
    finally:
        journal.close()


def test_inv_dg_1_every_copy_of_a_retried_message_is_kept_and_echoes_its_id(rig: Rig) -> None:
    """The hub suppresses none: whoever receives tells them apart by sender and id."""
    for _ in range(2):
        rig.answer(say("hello", to="ben", client_msg_id="m1"))
    found = [message.document() for message in rig.hub.state.mail.waiting("ben", rig.hub.now())]
    assert [(one["sender"], one["client_msg_id"], one["body"]) for one in found] == [("ana", "m1", "hello")] * 2
    assert found[0]["seq"] < found[1]["seq"]


def test_chat_reaches_everyone_but_its_sender(rig: Rig) -> None:
    """A letter reaches its recipient alone; both are read in the order in which the hub took them."""
    rig.answer(say("all"))
    rig.answer(say("you", to="ben"))
    rig.answer(say("again"))
    assert inbox(rig, "ben") == ["all", "you", "again"]
    assert inbox(rig, "cyd") == ["all", "again"]
    assert inbox(rig, "ana") == []
    assert rig.hub.state.mail.pending("ben", rig.hub.now()) == 3


def test_inv_dg_3_a_letter_waits_for_one_who_is_not_there_over_restarts(tmp_path: Path) -> None:
    """It is no delivery, and it is there until it is acknowledged, also after a snapshot."""
    directory = tmp_path / "hub"
    with running(directory) as rig:
        assert rig.answer(say("when you are back", to="ben"))["delivered"] is False
        assert rig.answer(say("at once", to="ben", reached=True))["delivered"] is True
    for state in (replayed(directory), restore(capture(replayed(directory), b""))):
        box = state.mail.box("ben")
        assert [(one.sent.body, one.sent.delivered) for one in box] == [("when you are back", False), ("at once", True)]
    with running(directory) as rig:
        ack(rig, "ben", rig.hub.state.mail.box("ben")[0].seq)
        assert inbox(rig, "ben") == ["at once"]
        assert inbox(rig, "ben", after=rig.hub.state.seq) == []
    assert [one.sent.body for one in replayed(directory).mail.box("ben")] == ["at once"]


def test_inv_dg_3_the_watermark_never_falls(tmp_path: Path) -> None:
    """An older acknowledgement changes nothing; one from the future counts up to now only; restarts keep it."""
    directory = tmp_path / "hub"
    with running(directory) as rig:
        rig.answer(say("one", to="ben"))
        rig.answer(say("two"))
        assert ack(rig, "ben", 2) == 2
        events = rig.hub.state.seq
        assert ack(rig, "ben", 1) == 2 and ack(rig, "ben", 0) == 2 and rig.hub.state.seq == events
        assert ack(rig, "ben", 10**15) == events
        rig.answer(say("three", to="ben"))
        assert inbox(rig, "ben") == ["three"]
        assert ack(rig, "cyd", 0) == 0
    for state in (replayed(directory), restore(capture(replayed(directory), b""))):
        assert state.mail.watermark("ben") == events
        assert [one.sent.body for one in state.mail.waiting("ben", 1_000_000.0)] == ["three"]


def test_inv_dg_3_a_full_mailbox_refuses_rather_than_forgets(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was promised to be kept is; others are written to as before, and reading makes room."""
    monkeypatch.setattr(messages, "MAX_MAILBOX_LETTERS", 2)
    monkeypatch.setattr(messages, "MAX_LETTERS", 3)
    rig.answer(say("1", to="ben"))
    rig.answer(say("2", to="ben"))
    assert rig.reason(say("3", to="ben")) == "QUOTA_EXCEEDED"
    rig.answer(say("4", to="cyd"))
    assert rig.reason(say("5", to="dee")) == "QUOTA_EXCEEDED"
    rig.answer(say("to all"))
    assert inbox(rig, "ben") == ["1", "2", "to all"]
    ack(rig, "ben", 1)
    rig.answer(say("6", to="ben"))
    assert inbox(rig, "ben") == ["2", "to all", "6"]
    rig.clock.at += LETTER_RETENTION_SECONDS
    rig.answer(say("7", to="dee"))
    assert inbox(rig, "dee") == ["7"] and rig.hub.state.mail.box("ben") == ()


def test_letters_that_are_over_fill_no_mailbox(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """After their month they make room, whether or not anybody has read them."""
    monkeypatch.setattr(messages, "MAX_MAILBOX_LETTERS", 2)
    rig.answer(say("1", to="ben"))
    rig.answer(say("2", to="ben"))
    rig.clock.at += LETTER_RETENTION_SECONDS
    rig.answer(say("3", to="ben"))
    assert inbox(rig, "ben") == ["3"]


def test_inv_ck_1_the_hub_stamps_and_orders(rig: Rig) -> None:
    """A sender's clock is kept as its word and orders nothing."""
    for stamp in (9e12, -5.0, None):
        rig.clock.at += 1
        assert rig.answer(say(f"at {stamp}", to="ben", client_timestamp=stamp))["timestamp"] == rig.clock.at
    found = [message.document() for message in rig.hub.state.mail.waiting("ben", rig.clock.at)]
    assert [one["client_timestamp"] for one in found] == [9e12, -5.0, None]
    assert [one["timestamp"] for one in found] == [1_000_001.0, 1_000_002.0, 1_000_003.0]


def test_inv_rr_2_chat_letters_and_watermarks_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest goes first, and neither a replay nor a snapshot brings it back."""
    monkeypatch.setattr(mail, "MAX_RETAINED_CHAT", 5)
    monkeypatch.setattr(mail, "MAX_REMEMBERED_READERS", 5)
    directory = tmp_path / "hub"
    with running(directory, FakeClock()) as rig:
        for number in range(12):
            rig.answer(say(f"{number}"))
            rig.answer(say(f"letter {number}", to=f"r{number % 4}"))
            ack(rig, f"a{number}", 1 + number)
        live = rig.hub.state
    for name, most in (("MAX_LETTERS", 8), ("MAX_MAILBOX_LETTERS", 2)):
        monkeypatch.setattr(mail, name, most)
    for state in (replayed(directory), restore(capture(live, b""))):
        assert [one.sent.body for one in state.mail.chat] == ["7", "8", "9", "10", "11"]
        assert [agent for agent, _, _ in state.mail.watermarks.items()] == ["a7", "a8", "a9", "a10", "a11"]
        assert [one.sent.body for one in state.mail.box("r3")] == ["letter 7", "letter 11"]
        assert len(state.mail.letters) == 8 == sum(map(len, state.mail.boxes.values()))


def test_inv_rr_2_chat_is_kept_for_a_day(rig: Rig) -> None:
    """Whether or not anything is said after it."""
    rig.answer(say("morning"))
    rig.clock.at += CHAT_RETENTION_SECONDS - 1
    assert inbox(rig, "ben") == ["morning"]
    rig.clock.at += 1
    assert inbox(rig, "ben") == [] and rig.hub.state.mail.pending("ben", rig.hub.now()) == 0
    rig.answer(say("good morning"))
    assert len(rig.hub.state.mail.chat) == 1


def test_messages_touch_no_lease(rig: Rig) -> None:
    """Neither sent nor acknowledged."""
    before = rig.hub.state
    rig.answer(say("hello", to="ben"))
    ack(rig, "ben", 1)
    after = rig.hub.state
    assert (after.claims, after.epoch, after.trees) == (before.claims, before.epoch, before.trees)


def test_inv_dg_2_what_changes_a_claim_applies_once_while_talk_repeats(rig: Rig) -> None:
    """Under one key a claim is answered again; the message beside it is there twice."""
    answers = []
    for _ in range(2):
        answers.append(rig.answer(keyed(take("t1"), key="k")))
        rig.answer(say("claimed t1", to="ben", client_msg_id="k"))
    assert answers[1] == {**answers[0], "replayed": True} and rig.hub.state.epoch == 1
    assert len(inbox(rig, "ben")) == 2


def test_a_snapshot_from_before_there_were_messages_is_read(rig: Rig) -> None:
    """An upgrade starts with empty boxes and all claims."""
    rig.answer(take("t1"))
    image = msgspec.json.decode(capture(rig.hub.state, b"").body)
    for name in ("mail", "notes", "offers"):
        del image[name]
    old = restore(Snapshot(rig.hub.state.seq, b"", b"", msgspec.json.encode(image)))
    assert old.claims == rig.hub.state.claims and old.mail == State().mail and old.board == State().board


def test_what_a_clock_gone_wild_stamped_counts_for_nothing(tmp_path: Path) -> None:
    """Back on a clock that is right, its chat and offers are over and its conflicts are told again; letters stay."""
    wild = FakeClock(9e9)
    with running(tmp_path / "hub", wild) as rig:
        rig.answer(say("from the future"))
        rig.answer(say("a letter", to="ben"))
        rig.answer(OfferResource(agent="ana", namespace="", name="db", note="", ttl_s=300.0))
        rig.answer(take("t1"))
        rig.reason(take("t2", "ben"))
    with running(tmp_path / "hub", FakeClock()) as rig:
        rig.reason(take("t3", "ben"))
        assert inbox(rig, "ben") == ["a letter"]
        assert list(rig.hub.state.board.open_offers(rig.hub.now())) == []
        assert len(rig.hub.state.mail.box("ana")) == 2
        rig.answer(say("now"))
        assert inbox(rig, "ben") == ["a letter", "now"]
